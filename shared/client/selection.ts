/** Which notes pay. Pure: takes what is spendable, answers with at most two notes or the reason why not. */
import { ClientError } from "./errors.ts";
import { PaymentUnresolved, type Exposure } from "./exposure.ts";
import type { OwnedNote } from "./state.ts";

/** Places for notes in one `spend`. */
export const MAX_INPUTS = 2;

/**
 * The pair with the smallest sum that covers `amount`, so that paying also merges notes; a single note
 * when there is only one. Throws INSUFFICIENT_FUNDS when all together are too little, and
 * NEEDS_CONSOLIDATION when only more than two would do. With `exposed`, the answer holds a note of each refused
 * payment; PAYMENT_UNRESOLVED when the amount could be paid, but not so.
 */
export function selectNotes(
  spendable: readonly OwnedNote[],
  amount: bigint,
  exposed: readonly Exposure[] = [],
): OwnedNote[] {
  const total = spendable.reduce((sum, note) => sum + note.value, 0n);
  if (total < amount) throw new ClientError("INSUFFICIENT_FUNDS");
  // Equal values in order of age, so that the choice does not depend on the order of a map.
  const sorted = [...spendable].sort((a, b) => compare(a.value, b.value) || a.leafIndex - b.leafIndex);
  if (exposed.length > 0) {
    const covering = excluding(sorted, exposed).filter((notes) => sumOf(notes) >= amount);
    const smallest = covering.reduce<OwnedNote[] | undefined>(
      (best, notes) => (best === undefined || sumOf(notes) < sumOf(best) ? notes : best),
      undefined,
    );
    if (smallest !== undefined) return smallest;
    // Where no two notes would do anyway, that is the reason.
    selectNotes(spendable, amount);
    throw new PaymentUnresolved(exposed);
  }
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

/**
 * The two largest: each round makes the largest note larger, so n notes need the fewest rounds for a payment.
 * With `exposed` the largest two that hold a note of each refused payment, which are dead after that.
 */
export function selectForConsolidation(
  spendable: readonly OwnedNote[],
  exposed: readonly Exposure[] = [],
): OwnedNote[] {
  const sorted = [...spendable].sort((a, b) => compare(b.value, a.value) || a.leafIndex - b.leafIndex);
  if (sorted.length < 2) throw new ClientError("INSUFFICIENT_FUNDS", "there are no two notes to merge");
  if (exposed.length === 0) return sorted.slice(0, MAX_INPUTS);
  const [first, ...others] = excluding(sorted, exposed);
  if (first === undefined) throw new PaymentUnresolved(exposed);
  return others.reduce((best, notes) => (sumOf(notes) > sumOf(best) ? notes : best), first);
}

/** All pairs (the only note, when there is one) with a note of each refused payment. */
function excluding(notes: readonly OwnedNote[], exposed: readonly Exposure[]): OwnedNote[][] {
  const holdsOneOfEach = (chosen: readonly OwnedNote[]): boolean =>
    exposed.every(({ leafIndexes }) => chosen.some((note) => leafIndexes.includes(note.leafIndex)));
  if (notes.length === 1) return [[...notes]].filter(holdsOneOfEach);
  // One of the pair is of the first refused payment, so there are at most twice as many pairs as notes.
  const anchors = notes.filter((note) => exposed[0]?.leafIndexes.includes(note.leafIndex));
  return anchors.flatMap((anchor) =>
    notes
      .filter((note) => note !== anchor)
      .map((note) => [anchor, note])
      .filter(holdsOneOfEach),
  );
}

export function sumOf(notes: readonly { readonly value: bigint }[]): bigint {
  return notes.reduce((sum, note) => sum + note.value, 0n);
}

function compare(a: bigint, b: bigint): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
