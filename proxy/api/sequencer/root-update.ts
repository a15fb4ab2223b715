/**
 * Which root update to ask for: over leaves that wait in the queue, and optimistically over those a batch
 * is about to add. Changes nothing; the pool skips an update that no longer fits, so a wrong guess costs gas and harms
 * nobody.
 */
import type { Bytes32, Field } from "../../../shared/protocol/brands.ts";
import { MAX_UPDATE_LEAVES, nextHead } from "../../../shared/protocol/tree.ts";
import type { RootRequest } from "../enclave-link/attestor.ts";
import type { StoredLeaf } from "../../base/store/chain-data.ts";

/** Ends of calls share so many checkpoints at the pool, by leaf count: a later one takes an earlier one's place. */
const RING = 256;
/** The first end of a transaction in each window of so many leaves is a permanent checkpoint. */
const WINDOW_LEAVES = 252;

/** Of a leaf in the queue. `head`: of the queue after it; `txHash`: of the transaction that added it. */
export type QueuedLeaf = Pick<StoredLeaf, "index" | "commitment" | "head" | "txHash" | "isLast">;

/** As `ChainDataStore` has it. */
export interface QueueView {
  currentRoot(): { readonly root: Field; readonly leafCount: number } | undefined;
  leafCount(): number;
  leaf(index: number): QueuedLeaf | undefined;
  leaves(from: number, to: number): readonly QueuedLeaf[];
  headAt(count: number): Bytes32 | undefined;
  awaitsAdvance(): boolean;
}

/** The tree over the queue: of a prefix with `more` behind it; undefined when the tree would be full. */
export interface TreeView {
  /** Complete siblings left of the next leaf. */
  frontierAfter(leafCount: number, more: readonly Field[]): Promise<Field[] | undefined>;
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
  if (queue.awaitsAdvance()) return undefined;
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

  // Begun together, so both are of the tree at this moment.
  const [frontier, newRoot] = await Promise.all([tree.frontierAfter(from, []), tree.rootAfter(from, leaves)]);
  if (frontier === undefined || newRoot === undefined) return undefined;
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
 * Positions in (from, most] that the pool may accept as an end, best last: ends of calls as it keeps them, and
 * checkpoints that stay permanently. When one was skipped (a contract called the pool twice in a transaction, or the pool
 * had no reason to keep an end that was rooted then and is not now), first those that stay, then whatever is left.
 */
function endsOf(queue: QueueView, from: number, most: number, avoid: ReadonlySet<number>): number[] {
  const boundaries: number[] = [];
  const calls: number[] = [];
  const lasting: number[] = [];
  let before = startOfTransaction(queue, from);
  for (const { index, isLast } of queue.leaves(before, most)) {
    if (!isLast) continue;
    const end = index + 1;
    const isLasting = windowOf(before) !== windowOf(end);
    before = end;
    if (end <= from) continue;
    boundaries.push(end);
    if (isLasting) lasting.push(end);
    if (isLasting || isKeptEnd(queue, end)) calls.push(end);
  }
  const tiers = avoid.size === 0 ? [calls, boundaries] : [lasting, calls, boundaries];
  const fresh = tiers.map((ends) => ends.filter((end) => !avoid.has(end)));
  return fresh.find((ends) => ends.length > 0) ?? [];
}

const windowOf = (leafCount: number): number => Math.floor(leafCount / WINDOW_LEAVES);

/** `advance` may have stopped in the middle of one. */
function startOfTransaction(queue: QueueView, index: number): number {
  let start = index;
  while (start > 0 && queue.leaf(start - 1)?.isLast === false) start--;
  return start;
}

/** A call ended there, and no later one in the same place of the ring. */
function isKeptEnd(queue: QueueView, end: number): boolean {
  if (!isEndOfCall(queue, end)) return false;
  for (let later = end + RING; later <= queue.leafCount(); later += RING) {
    if (isEndOfCall(queue, later)) return false;
  }
  return true;
}

function isEndOfCall(queue: QueueView, end: number): boolean {
  const last = queue.leaf(end - 1);
  return last?.isLast === true && queue.leaf(end)?.txHash !== last.txHash;
}
