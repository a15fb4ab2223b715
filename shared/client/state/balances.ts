/** What a wallet holds, by what can be done with it now. Pure. */
import type { Address } from "../../protocol/brands.ts";
import { holdsNotes } from "./exposure.ts";
import type { OwnedNote, WalletState } from "./state.ts";

/** total = spendable + pending + inFlight, in the token's smallest units. Notes that are void count nowhere. */
export interface Balance {
  readonly asset: Address;
  readonly total: bigint;
  /** In the tree under a root of the pool, and not promised to a payment. */
  readonly spendable: bigint;
  /** Received, but no root covers it yet, or none any more: after a refutation until the tree has grown again. */
  readonly pending: bigint;
  /** Notes of payments under way; part of it comes back as change. */
  readonly inFlight: bigint;
  /**
   * The part of `total` that rests on the service's word: no `verifyRoot` has confirmed a root over it. A
   * service can invent such income; it cannot be spent, since the pool knows no such root.
   */
  readonly unverified: bigint;
}

type NoteState = "spent" | "void" | "inFlight" | "pending" | "spendable";

export function stateOfNote(state: WalletState, note: OwnedNote, nowSecs: number): NoteState {
  if (note.voided !== undefined) return "void";
  if (note.spent !== undefined) return "spent";
  if (state.picked.includes(note.leafIndex)) return "inFlight";
  for (const reservation of state.reservations.values()) {
    if (reservation.leafIndexes.includes(note.leafIndex) && holdsNotes(reservation, nowSecs))
      return "inFlight";
  }
  return note.leafIndex < (state.latestRoot?.leafCount ?? 0) ? "spendable" : "pending";
}

const ZEROS = { spendable: 0n, pending: 0n, inFlight: 0n, unverified: 0n };

export function balancesOf(state: WalletState, nowSecs: number): Balance[] {
  const byAsset = new Map<Address, typeof ZEROS>();
  for (const note of state.notes.values()) {
    const sums = byAsset.get(note.asset) ?? { ...ZEROS };
    byAsset.set(note.asset, sums);
    const where = stateOfNote(state, note, nowSecs);
    if (where === "spent" || where === "void") continue;
    sums[where] += note.value;
    if (note.leafIndex >= state.confirmedLeaves) sums.unverified += note.value;
  }
  return [...byAsset].map(([asset, sums]) => {
    const total = sums.spendable + sums.pending + sums.inFlight;
    return { asset, total, ...sums };
  });
}

/** Zeros for an asset that the wallet never held. */
export function balanceOf(state: WalletState, asset: Address, nowSecs: number): Balance {
  const found = balancesOf(state, nowSecs).find((balance) => balance.asset === asset);
  return found ?? { asset, total: 0n, ...ZEROS };
}
