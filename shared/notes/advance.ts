/** How far one call of the pool's `advance` goes, for whoever knows where the transactions of the queue end. */

/** Most leaves of one call: a checkpoint that stays is never farther, and so many cost a third of a block's limit. */
export const MOST_ADVANCED = 255;

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
