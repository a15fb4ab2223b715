/** What a wallet holds, by what can be done with it now. Pure. */
import type { Address } from "../protocol/brands.ts";
import type { OwnedNote, WalletState } from "./state.ts";

/** total = spendable + pending + inFlight, in the token's smallest units. */
export interface Balance {
  /** Undefined while the wallet has never met an asset. */
  readonly asset: Address | undefined;
  readonly total: bigint;
  /** In the tree under a root of the pool, and not promised to a payment. */
  readonly spendable: bigint;
  /** Received, but no root covers it yet. */
  readonly pending: bigint;
  /** Notes of payments under way; part of it comes back as change. */
  readonly inFlight: bigint;
}

export type NoteState = "spent" | "in-flight" | "pending" | "spendable";

/** Past its deadline by this much a statement is dead on any honest chain, whatever our clock thinks. */
export const CLOCK_MARGIN_SECS = 900;

export function stateOfNote(state: WalletState, note: OwnedNote, nowSecs: number): NoteState {
  if (note.spent !== undefined) return "spent";
  for (const { leafIndexes, deadline } of state.reservations.values()) {
    if (leafIndexes.includes(note.leafIndex) && nowSecs <= deadline + CLOCK_MARGIN_SECS) return "in-flight";
  }
  return note.leafIndex < (state.latestRoot?.leafCount ?? 0) ? "spendable" : "pending";
}

export function balancesOf(state: WalletState, nowSecs: number): Balance[] {
  const byAsset = new Map<Address, Record<Exclude<NoteState, "spent">, bigint>>();
  for (const note of state.notes.values()) {
    let sums = byAsset.get(note.asset);
    if (sums === undefined) byAsset.set(note.asset, (sums = { "in-flight": 0n, pending: 0n, spendable: 0n }));
    const where = stateOfNote(state, note, nowSecs);
    if (where !== "spent") sums[where] += note.value;
  }
  return [...byAsset].map(([asset, { spendable, pending, "in-flight": inFlight }]) => ({
    asset,
    total: spendable + pending + inFlight,
    spendable,
    pending,
    inFlight,
  }));
}
