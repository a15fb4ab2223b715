// `npm run recover`: money of a key that waits in bridge addresses, on whichever chain, goes on or comes back, with nothing
// but the key and nodes of the chains. Needs no service and remembers nothing.
import { setTimeout as sleep } from "node:timers/promises";
import { recoverBridges, type Recovery, type RecoveryStep } from "../../shared/client/chain.ts";
import { ClientError } from "../../shared/client/index.ts";
import { runCommand } from "../base/command.ts";
import { readOptions } from "./options.ts";

const HELP = `Usage: npm run recover -- --rpc <chain>=<url> … --pool <address> --bridges <file> [options]

Finds every bridge address of a key that has money in it, and does every step that remains: delivers a burn with its
attestation, burns on another chain, sweeps into the note without fees, sends on to the exit, and after the time-out has
the money sent back. Nobody's consent is needed for any of it. It may be stopped at any moment and started again. Money
that has become a note is taken out by npm run exit.

  --rpc <chain>=<url>     a node of each chain, such as 31337=http://127.0.0.1:8545; first that of the pool's chain
  --pool <address>        the pool
  --bridges <file>        the answer of GET /info as it was kept: what the addresses are made of
  --refund-address <a>    as named when the addresses were made; it is a part of them. May be given several times.
                          Refund addresses that the wallet took from its own key are always looked for, without this
  --account <a>           account on the exchange that was withdrawn to; several times. Needed only for an address that
                          nothing has left yet: an address is made of its payee, which no key tells, but what leaves one
                          names the payee on chain, and is found there
  --recipient <chain>=<a> recipient on another chain that was withdrawn to; several times, and needed as --account is
  --wallet <file>         the wallet's storage, which knows the three above; only read
  --token <chain>=<a>     a token that was sent to an address which does not wait for it; 0x and 40 zeros is the chain's
                          coin; several times. Tokens that bridges are made for are known without this
  --search-tokens         look for other tokens in the logs of every contract, which some nodes refuse. They are shown, and
                          not moved: anybody can send a worthless one whose code is dear to run
  --attestations <url>    API of the attester; without it no burn is delivered
  --messenger <chain>=<a> CCTP's messenger of a chain that no lane or exit names: the exchange's chain, for one
  --from-block <chain>=<n> at or before the first block with anything of this key (default 0, which takes longer)
  --altchain-rpc <url>    a node of the other blockchain
  --altchain-key-file <f> seed of an account there with coins for its fees, 0x and 64 hex digits
  --sender-key-file <f>   private key of an account with coins for gas on each chain, 0x and 64 hex digits. Any account
                          will do: it learns nothing, and can send the money nowhere else
  --gap <n>               so many numbers in a row without a trace end the search (default 20)
  --dry-run               show what is there and what would be done; send nothing
  --no-wait               do what can be done now, and end
  --json                  one JSON object a line
  --help                  this text

In the environment, never on the command line, where other users of the machine could read it:
  RECOVER_PHRASE          the wallet's BIP-39 phrase (and RECOVER_PASSPHRASE), or
  RECOVER_SEED            its seed, 0x and 64 hex digits

Exit code: 0 nothing is left, 1 failed, 2 wrong arguments, 3 something is left that only time helps with (--no-wait,
--dry-run), 4 what a node says is not believed, 130 stopped by hand.`;

const list = { type: "string", multiple: true, default: [] as string[] } as const;
const COMMAND = {
  help: HELP,
  failure: (error: unknown) => (error instanceof ClientError ? error.message : error),
  options: {
    ...{ rpc: list, "refund-address": list, account: list, recipient: list },
    ...{ messenger: list, "from-block": list, token: list },
    "search-tokens": { type: "boolean", default: false },
    pool: { type: "string" },
    bridges: { type: "string" },
    wallet: { type: "string" },
    attestations: { type: "string" },
    "altchain-rpc": { type: "string" },
    "altchain-key-file": { type: "string" },
    "sender-key-file": { type: "string" },
    gap: { type: "string", default: "20" },
    "dry-run": { type: "boolean", default: false },
    "no-wait": { type: "boolean", default: false },
    json: { type: "boolean", default: false },
    help: { type: "boolean" },
  },
} as const;

const PAUSE_MS = 10_000;
const [DONE, TIME_ONLY, NOT_BELIEVED, INTERRUPTED] = [0, 3, 4, 130];

await runCommand(COMMAND, async ({ values }) => {
  const { pool, bridges, wallet, attestations, ...typed } = values;
  const given = { ...typed, pool, bridges, wallet, attestations };
  const { options, close } = await readOptions(
    {
      ...given,
      "altchain-rpc": values["altchain-rpc"],
      "altchain-key-file": values["altchain-key-file"],
      "sender-key-file": values["sender-key-file"],
    },
    process.env,
  );
  const ending = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => ending.abort());
  const say = (kind: string, what: object, words: string): void =>
    console.log(values.json ? jsonOf({ kind, ...what }) : words);
  const report = (step: RecoveryStep): void => say("step", step, stepText(step));
  try {
    for (let said = "", wasOver = false; ;) {
      const recovery = await recoverBridges({ ...options, signal: ending.signal, report });
      if (recovery.steps.some(({ state }) => state === "done")) continue;
      const text = jsonOf(recovery);
      if (text !== said) {
        for (const money of recovery.found) say("found", money, `${money.amount} at ${money.address}`);
        for (const stray of recovery.strays) say("stray", stray, strayText(stray));
        for (const { what, until } of recovery.waitingFor)
          say("waiting", { what, until }, waitText(what, until));
      }
      said = text;
      // Twice: a burn's log that a node leaves out once must not end it.
      const isLast = wasOver;
      wasOver = isOver(recovery);
      if (wasOver && !isLast) continue;
      if (wasOver) {
        say("done", {}, "Nothing is left in bridge addresses.");
        return DONE;
      }
      if (values["dry-run"] || values["no-wait"]) return TIME_ONLY;
      await sleep(PAUSE_MS, undefined, { signal: ending.signal });
    }
  } catch (error) {
    if (ending.signal.aborted) {
      console.error("Stopped. The same command goes on from here.");
      return INTERRUPTED;
    }
    if (!(error instanceof ClientError) || error.code !== "CHAIN_DOUBTED") throw error;
    console.error(error.message);
    return NOT_BELIEVED;
  } finally {
    close();
  }
});

function isOver({ found, waitingFor }: Recovery): boolean {
  return found.length === 0 && waitingFor.length === 0;
}

function stepText(step: RecoveryStep): string {
  const { what, state, chainId, address, amount, token, transaction, reason, refundAddress } = step;
  const where = chainId === null ? "the other blockchain" : `chain ${chainId}`;
  const how = {
    done: transaction ?? "",
    possible: "could be done",
    refused: `not possible: ${reason ?? ""}`,
  };
  const payee = refundAddress === undefined ? "" : `, to ${refundAddress}`;
  const sum = token === undefined ? String(amount) : `${amount} of token ${token}`;
  return `${what.padEnd(8)} ${sum} at ${address} on ${where}${payee}: ${how[state]}`;
}

function strayText({ chainId, address, token, amount }: Recovery["strays"][number]): string {
  return `${amount} of token ${token} at ${address} on chain ${chainId}: stays there without --token ${chainId}=${token}`;
}

function waitText(what: string, until: number | undefined): string {
  return `Waiting: ${what}${until === undefined ? "" : `, until ${new Date(until * 1000).toISOString()}`}`;
}

function jsonOf(value: unknown): string {
  return JSON.stringify(value, (_, one: unknown) => (typeof one === "bigint" ? String(one) : one));
}
