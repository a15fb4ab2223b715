/** The fee formula of the HTTP specification: fee = flat + amount × bps / 10,000. Rules and prices are the proxy's. */
import type { Facts, Kind } from "../statements.ts";

export type FeeOperation = "transfer" | "swap" | "deposit" | "withdraw";

/** A deposit's amount is what comes in, a withdrawal's what goes out, a swap's what goes to the venue; the amount of a transfer is not known. */
export function operationOf(kind: Kind, facts: Pick<Facts, "amount">): FeeOperation {
  switch (kind) {
    case "deposit-shield":
      return "deposit";
    case "private-swap":
      return "swap";
    case "spend":
    case "spend9":
      return facts.amount === 0n ? "transfer" : "withdraw";
  }
}

/** `flat` in the token's smallest units, `bps` in basis points; either may be zero. */
export interface FeeRule {
  readonly flat: bigint;
  readonly bps: number;
}

/** Rounded down to the smallest unit, so nobody is asked for a fraction that no note can hold. */
export function feeOf(rule: FeeRule, amount: bigint): bigint {
  return rule.flat + (amount * BigInt(rule.bps)) / 10_000n;
}

/**
 * The fees of a swap are of its gross amount (what the user gives up) and come out of it before the venue sees
 * the rest, while a statement shows that rest only. The least gross amount whose fees leave `toVenue`: with a
 * division rounded down, two neighbours can leave the same, and nobody owes for the larger.
 */
export function grossOf(toVenue: bigint, rules: readonly FeeRule[]): bigint {
  const flat = rules.reduce((sum, rule) => sum + rule.flat, 0n);
  const bps = BigInt(rules.reduce((sum, rule) => sum + rule.bps, 0));
  if (bps >= 10_000n) throw new RangeError("fees that leave nothing of a swap");
  // Each division loses less than one, so no gross amount below this start can be the one; from there the
  // fees of a too small gross amount are at most the right ones, and every step comes nearer from below.
  const start = ((toVenue + flat - BigInt(rules.length)) * 10_000n) / (10_000n - bps);
  let gross = start > toVenue ? start : toVenue;
  for (;;) {
    const next = rules.reduce((sum, rule) => sum + feeOf(rule, gross), toVenue);
    if (next === gross) return gross;
    gross = next;
  }
}
