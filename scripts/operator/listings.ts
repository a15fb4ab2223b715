/**
 * `npm run operator -- assets …` and `executor …`: the contracts that the pool calls, proposed and withdrawn by its
 * owner, admitted by anybody. Looks at the chain before it sends anything. Keys are read from the environment.
 */
import { parseArgs } from "node:util";
import { Contract, getAddress, type Provider } from "ethers";
import { TOKEN_ABI } from "../../shared/contracts/abi.ts";
import type { Address } from "../../shared/protocol/brands.ts";
import {
  act,
  callOf,
  ownerOf,
  PoolRefused,
  readAdmissions,
  timeOf,
  type Act,
  type Admission,
  type Standing,
  type Terms,
} from "./admissions.ts";
import { dateOf, timeFieldsOf, timesOf } from "../../proxy/base/chain/owner-events.ts";
import { addressOf, walletIn, withPool, type PoolAt } from "./chain.ts";
import { UsageError } from "../base/command.ts";
import { need, POOL_OPTIONS, show, type Result } from "./command-line.ts";

export type Listing = "asset" | "executor";

const HELP = `Usage: npm run operator -- assets COMMAND [ADDRESS] [options]
       npm run operator -- executor COMMAND [ADDRESS] [options]

The contracts that a pool calls: the tokens it takes, and the one executor of its swaps. The owner proposes one;
everybody sees it for the pool's delay; then anybody may admit it, for seven days; after that the proposal has expired.

  propose ADDRESS    announces it                                                              OWNER_KEY
                     an asset with --minimum-cap UNITS: what may leave of it in 24 hours at least, also where the
                     tenth of the pool's balance is less, in the token's smallest units; never less than before
  admit ADDRESS      once its time has come; an executor replaces the one in use, which then
                     has to be proposed again                                     SENDER_KEY or OWNER_KEY
  withdraw ADDRESS   takes back what is proposed                                               OWNER_KEY
  remove ADDRESS     takes out what is admitted, at once: no deposits of that asset and no swaps
                     into it any more, withdrawals go on; without an executor, no swaps        OWNER_KEY
  judge ADDRESS      tries a token before anybody's money depends on it, in a node's simulation: nothing is sent. Ends
                     with 1 where it is unfit. --holder ADDRESS: an account that has some of it; default the pool
  list               all that the pool ever knew; from when each may be admitted, and when that expires
  list --pending     only what is proposed

the pool   --rpc URL  --pool ADDRESS  [--from-block N]
keys       in the environment, in hex. OWNER_KEY is the pool owner's. SENDER_KEY is anybody's that can pay for gas.
--print    sends nothing and needs no key: prints the transaction, for a wallet of several owners
--json     prints one JSON object
`;

const OPTIONS = {
  help: { type: "boolean", short: "h" },
  json: { type: "boolean" },
  print: { type: "boolean" },
  pending: { type: "boolean" },
  "minimum-cap": { type: "string" },
  holder: { type: "string" },
  ...POOL_OPTIONS,
} as const;

type Values = ReturnType<typeof parse>["values"];

function parse(words: readonly string[]) {
  return parseArgs({ args: [...words], allowPositionals: true, options: OPTIONS });
}

/** `words` come after `assets` or `executor`. */
export async function listingCommand(listing: Listing, words: readonly string[]): Promise<void> {
  const { values, positionals } = parse(words);
  if (values.help === true || positionals.length === 0) {
    process.stdout.write(HELP);
    return;
  }
  show(await run(listing, positionals, values), values.json);
}

async function run(
  listing: Listing,
  [verb, text, ...rest]: readonly string[],
  values: Values,
): Promise<Result> {
  if (rest.length > 0 || (verb === "list" && text !== undefined)) throw new UsageError("too many words");
  if (verb === "list") return withPool(values, (at) => list(listing, at, values.pending === true));
  if (verb === "judge" && listing === "asset")
    return withPool(values, (at) => judge(at, text, values.holder));
  if (verb !== "propose" && verb !== "admit" && verb !== "withdraw" && verb !== "remove")
    throw new UsageError("unknown command; see --help");
  const subject = addressOf(need(text, "ADDRESS"), "ADDRESS");
  const terms = termsOf(listing, verb, values["minimum-cap"]);
  return withPool(values, async (at) => {
    const owner = await ownerOf(at.provider, at.pool);
    const known = (await readAdmissions(at.provider, at.pool, listing, at.fromBlock)).find(
      (one) => one.subject === subject,
    );
    const name = await CHECKS[verb]({ ...at, listing, subject, known });
    if (typeof name !== "string") return name;
    return change({ at, listing, verb, subject, terms, name, owner, isPrinted: values.print === true });
  });
}

