/** What one call of the pool's `advance` is shown and how far it goes, for who knows the transactions of the queue. */
import type { Bytes32 } from "../protocol/brands.ts";
import { toBytes32, word } from "../protocol/bytes.ts";

/** Most leaves of one call: a checkpoint that stays is never farther, and so many cost a third of a block's limit. */
export const MOST_ADVANCED = 255;

/** Most leaves of one statement. */
const MOST_MADE = 4;

/** A statement's leaves, and what `advance` is shown of it: a nullifier, or the hash of a deposit. */
export interface Made {
  readonly leafCount: number;
  readonly maker: Bytes32;
}

/**
 * Who made the leaves from `from` to `to`, as the pool's `advance` takes it after a refutation: in their order, and none for
 * what is void or credited.
 * @param madeAt the statement whose leaves begin there
 */
export function makersOf(
  { from, to }: { readonly from: number; readonly to: number },
  isVoid: (leaf: number) => boolean,
  madeAt: (firstLeaf: number) => Made | undefined,
): Bytes32[] {
  const makers: Bytes32[] = [];
  // The first statement may have begun before: an earlier call ended in the middle of it.
  for (let at = Math.max(0, from - MOST_MADE + 1); at < to;) {
    const made = madeAt(at);
    const end = at + (made?.leafCount ?? 1);
    if (made !== undefined && end > from && !isVoid(at)) makers.push(made.maker);
    at = end;
  }
  return makers;
}

/** By which the pool knows who made leaves: of a deposit, which has no nullifiers, the statement. */
export function makerOf(statement: Bytes32, [nullifier]: readonly bigint[]): Bytes32 {
  return nullifier === undefined ? statement : toBytes32(word(nullifier));
}

/** Leaves that wait, by their place in the queue: from the first that is not in the tree to the end of the queue. */
export interface Waiting {
  readonly from: number;
  readonly end: number;
  /** Places in (from, from + MOST_ADVANCED] behind the last leaf of a transaction, ascending. */
  readonly boundaries: readonly number[];
}

/**
 * The farthest place that the pool can name, since a root is as old as the checkpoint that it reaches; else the end of
 * the queue, which it always takes. Undefined when nothing waits, or no call can get anywhere.
 * @param isCheckpoint whether the pool has one at that place
 */
export async function advanceEnd(
  { from, end, boundaries }: Waiting,
  isCheckpoint: (place: number) => Promise<boolean>,
): Promise<number | undefined> {
  if (from >= end) return undefined;
  for (const place of [...boundaries].reverse()) if (await isCheckpoint(place)) return place;
  return end - from <= MOST_ADVANCED ? end : undefined;
}
