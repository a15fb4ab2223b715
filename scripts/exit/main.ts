// `npm run exit`: everything that a key owns leaves the pool, with nothing but the key and a chain's nodes. Needs no
// service and believes no node what it can compute itself.
import { mkdir } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { type JsonRpcProvider, Wallet as Account } from "ethers";
import {
  ClientError,
  type Outlook,
  type TransactionSender,
  type WalletOptions,
} from "../../shared/client/index.ts";
import { createJsonRpc } from "../../shared/client/chain/json-rpc.ts";
import type { Address } from "../../shared/protocol/brands.ts";
import { asAddress, fromHex } from "../../shared/protocol/host/text.ts";
import { verificationKeysFolder } from "../build/circuits/artefacts.ts";
import { runCommand, UsageError, wholeNumber } from "../base/command.ts";
import { leaveAll, waitingText, type Waiting } from "./leaving.ts";
import { openWallet, proverFrom } from "./opening.ts";
import { SendingProvider } from "../base/receipt-by-time.ts";

const DEVELOPMENT_KEYS = fileURLToPath(new URL("../../shared/circuits/keys/development/", import.meta.url));

const HELP = `Usage: npm run exit -- --rpc <url> --pool <address> --to <address> [options]

Takes everything that a key owns out of the pool, to a public account, when the service is gone or not wanted: reads the
pool's history, proves withdrawals over roots that are old enough, extends the tree where leaves wait and the pool
allows it, and has the pool pay what there was no room for. It may be stopped at any moment and started again:
nothing is paid twice. What everybody sees is who withdrew how much; with a key that paid in private before, that is all.

  --rpc <url>             a node of the chain. Given twice or more often, all of them must say the same
  --pool <address>        the pool
  --to <address>          public account that gets everything
  --from-block <n>        at or before the pool's first block (default 0, which takes longer)
  --chain-id <n>          which chain it is (default: as the first node says)
  --finality <n>          blocks on top of one that counts (default 12), or: finalized, which is
                          256 where the node does not know that
  --state <folder>        what was read and sent, sealed under the key (default .cloister-exit)
  --keys <folder>         proving files and their manifest.json (default: the development keys of this repository)
  --verification-keys <folder>  by which the pool must name its circuits (default: the committed ones)
  --dry-run               show what is there and what would be waited for; send nothing
  --no-wait               do what can be done now, and end
  --help                  this text

In the environment, never on the command line, where other users of the machine could read it:
  EXIT_PHRASE             the wallet's BIP-39 phrase (and EXIT_PASSPHRASE), or
  EXIT_SEED               its seed, 0x and 64 hex digits
  EXIT_GAS_KEY            private key of an account with coins for gas; it sends everything and learns nothing. It need
                          not be the account of --to. Not needed for --dry-run

Proving files of a pool that holds money are those of its ceremony: whoever wrote an application for the pool ships them,
and any copy will do, since the manifest's SHA-256 decide. They belong to the pool's circuits if --verification-keys,
which come with the same ceremony, give the hashes that the pool itself names; otherwise nothing is proved.

Exit code: 0 everything is out, 1 failed, 2 wrong arguments, 3 something is left that only time helps with (--no-wait,
--dry-run), 4 what a node says is not believed, and nothing was sent because of it, 130 stopped by hand.`;

const COMMAND = {
  help: HELP,
  failure: (error: unknown) => (error instanceof ClientError ? error.message : error),
  options: {
    rpc: { type: "string", multiple: true, default: [] as string[] },
    pool: { type: "string" },
    to: { type: "string" },
    "from-block": { type: "string", default: "0" },
    "chain-id": { type: "string" },
    finality: { type: "string", default: "12" },
    state: { type: "string", default: ".cloister-exit" },
    keys: { type: "string", default: DEVELOPMENT_KEYS },
    "verification-keys": { type: "string", default: verificationKeysFolder },
    "dry-run": { type: "boolean", default: false },
    "no-wait": { type: "boolean", default: false },
    help: { type: "boolean" },
  },
} as const;

const PAUSE_MS = 30_000;
const PROGRESS_EVERY_MS = 2_000;
const [DONE, TIME_ONLY, NOT_BELIEVED, INTERRUPTED] = [0, 3, 4, 130];

/** Of a run that sends nothing. */
const nobodysSender: TransactionSender = {
  getAddress: () => Promise.reject(new Error("a dry run sends nothing")),
  sendTransaction: () => Promise.reject(new Error("a dry run sends nothing")),
};