async function judge(
  { provider, pool, fromBlock }: PoolAt,
  text: string | undefined,
  by: string | undefined,
): Promise<Result> {
  const token = addressOf(need(text, "ADDRESS"), "ADDRESS");
  const holder = by === undefined ? pool : addressOf(by, "--holder");
  await ownerOf(provider, pool);
  const listed = await readAdmissions(provider, pool, "asset", fromBlock);
  const others = listed
    .filter(({ standing }) => standing === "admitted")
    .map(({ subject }) => addressOf(subject, "ADDRESS"));
  const { judgeToken } = await import("./token-judge.ts").catch((error: unknown) => {
    // As in the proxy's container.
    if ((error as { code?: string }).code !== "ERR_MODULE_NOT_FOUND") throw error;
    throw new Error("judge needs the Solidity compiler: run it in a checkout of the project", {
      cause: error,
    });
  });
  const remarks = await judgeToken({ provider, token, holder, others });
  const isUnfit = remarks.some(({ weight }) => weight === "unfit");
  if (isUnfit) process.exitCode = 1;
  const verdict = isUnfit ? "unfit" : remarks.length > 0 ? "doubtful" : "fit";
  const lines = remarks.map(({ weight, code, text: what }) => [weight, code, what].join("\t"));
  return {
    data: { asset: getAddress(token), verdict, remarks },
    text: [`${getAddress(token)} is ${verdict}`, ...lines].join("\n"),
  };
}

/** Of a uint104. */
const LARGEST_CAP = 2n ** 104n - 1n;

/** Without a default: whoever lists a token has to know what a tenth of an almost empty pool would let nobody take out. */
function termsOf(listing: Listing, verb: Verb, cap: string | undefined): Terms | undefined {
  if (listing !== "asset" || verb !== "propose") {
    if (cap !== undefined) throw new UsageError("--minimum-cap is for proposing an asset");
    return undefined;
  }
  const text = need(cap, "--minimum-cap UNITS");
  const minimumCap = /^\d{1,32}$/u.test(text) ? BigInt(text) : 0n;
  if (minimumCap === 0n || minimumCap > LARGEST_CAP)
    throw new UsageError("--minimum-cap is no whole number of units from 1 to 2^104 - 1");
  return { minimumCap };
}

async function list(
  listing: Listing,
  { provider, pool, fromBlock }: PoolAt,
  isPendingOnly: boolean,
): Promise<Result> {
  await ownerOf(provider, pool);
  const all = await readAdmissions(provider, pool, listing, fromBlock);
  const wanted = all.filter(({ standing }) => !isPendingOnly || standing === "proposed");
  const data = wanted.map((one) => ({
    [listing]: getAddress(one.subject),
    standing: one.standing,
    ...timeFieldsOf(one),
  }));
  const lines = wanted.map((one) => [getAddress(one.subject), one.standing, ...timesOf(one)].join("\t"));
  return { data: { [`${listing}s`]: data }, text: lines.length === 0 ? "none" : lines.join("\n") };
}

// ---------------------------------------------------------------- looked at before anything is sent

interface Asked {
  readonly provider: Provider;
  readonly listing: Listing;
  readonly subject: Address;
  readonly known: Admission | undefined;
}

type Verb = "propose" | "admit" | "withdraw" | "remove";

