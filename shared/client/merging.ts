/**
 * One wallet's state from two of its tabs: what this one holds, and what another has saved meanwhile. Pure.
 */
import type { Bytes32 } from "../protocol/brands.ts";
import type { Reservation, WalletState } from "./state.ts";

/** Reservations that this tab has made, changed or (undefined) given back since it last agreed with the storage. */
export type Changes = ReadonlyMap<Bytes32, Reservation | undefined>;

/**
 * Takes `theirs` into `state`. Of promises the storage is the record, and only what this tab did since is done to it
 * again: what another released is free, what another promised is promised. Of the chain each tab has its own
 * consistent copy; with `mayReplace` the longer one stays. Notes that no stream tells (adopted ones, or such as a
 * rescan found) are kept from both. True when the copy of the chain is theirs now: the stream is to be read from there.
 */
export function mergeState(
  state: WalletState,
  theirs: WalletState,
  changes: Changes,
  mayReplace: boolean,
): boolean {
  const isReplaced = mayReplace && theirs.tree.leafCount > state.tree.leafCount;
  const others = [...(isReplaced ? state : theirs).notes.values()];
  if (isReplaced) state.takeChainOf(theirs);
  for (const note of others) {
    if (!state.notes.has(note.leafIndex) && state.tree.leaf(note.leafIndex) === note.commitment)
      state.addNote(note);
  }
  state.reservations.clear();
  for (const [statement, reservation] of theirs.reservations) state.reservations.set(statement, reservation);
  for (const [statement, reservation] of changes) {
    if (reservation === undefined) state.reservations.delete(statement);
    else state.reservations.set(statement, reservation);
  }
  return isReplaced;
}
