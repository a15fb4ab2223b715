/**
 * One wallet's state from two of its tabs: what this one holds, and what another has saved meanwhile. Pure.
 */
import type { Bytes32 } from "../../protocol/brands.ts";
import { subtreeOf, type NoteTree } from "../../notes/merkle.ts";
import { mergeContacts } from "./contact-record.ts";
import { mergePayments } from "./payment-record.ts";
import type { Reservation, WalletState } from "./state.ts";

/** Reservations that this tab has made or changed since it last agreed with the storage. */
export type Changes = ReadonlyMap<Bytes32, Reservation>;

/**
 * Takes `theirs` into `state`. No promise of either is lost, not even where the storage has gone back to an older
 * copy; of one that both know, what this tab did last counts, and otherwise the storage. Of the chain each tab has its own
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
  const own = state.tree;
  const others = [...(isReplaced ? state : theirs).notes.values()];
  if (isReplaced) state.takeChainOf(theirs);
  for (const note of others) {
    unfold(state.tree, isReplaced ? own : theirs.tree, note.leafIndex);
    if (!state.notes.has(note.leafIndex) && state.tree.leaf(note.leafIndex) === note.commitment)
      state.addNote(note);
  }
  for (const [statement, reservation] of [...theirs.reservations, ...changes])
    state.reservations.set(statement, reservation);
  // A number that both have taken is the other tab's: what it saved it may have shown already.
  for (const [key, record] of theirs.bridges)
    if (state.bridges.get(key)?.bridgeId === undefined) state.bridges.set(key, record);
  mergePayments(state.payments, theirs.payments);
  mergeContacts(state.contacts, theirs.contacts);
  // Their copy may be from before.
  state.markEmptied();
  return isReplaced;
}

/** What one tab has folded and the other has not is taken from there, where it gives the same node. */
function unfold(tree: NoteTree, other: NoteTree, leafIndex: number): void {
  if (!tree.isFolded(leafIndex)) return;
  const place = subtreeOf(leafIndex);
  const leaves = other.leavesOf(place);
  if (leaves !== undefined) tree.unfold(place, leaves);
}
