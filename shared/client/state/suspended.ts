/** Payments of this wallet that were executed on a root that was revoked since: which it can prove again by itself. Pure. */
import { isExecuted } from "./exposure.ts";
import type { Makings, PaymentRecord } from "./payment-record.ts";
import type { OwnedNote, WalletState } from "./state.ts";

export interface Suspended {
  readonly record: PaymentRecord;
  readonly makings: Makings;
  /** The notes that it spends, in its order. */
  readonly notes: readonly OwnedNote[];
}

/** Suspended, and not confirmed yet: the outputs are empty, and the notes that paid for them spent. */
export function isSuspended(state: WalletState, record: PaymentRecord): boolean {
  const isSpent = (index: number): boolean => state.notes.get(index)?.spent !== undefined;
  return (
    record.suspended === true &&
    record.withdrawn !== true &&
    record.leafIndexes.every(isSpent) &&
    !isExecuted(state, record)
  );
}

/**
 * Those that can be proved again. Not what was paid with a note that is suspended itself: when its sender makes that again it
 * stands at another leaf, has another nullifier, and can be spent anew.
 * @param leafCount of the root to prove on
 */
export function confirmable(state: WalletState, leafCount: number): Suspended[] {
  return [...state.payments.values()].flatMap((record) => {
    const { makings } = record;
    if (makings === undefined || !isSuspended(state, record)) return [];
    const notes = record.leafIndexes.map((index) => state.notes.get(index)!);
    const isProvable = notes.every((note) => note.voided === undefined && note.leafIndex < leafCount);
    return isProvable ? [{ record, makings, notes }] : [];
  });
}
