// `npm run operator -- index …`: the proxy's copy of the pool's log, compared with the pool or rebuilt. No money
// depends on it: tickets and signed transactions are other tables, which neither command opens.
import { pino } from "pino";
import { ChainUnreachable } from "../../proxy/base/chain/json-rpc.ts";
import { Pool } from "../../proxy/base/chain/pool.ts";
import { createChain, type Chain } from "../../proxy/base/chain/provider.ts";
import { checkIndex, type IndexReport } from "../../proxy/api/merkle/index-check.ts";
import { rebuildIndex, type RebuildProgress } from "../../proxy/api/merkle/index-rebuild.ts";
import { openChainDataStore } from "../../proxy/base/store/lmdb/chain-data.ts";
import type { Database } from "../../proxy/base/store/lmdb/database.ts";
import { openRebuildStore, type IndexSource } from "../../proxy/base/store/lmdb/rebuild.ts";
import { asAddress } from "../../shared/protocol/host/text.ts";
import { UsageError, wholeNumber } from "../base/command.ts";
import { need, noMore, type POOL_OPTIONS, type Result, type StoreValues } from "./command-line.ts";

export const INDEX_HELP = `  index check [chain] [--sample N]                        compares the index with the pool: every leaf, head and
                                                          root; events and nullifiers of N blocks (default 64).
                                                          Exit code 0 when equal, 3 when different, 1 when it
                                                          could not be compared
  index rebuild [chain] [--sample N] [--anew]             reads the pool's log from the chain into a new index, checks
                                                          it, and leaves it for the proxy's next start. The proxy may
                                                          run; killed, it goes on when called again, or begins with
                                                          nothing with --anew
  chain: --rpc URL  --chain-id N  --pool ADDRESS  --from-block N
                                                          default: the proxy's own CLOISTER_RPC_URL, _CHAIN_ID, _POOL
                                                          and _DEPLOYMENT_BLOCK`;

/** Exit code of an index that is not the pool's: whoever watches it must not take a node that is unreachable for one. */
export const DIFFERENT = 3;

/** Between two lines of progress. */
const PROGRESS_MS = 1_000;
const DEFAULT_SAMPLE = "64";

/** `words` come after `index`. Progress goes to standard error. */
export async function indexCommand(
  database: Database,
  words: readonly string[],
  values: StoreValues,
  environment: NodeJS.ProcessEnv,
): Promise<Result & { readonly isEqual: boolean }> {
  const [verb, ...rest] = words;
  noMore(rest);
  if (verb !== "check" && verb !== "rebuild") throw new UsageError("unknown command; see --help");
  if (verb === "check" && values.anew === true) throw new UsageError("--anew is for index rebuild");
  const sample = wholeNumber("--sample", values.sample ?? DEFAULT_SAMPLE, 1, 100_000);
  const { chain, pool, source } = await chainOf(values, environment);
  if (verb === "check") return shown(await checkIndex(chain, pool, openChainDataStore(database), sample), {});

  const sayNow = everySecond((line) => process.stderr.write(`${line}\n`));
  const { start, report, isComplete } = await rebuildIndex(
    {
      ...{ chain, pool, store: openRebuildStore(database), now: Date.now },
      logger: pino({ level: "warn" }, pino.destination(2)),
    },
    { source, fromNothing: values.anew === true, sample, onProgress: sayNow },
  ).catch((error: unknown) => {
    if (!(error instanceof ChainUnreachable)) throw error;
    throw new Error(`${error.message}; what was read stays, and the same command goes on from there`);
  });
  const result = shown(report, { start, complete: isComplete });
  const next = isComplete
    ? "the proxy serves it from its next start; until then the old index serves"
    : "not for use; the old index serves";
  return { ...result, text: `${result.text}\n${start}: ${next}` };
}

type ChainValues = { readonly [Option in keyof typeof POOL_OPTIONS | "chain-id"]?: string | undefined };

/** The chain and pool that the options name, or else the proxy's own settings. */
export async function chainOf(
  values: ChainValues,
  environment: NodeJS.ProcessEnv,
): Promise<{ chain: Chain; pool: Pool; source: IndexSource }> {
  const take = (option: keyof ChainValues, variable: string): string | undefined =>
    values[option] ?? environment[variable];
  // Of several the preferred one: who looks wants to know what one node says.
  const [rpc = ""] = need(take("rpc", "CLOISTER_RPC_URL"), "--rpc URL").split(/\s+/);
  if (!/^https?:\/\//.test(rpc) || !URL.canParse(rpc))
    throw new UsageError("--rpc takes an http or https URL");
  const chainId = wholeNumber(
    "--chain-id",
    need(take("chain-id", "CLOISTER_CHAIN_ID"), "--chain-id N"),
    1,
    Number.MAX_SAFE_INTEGER,
  );
  const address = asAddress(need(take("pool", "CLOISTER_POOL"), "--pool ADDRESS"));
  if (address === undefined) throw new UsageError("--pool takes an address");
  const from = take("from-block", "CLOISTER_DEPLOYMENT_BLOCK") ?? "0";
  const deploymentBlock = wholeNumber("--from-block", from, 0, Number.MAX_SAFE_INTEGER);
  const chain = createChain(rpc, BigInt(chainId));
  if (!(await chain.isConfiguredChain()))
    throw new UsageError(`the node serves another chain than ${String(chainId)}`);
  return { chain, pool: new Pool(chain, address), source: { chainId, pool: address, deploymentBlock } };
}

function shown(
  { block, behind, leafCount, sampled, differences }: IndexReport,
  more: Readonly<Record<string, unknown>>,
): Result & { readonly isEqual: boolean } {
  const isEqual = differences.length === 0;
  const at =
    block === undefined ? "empty" : `block ${String(block.number)}, ${String(behind)} behind the head`;
  const { blocks, events, nullifiers } = sampled;
  const lines = [
    `${isEqual ? "equal" : "DIFFERENT"}: ${at}, ${String(leafCount)} leaves; compared ${String(events)} events of ` +
      `${String(blocks)} blocks and ${String(nullifiers)} nullifiers`,
    ...differences,
  ];
  const data = {
    ...{ equal: isEqual, block: block?.number ?? null, block_hash: block?.hash ?? null, behind },
    ...{ leaves: leafCount, sampled, differences, ...more },
  };
  return { isEqual, data, text: lines.join("\n") };
}

/** At most one line a second, by the progress's own clock. */
export function everySecond(say: (line: string) => void): (progress: RebuildProgress) => void {
  let saidAt = -PROGRESS_MS;
  return (progress) => {
    const isLast = progress.block >= progress.head;
    if (!isLast && progress.elapsedMs - saidAt < PROGRESS_MS) return;
    saidAt = progress.elapsedMs;
    say(lineOf(progress));
  };
}

/** The rest is reckoned in blocks: how many leaves they hold is not known before. */
function lineOf({ block, head, leaves, blocksDone, leavesDone, elapsedMs }: RebuildProgress): string {
  const secs = elapsedMs / 1_000;
  const a = (count: number): string => (secs > 0 ? Math.round(count / secs).toLocaleString("en-US") : "?");
  const left = blocksDone > 0 ? Math.ceil(((head - block) * secs) / blocksDone) : undefined;
  return [
    `block ${block.toLocaleString("en-US")} of ${head.toLocaleString("en-US")}`,
    `${leaves.toLocaleString("en-US")} leaves`,
    `${a(blocksDone)} blocks and ${a(leavesDone)} leaves a second`,
    `${left === undefined ? "?" : String(left)} s left`,
  ].join(", ");
}
