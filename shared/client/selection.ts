/** Which notes pay. Pure: takes what is spendable, answers with at most two notes or the reason why not. */
import { ClientError } from "./errors.ts";
import type { OwnedNote } from "./state.ts";

/** Places for notes in one `spend`. */
export const MAX_INPUTS = 2;

/**
 * The pair with the smallest sum that covers `amount`, so that paying also merges notes; a single note
 * when there is only one. Throws INSUFFICIENT_FUNDS when all together are too little, and
 * NEEDS_CONSOLIDATION when only more than two would do.
 */
export function selectNotes(spendable: readonly OwnedNote[], amount: bigint): OwnedNote[] {
  const total = spendable.reduce((sum, note) => sum + note.value, 0n);
  if (total < amount) throw new ClientError("INSUFFICIENT_FUNDS");
  // Equal values in order of age, so that the choice does not depend on the order of a map.
  const sorted = [...spendable].sort((a, b) => compare(a.value, b.value) || a.leafIndex - b.leafIndex);
  if (sorted.length === 1) return sorted;

  let best: [OwnedNote, OwnedNote] | undefined;
  let low = 0;
  let high = sorted.length - 1;
  while (low < high) {
    const pair: [OwnedNote, OwnedNote] = [sorted[low]!, sorted[high]!];
    if (sumOf(pair) < amount) {
      low += 1;
      continue;
    }
    if (best === undefined || sumOf(pair) < sumOf(best)) best = pair;
    high -= 1;
  }
  if (best === undefined) throw new ClientError("NEEDS_CONSOLIDATION");
  return best;
}

/** The two largest: each round makes the largest note larger, so n notes need the fewest rounds for a payment. */
export function selectForConsolidation(spendable: readonly OwnedNote[]): OwnedNote[] {
  const sorted = [...spendable].sort((a, b) => compare(b.value, a.value) || a.leafIndex - b.leafIndex);
  if (sorted.length < 2) throw new ClientError("INSUFFICIENT_FUNDS", "there are no two notes to merge");
  return sorted.slice(0, MAX_INPUTS);
}

export function sumOf(notes: readonly { readonly value: bigint }[]): bigint {
  return notes.reduce((sum, note) => sum + note.value, 0n);
}

function compare(a: bigint, b: bigint): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