/** A name for people when it can go on; a result where it is done already. Throws where it cannot be done. */
const CHECKS: Readonly<Record<Verb, (asked: Asked) => Promise<string | Result>>> = {
  async propose({ provider, listing, subject, known }) {
    const name = getAddress(subject);
    if (known?.standing === "admitted") return stateOf(listing, known, `${name} is admitted already`);
    if (known?.standing === "proposed")
      return stateOf(listing, known, `${name} is proposed already: ${timesOf(known).join(", ")}`);
    if ((await provider.getCode(subject)) === "0x") throw new Error(`${name} is no contract on this chain`);
    return listing === "asset" ? `${name} (${await tokenAt(provider, subject)})` : name;
  },
  async admit({ provider, listing, subject, known }) {
    const name = getAddress(subject);
    if (known?.standing === "admitted") return stateOf(listing, known, `${name} is admitted already`);
    const { admissibleAt = 0, expiresAt = 0 } = known ?? {};
    if (known?.standing === "expired")
      throw new Error(
        `${name} was to be admitted before ${dateOf(expiresAt)}; the owner may propose it again`,
      );
    if (known?.standing !== "proposed") throw new Error(`${name} is not proposed`);
    if ((await timeOf(provider)) < admissibleAt)
      throw new Error(`${name} may be admitted from ${dateOf(admissibleAt)} to ${dateOf(expiresAt)}`);
    return name;
  },
  async withdraw({ subject, known }) {
    const name = getAddress(subject);
    if (known?.standing === "proposed") return name;
    // Taking out what is in use is another decision than taking back a plan.
    if (known?.standing === "admitted") throw new Error(`${name} is admitted; to take it out: remove`);
    throw new Error(`${name} is not proposed`);
  },
  async remove({ subject, known }) {
    const name = getAddress(subject);
    if (known?.standing === "admitted") return name;
    if (known?.standing === "proposed")
      throw new Error(`${name} is only proposed; to take it back: withdraw`);
    throw new Error(`${name} is not admitted`);
  },
};

/** What a person compares with the issuer's page before millions depend on it. Throws for what is no token. */
async function tokenAt(provider: Provider, address: Address): Promise<string> {
  const token = new Contract(address, TOKEN_ABI, provider);
  try {
    await token.getFunction("balanceOf")(address);
    return `${String(await token.getFunction("symbol")())}, ${String(await token.getFunction("decimals")())} decimals`;
  } catch (error) {
    throw new Error(`${getAddress(address)} does not answer as a token does`, { cause: error });
  }
}

// ---------------------------------------------------------------- done

interface Change {
  readonly at: PoolAt;
  readonly listing: Listing;
  readonly verb: Verb;
  readonly subject: Address;
  readonly terms: Terms | undefined;
  readonly name: string;
  readonly owner: Address;
  readonly isPrinted: boolean;
}

async function change({
  at,
  listing,
  verb,
  subject,
  terms,
  name,
  owner,
  isPrinted,
}: Change): Promise<Result> {
  const { provider, pool, fromBlock } = at;
  // The pool has one act for the last two; which of them it was, it says itself.
  const what: Act = verb === "withdraw" ? "remove" : verb;
  if (isPrinted) {
    const { chainId } = await provider.getNetwork();
    const from = verb === "admit" ? undefined : getAddress(owner);
    const transaction = {
      chain_id: String(chainId),
      ...(from === undefined ? {} : { from }),
      to: getAddress(pool),
      value: "0",
      data: callOf(listing, what, subject, terms),
    };
    const who = from === undefined ? "anybody" : `the owner ${from}`;
    const lines = Object.entries(transaction).map(([field, value]) => `${field}\t${value}`);
    return { data: { transaction }, text: [`to ${verb} ${name}, sent by ${who}:`, ...lines].join("\n") };
  }
  const wallet =
    verb === "admit" ? walletIn(provider, "SENDER_KEY", "OWNER_KEY") : walletIn(provider, "OWNER_KEY");
  if (verb !== "admit" && wallet.address !== getAddress(owner))
    throw new Error(
      `OWNER_KEY is the key of ${wallet.address}, and the pool's owner is ${getAddress(owner)}`,
    );
  let said: Standing;
  try {
    said = await act(wallet, pool, listing, what, subject, terms);
  } catch (error) {
    if (!(error instanceof PoolRefused)) throw error;
    // Somebody was faster, or a block came between the look and the act.
    throw new Error(`${error.message}; look again: list`, { cause: error });
  }
  const now = (await readAdmissions(provider, pool, listing, fromBlock)).find(
    (one) => one.subject === subject,
  );
  const told = now ?? { subject, standing: said, admissibleAt: undefined, expiresAt: undefined };
  const times = timesOf(told);
  const after = times.length === 0 ? "" : `: ${times.join(", ")}`;
  const note = verb === "withdraw" && said === "removed" ? " (it was admitted just before)" : "";
  return stateOf(listing, { ...told, standing: said }, `${name} is ${said}${note}${after}`);
}

function stateOf(listing: Listing, known: Omit<Admission, "told">, text: string): Result {
  const { subject, standing } = known;
  return { data: { [listing]: getAddress(subject), standing, ...timeFieldsOf(known) }, text };
}
