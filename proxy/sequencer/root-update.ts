/**
 * Which root update to ask for: over leaves that wait in the queue, and optimistically over those a batch
 * is about to add. Changes nothing; the pool skips an update that no longer fits, so a wrong guess costs gas and harms
 * nobody.
 */
import type { Bytes32, Field } from "../../shared/protocol/brands.ts";
import { MAX_UPDATE_LEAVES, nextHead } from "../../shared/protocol/tree.ts";
import type { RootRequest } from "../enclave-link/attestor.ts";
import type { ChainDataStore } from "../store/chain-data.ts";

/** Most outputs of any kind: the pool keeps a checkpoint whenever the next transaction could open a wider gap. */
const MAX_OUTPUTS = 4;

export type QueueView = Pick<ChainDataStore, "currentRoot" | "leafCount" | "leaves" | "leaf" | "headAt">;

/** The tree over the queue. */
export interface TreeView {
  /** Complete siblings of a prefix of the queue. */
  frontier(leafCount: number): Field[];
  /** Root over that prefix with `more` behind it; undefined when the tree would be full. */
  rootAfter(leafCount: number, more: readonly Field[]): Promise<Field | undefined>;
}

/**
 * @param batch commitments of each member of the batch that goes along, in order
 * @param avoid ends that the pool has skipped before
 */
export async function planRootUpdate(
  queue: QueueView,
  tree: TreeView,
  batch: readonly (readonly Field[])[],
  avoid: ReadonlySet<number> = new Set(),
): Promise<RootRequest | undefined> {
  const root = queue.currentRoot();
  const headBefore = root === undefined ? undefined : queue.headAt(root.leafCount);
  if (root === undefined || headBefore === undefined) return undefined;
  const from = root.leafCount;
  const queued = queue.leafCount();
  const most = from + MAX_UPDATE_LEAVES;

  let to = queued;
  const leaves: Field[] = [];
  if (queued > most || avoid.size > 0) {
    const end = endsOf(queue, from, Math.min(queued, most), avoid).at(-1);
    if (end === undefined) return undefined;
    to = end;
  }
  leaves.push(...queue.leaves(from, to).map(({ commitment }) => commitment));
  if (to === queued) {
    for (const commitments of batch) {
      if (from + leaves.length + commitments.length > most) break;
      leaves.push(...commitments);
    }
  }
  if (leaves.length === 0) return undefined;

  const frontier = tree.frontier(from);
  const newRoot = await tree.rootAfter(from, leaves);
  if (newRoot === undefined) return undefined;
  return {
    fromIndex: from,
    headBefore,
    frontier,
    leaves,
    expected: {
      oldRoot: root.root,
      newRoot,
      fromIndex: BigInt(from),
      toIndex: BigInt(from + leaves.length),
      headBefore,
      headAfter: leaves.reduce<Bytes32>(nextHead, headBefore),
    },
  };
}

/**
 * Positions in (from, most] that the pool may accept as an end, best last. First its checkpoints as it keeps
 * them when each chain transaction makes one call; when one of those was skipped (a contract called the pool
 * twice in a transaction), every end of a statement is tried in turn.
 */
function endsOf(queue: QueueView, from: number, most: number, avoid: ReadonlySet<number>): number[] {
  const begin = startOfCall(queue, from);
  const leaves = queue.leaves(begin, Math.min(most + 1, queue.leafCount()));
  const checkpoints: number[] = [];
  const boundaries: number[] = [];
  let lastCheckpoint = begin;
  for (const [i, leaf] of leaves.entries()) {
    if (!leaf.isLast) continue;
    const end = leaf.index + 1;
    const next = leaves[i + 1];
    const endsCall = next === undefined ? end === queue.leafCount() : next.txHash !== leaf.txHash;
    if (end > from && end <= most) boundaries.push(end);
    if (!endsCall && end + MAX_OUTPUTS - lastCheckpoint <= MAX_UPDATE_LEAVES) continue;
    lastCheckpoint = end;
    if (end > from && end <= most) checkpoints.push(end);
  }
  const fresh = checkpoints.filter((end) => !avoid.has(end));
  return fresh.length > 0 ? fresh : boundaries.filter((end) => !avoid.has(end));
}

function startOfCall(queue: QueueView, index: number): number {
  const call = queue.leaf(index)?.txHash;
  let start = index;
  while (start > 0 && queue.leaf(start - 1)?.txHash === call) start--;
  return start;
}
