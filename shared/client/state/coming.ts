/** What a wallet has still to get, by payments under way. Pure. */
import type { Address } from "../../protocol/brands.ts";
import { balanceOf } from "./balances.ts";
import { holdsNotes, isExecuted } from "./exposure.ts";
import type { Reservation, WalletState } from "./state.ts";

/** What could be spendable once everything under way has arrived. */
export function expected(state: WalletState, asset: Address, now: number): bigint {
  const { spendable, pending } = balanceOf(state, asset, now);
  return coming(state, asset, now).reduce((sum, { change }) => sum + change, spendable + pending);
}

export function awaits(state: WalletState, asset: Address, now: number): boolean {
  const { pending, inFlight } = balanceOf(state, asset, now);
  return pending > 0n || inFlight > 0n || coming(state, asset, now).length > 0;
}

/** Payments under way whose leaves may still come: the stream tells of a block's nullifiers before its leaves. */
function coming(state: WalletState, asset: Address, now: number): Reservation[] {
  const seen = Math.max(state.blocks.newest ?? 0, state.latestRoot?.block ?? 0);
  const isLost = (index: number): boolean => (state.notes.get(index)?.spent?.block ?? Infinity) < seen;
  return [...state.reservations.values()].filter(
    (one) =>
      one.asset === asset && holdsNotes(one, now) && !isExecuted(state, one) && !one.leafIndexes.some(isLost),
  );
}
