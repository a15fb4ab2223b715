/**
 * Payments that the service refused after it had their proof. Whoever holds a proof can have the payment
 * executed until its deadline, so a refusal is only somebody's word. Until then every new payment spends a note
 * of each such payment: of all attempts the pool executes at most one. Pure.
 */
import type { Address } from "../../protocol/brands.ts";
import { ClientError } from "../base/errors.ts";
import type { Reservation, WalletState } from "./state.ts";

/** Past its deadline by this much a statement is dead on any honest chain, whatever our clock thinks. */
export const CLOCK_MARGIN_SECS = 900;

/** A refused payment that may still be executed. */
export interface Exposure {
  readonly leafIndexes: readonly number[];
  /** Unix seconds; after it the payment is dead. */
  readonly until: number;
}

/** No payment can be made that excludes the refused ones. `consolidate` may be able to, or waiting is. */
export class PaymentUnresolved extends ClientError {
  /** Unix seconds: when the last refused payment is dead. */
  readonly until: number;
  constructor(exposed: readonly Exposure[]) {
    const until = Math.max(...exposed.map((exposure) => exposure.until));
    super("PAYMENT_UNRESOLVED", `until ${new Date(until * 1000).toISOString()}`);
    this.until = until;
  }
}

/** The payment may still be executed, as far as the clock can tell. */
export function isLive({ deadline }: Pick<Reservation, "deadline">, nowSecs: number): boolean {
  return nowSecs <= deadline + CLOCK_MARGIN_SECS;
}

/** Its notes are promised: no other payment picks them. */
export function holdsNotes(reservation: Reservation, nowSecs: number): boolean {
  return !reservation.refused && reservation.released !== true && isLive(reservation, nowSecs);
}

/**
 * All its leaves are in the tree. A nullifier alone would not do: the stream could name one out of thin air
 * and so talk the wallet into paying again from other notes.
 */
export function isExecuted(state: WalletState, { commitments }: Pick<Reservation, "commitments">): boolean {
  return commitments.length > 0 && commitments.every((commitment) => state.tree.includes(commitment));
}

/**
 * What a new payment of this asset must exclude. Not what has been executed itself; not what lost a note to
 * another payment of this wallet, or will because that one is under way: it is the repetition already.
 */
export function exposedPayments(state: WalletState, asset: Address, nowSecs: number): Exposure[] {
  const all = [...state.reservations.values()];
  return all
    .filter((one) => one.refused && one.asset === asset && isLive(one, nowSecs) && !isExecuted(state, one))
    .filter((one) => {
      const rivals = all.filter((other) => other !== one && shareNote(one, other));
      return !rivals.some((rival) => holdsNotes(rival, nowSecs) || isExecuted(state, rival));
    })
    .map(({ leafIndexes, deadline }) => ({ leafIndexes, until: deadline + CLOCK_MARGIN_SECS }));
}

/** A payment that was refused and then executed: its user should know of it before paying again. */
export function executedAfterRefusal(state: WalletState, asset: Address): Reservation | undefined {
  return [...state.reservations.values()].find(
    (one) => one.refused && one.asset === asset && isExecuted(state, one),
  );
}

/** Forgets dead payments, but none whose execution still settles the outcome of a living one. */
export function forgetDead(state: WalletState, nowSecs: number): void {
  const all = [...state.reservations.values()];
  for (const one of all) {
    if (isLive(one, nowSecs)) continue;
    if (all.some((other) => isLive(other, nowSecs) && shareNote(one, other))) continue;
    state.reservations.delete(one.statement);
  }
}

function shareNote(a: Reservation, b: Reservation): boolean {
  return a.leafIndexes.some((index) => b.leafIndexes.includes(index));
}