await runCommand(COMMAND, async ({ values }) => {
  const [rpc] = values.rpc;
  if (rpc === undefined) throw new UsageError("--rpc is needed");
  const pool = address(values.pool, "--pool");
  const to = address(values.to, "--to");
  const finality =
    values.finality === "finalized" ? ("finalized" as const) : wholeNumber("--finality", values.finality);
  const fromBlock = wholeNumber("--from-block", values["from-block"]);
  const key = keyOf(process.env);
  const isDry = values["dry-run"];
  const gasKey = process.env["EXIT_GAS_KEY"];
  if (gasKey === undefined && !isDry) throw new UsageError("EXIT_GAS_KEY is needed, or --dry-run");

  const ending = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => ending.abort());
  await mkdir(values.state, { recursive: true, mode: 0o700 });
  const chainId = wholeNumber("--chain-id", values["chain-id"] ?? (await chainIdOf(rpc)), 1);
  const provider = new SendingProvider(rpc, chainId, { staticNetwork: true });
  const prover = await proverFrom(values.keys);
  try {
    const chain = { rpc: values.rpc, fromBlock, finality, onProgress: reporting() };
    const sender: TransactionSender = gasKey === undefined ? nobodysSender : await funded(gasKey, provider);
    const { wallet, alone, assets } = await openWallet({
      ...{ key, chain, chainId, pool, prover, sender, signal: ending.signal },
      ...{ state: values.state, verificationKeys: values["verification-keys"] },
    });
    try {
      const outlook = await alone.outlook({ signal: ending.signal });
      console.log(`Pool ${pool} on chain ${chainId}, as of ${new Date(alone.time * 1000).toISOString()}.`);
      for (const one of outlook) console.log(outlookText(one));
      if (assets.length === 0) console.log("This key owns nothing here.");
      if (isDry) return outlook.some(isLeft) ? TIME_ONLY : DONE;
      const { waitingFor } = await leaveAll({
        ...{ alone, to, assets, say: console.log, signal: ending.signal },
        ...{ waits: !values["no-wait"], pauseMs: PAUSE_MS },
      });
      return finished(waitingFor);
    } finally {
      await wallet.close();
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
    await prover.close();
    provider.destroy();
  }
});

function finished(waitingFor: readonly Waiting[]): number {
  for (const waiting of waitingFor) console.log(waitingText(waiting));
  if (waitingFor.length > 0) return TIME_ONLY;
  console.log("Everything is out.");
  return DONE;
}

function isLeft({ provable, later, uncovered, inFlight }: Outlook): boolean {
  return provable + uncovered + inFlight > 0n || later.length > 0;
}

function outlookText({ asset, provable, provableNotes, later, uncovered, inFlight }: Outlook): string {
  const parts = [`${provable} can leave now, in ${Math.ceil(provableNotes / 9)} withdrawals`];
  for (const { amount, from } of later)
    parts.push(`${amount} from ${new Date(from * 1000).toISOString()} on`);
  if (uncovered > 0n) parts.push(`${uncovered} once a root covers them`);
  if (inFlight > 0n) parts.push(`${inFlight} in payments under way`);
  return `${asset}: ${parts.join("; ")}.`;
}

function keyOf({
  EXIT_PHRASE: phrase,
  EXIT_PASSPHRASE: passphrase,
  EXIT_SEED: text,
}: NodeJS.ProcessEnv): WalletOptions["key"] {
  if ((phrase === undefined) === (text === undefined))
    throw new UsageError("either EXIT_PHRASE or EXIT_SEED is needed, in the environment");
  if (phrase !== undefined) return passphrase === undefined ? { phrase } : { phrase, passphrase };
  const seed = fromHex(text);
  if (seed?.length !== 32) throw new UsageError("EXIT_SEED is 0x and 64 hex digits");
  return { seed };
}

async function funded(gasKey: string, provider: JsonRpcProvider): Promise<TransactionSender> {
  let account: Account;
  try {
    account = new Account(gasKey, provider);
  } catch {
    throw new UsageError("EXIT_GAS_KEY is no private key");
  }
  if ((await provider.getBalance(account.address)) === 0n)
    throw new UsageError(`the account of EXIT_GAS_KEY, ${account.address}, has no coins for gas`);
  return account;
}

function reporting(): (at: { block: number; target: number; leafCount: number }) => void {
  let saidAt = performance.now();
  return ({ block, target, leafCount }) => {
    if (block === target || performance.now() - saidAt < PROGRESS_EVERY_MS) return;
    saidAt = performance.now();
    console.log(`Reading: block ${block} of ${target}, ${leafCount} leaves`);
  };
}

/** By a question that ends: ethers waits for a node without end. */
async function chainIdOf(rpc: string): Promise<string> {
  const answer = await createJsonRpc(rpc).ask("eth_chainId", []);
  return typeof answer === "string" && /^0x[0-9a-f]{1,13}$/i.test(answer) ? String(Number(answer)) : "";
}

function address(text: string | undefined, option: string): Address {
  const found = asAddress(text);
  if (found === undefined || BigInt(found) === 0n) throw new UsageError(`${option} takes an address`);
  return found;
}
