/**
 * Reads the pool's whole log into a new index beside the served one, compares it with the pool, and leaves it for the
 * proxy's next start. Tickets, signed transactions and fee notes are no part of it and are never opened here.
 */
import { randomUUID } from "node:crypto";
import { ChainUnreachable } from "../../base/chain/json-rpc.ts";
import type { Pool } from "../../base/chain/pool.ts";
import type { Chain } from "../../base/chain/provider.ts";
import type { Logger } from "../../base/logging.ts";
import type { IndexSource, RebuildStore } from "../../base/store/lmdb/rebuild.ts";
import { checkIndex, type IndexReport } from "./index-check.ts";
import { Indexer } from "./indexer.ts";

export interface RebuildProgress {
  /** The last block that is indexed, and the chain's newest when the rebuild began. */
  readonly block: number;
  readonly head: number;
  readonly leaves: number;
  /** Of this run alone. */
  readonly blocksDone: number;
  readonly leavesDone: number;
  readonly elapsedMs: number;
}

export interface RebuildParts {
  readonly chain: Chain;
  readonly pool: Pool;
  readonly store: RebuildStore;
  readonly logger: Logger;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

export interface RebuildOptions {
  readonly source: IndexSource;
  /** Forgets what an earlier rebuild left. */
  readonly fromNothing: boolean;
  readonly sample: number;
  readonly onProgress: (progress: RebuildProgress) => void;
}

export interface Rebuilt {
  readonly start: "resumed" | "begun";
  readonly report: IndexReport;
  /** The report has no difference: the next start of the proxy serves it. */
  readonly isComplete: boolean;
}

/** Only asked for when the first pass failed, and then the rebuild ends: no second pass is waited for. */
const POLL_MS = 60_000;

/** Throws ChainUnreachable when the node is unreachable: what is there stays, and the next rebuild goes on from it. */
export async function rebuildIndex(
  { chain, pool, store, logger, now }: RebuildParts,
  { source, fromNothing, sample, onProgress }: RebuildOptions,
): Promise<Rebuilt> {
  const head = await chain.header("latest");
  if (head === undefined) throw new ChainUnreachable("the node has no newest block");
  const worker = randomUUID();
  const start = await store.begin(source, worker, fromNothing);
  const { data } = store;
  const began = {
    at: now(),
    block: data.tip()?.number ?? source.deploymentBlock - 1,
    leaves: data.leafCount(),
  };
  const indexer = new Indexer(chain, pool, data, logger, {
    deploymentBlock: source.deploymentBlock,
    pollIntervalMs: POLL_MS,
  });
  indexer.onChange((change) => {
    if (!store.isWorker(worker)) void indexer.stop();
    if (change.type !== "advanced") return;
    const leaves = data.leafCount();
    onProgress({
      ...{ block: change.tip.number, head: Math.max(head.number, change.tip.number), leaves },
      blocksDone: Math.max(change.tip.number - began.block, 0),
      leavesDone: Math.max(leaves - began.leaves, 0),
      elapsedMs: now() - began.at,
    });
  });
  try {
    await indexer.start();
    await indexer.sync();
  } finally {
    await indexer.stop();
  }
  requireWorker(store.isWorker(worker));
  const report = await checkIndex(chain, pool, data, sample);
  const isEqual = report.differences.length === 0;
  if (isEqual) requireWorker(await store.complete(worker));
  return { start, report, isComplete: isEqual };
}

/** Before a starting proxy reads its index. */
export async function adoptRebuiltIndex(
  store: RebuildStore,
  source: Pick<IndexSource, "chainId" | "pool">,
  logger: Logger,
): Promise<void> {
  const outcome = await store.adopt(source);
  if (outcome === "adopted") logger.info("a rebuilt index takes the place of the old one");
  if (outcome === "foreign") logger.warn("a rebuilt index is of another pool or chain and stays unused");
}

function requireWorker(isOurs: boolean): void {
  if (!isOurs) throw new Error("another rebuild of this index has begun; this one ended");
}
