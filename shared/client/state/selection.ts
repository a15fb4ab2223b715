/** Which notes pay. Pure: takes what is spendable, answers with the notes of one statement or the reason why not. */
import { KINDS } from "../../protocol/statements.ts";
import { ClientError } from "../base/errors.ts";
import { PaymentUnresolved, type Exposure } from "./exposure.ts";
import type { OwnedNote } from "./state.ts";

/** What the smaller circuits spend at once. */
const PAIR = KINDS.spend.inputs;

/**
 * The pair with the smallest sum that covers `amount`, so that paying also merges notes; a single note when there
 * is only one. Where no pair does and `limit` allows more: the largest notes that are needed, and the smallest to
 * fill the remaining places, which cost nothing. Throws INSUFFICIENT_FUNDS when all together are too little, and
 * NEEDS_CONSOLIDATION when only more than `limit` would do. With `exposed`, the answer holds a note of each
 * refused payment; PAYMENT_UNRESOLVED when the amount could be paid, but not so.
 */
export function selectNotes(
  spendable: readonly OwnedNote[],
  amount: bigint,
  limit: number,
  exposed: readonly Exposure[] = [],
): OwnedNote[] {
  if (sumOf(spendable) < amount) throw new ClientError("INSUFFICIENT_FUNDS");
  // Equal values in order of age, so that the choice does not depend on the order of a map.
  const sorted = [...spendable].sort((a, b) => compare(a.value, b.value) || a.leafIndex - b.leafIndex);
  const chosen =
    smallestPair(sorted, amount, exposed) ??
    (limit > PAIR ? coveringMany(sorted, amount, limit, exposed) : undefined);
  if (chosen !== undefined) return chosen;
  // Where no choice of so few notes would do anyway, that is the reason.
  if (exposed.length > 0) selectNotes(spendable, amount, limit);
  throw exposed.length > 0 ? new PaymentUnresolved(exposed) : new ClientError("NEEDS_CONSOLIDATION");
}

/**
 * The largest notes, up to `limit`: each round makes the largest note larger, so n notes need the fewest rounds
 * for a payment. With `exposed` the largest that hold a note of each refused payment, which are dead after that.
 */
export function selectForConsolidation(
  spendable: readonly OwnedNote[],
  limit: number,
  exposed: readonly Exposure[] = [],
): OwnedNote[] {
  const sorted = [...spendable].sort((a, b) => compare(b.value, a.value) || a.leafIndex - b.leafIndex);
  if (sorted.length < 2) throw new ClientError("INSUFFICIENT_FUNDS", "there are no two notes to merge");
  const anchors = largestAnchors(sorted, limit, exposed);
  if (anchors === undefined) throw new PaymentUnresolved(exposed);
  return filled(anchors, sorted, limit);
}

/** `sorted` has the smallest first. */
function smallestPair(
  sorted: readonly OwnedNote[],
  amount: bigint,
  exposed: readonly Exposure[],
): OwnedNote[] | undefined {
  if (exposed.length > 0) {
    const covering = excludingPairs(sorted, exposed).filter((notes) => sumOf(notes) >= amount);
    return covering.reduce<OwnedNote[] | undefined>(
      (best, notes) => (best === undefined || sumOf(notes) < sumOf(best) ? notes : best),
      undefined,
    );
  }
  if (sorted.length === 1) return [...sorted];
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
  return best;
}

/** All pairs (the only note, when there is one) with a note of each refused payment. */
function excludingPairs(notes: readonly OwnedNote[], exposed: readonly Exposure[]): OwnedNote[][] {
  const holdsOneOfEach = (chosen: readonly OwnedNote[]): boolean =>
    exposed.every((exposure) => chosen.some((note) => excludes(note, exposure)));
  if (notes.length === 1) return [[...notes]].filter(holdsOneOfEach);
  // One of the pair is of the first refused payment, so there are at most nine times as many pairs as notes.
  const anchors = notes.filter((note) => exposed[0] !== undefined && excludes(note, exposed[0]));
  return anchors.flatMap((anchor) =>
    notes
      .filter((note) => note !== anchor)
      .map((note) => [anchor, note])
      .filter(holdsOneOfEach),
  );
}

/** `sorted` has the smallest first. */
function coveringMany(
  sorted: readonly OwnedNote[],
  amount: bigint,
  limit: number,
  exposed: readonly Exposure[],
): OwnedNote[] | undefined {
  const largestFirst = [...sorted].reverse();
  const chosen = largestAnchors(largestFirst, limit, exposed);
  if (chosen === undefined) return undefined;
  for (const note of largestFirst) {
    if (sumOf(chosen) >= amount || chosen.length === limit) break;
    if (!chosen.includes(note)) chosen.push(note);
  }
  return sumOf(chosen) < amount ? undefined : filled(chosen, sorted, limit);
}

/**
 * Notes that hold one of each refused payment, chosen so that with the largest others beside them the sum is the
 * largest that `limit` notes can have under that condition. Undefined when no `limit` notes fulfil it.
 */
function largestAnchors(
  largestFirst: readonly OwnedNote[],
  limit: number,
  exposed: readonly Exposure[],
): OwnedNote[] | undefined {
  let best: { readonly anchors: OwnedNote[]; readonly sum: bigint } | undefined;
  const extend = (anchors: readonly OwnedNote[]): void => {
    const open = exposed.filter((exposure) => !anchors.some((note) => excludes(note, exposure)));
    const [next] = open;
    if (next === undefined) {
      const sum = sumOf(filled(anchors, largestFirst, limit));
      if (best === undefined || sum > best.sum) best = { anchors: [...anchors], sum };
      return;
    }
    if (anchors.length === limit) return;
    // Of notes that exclude the same payments the largest serves at least as well as any other, so few ways are tried.
    const tried = new Set<string>();
    for (const note of largestFirst) {
      if (!excludes(note, next)) continue;
      const excluded = open.map((exposure) => (excludes(note, exposure) ? "1" : "0")).join("");
      if (tried.has(excluded)) continue;
      tried.add(excluded);
      extend([...anchors, note]);
    }
  };
  extend([]);
  return best?.anchors;
}

/** `chosen` and as many of the first of `others` as there are places left. */
function filled(chosen: readonly OwnedNote[], others: readonly OwnedNote[], limit: number): OwnedNote[] {
  return [...chosen, ...others.filter((note) => !chosen.includes(note)).slice(0, limit - chosen.length)];
}

/** Spending the note kills the refused payment: both cannot be executed. */
function excludes({ leafIndex }: OwnedNote, { leafIndexes }: Exposure): boolean {
  return leafIndexes.includes(leafIndex);
}

export function sumOf(notes: readonly { readonly value: bigint }[]): bigint {
  return notes.reduce((sum, note) => sum + note.value, 0n);
}

function compare(a: bigint, b: bigint): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
