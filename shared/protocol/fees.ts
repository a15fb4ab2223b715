/** The fee formula of the HTTP specification: fee = flat + amount × bps / 10,000. Rules and prices are the proxy's. */

export type FeeOperation = "transfer" | "swap" | "deposit" | "withdraw";

/** `flat` in the token's smallest units, `bps` in basis points; either may be zero. */
export interface FeeRule {
  readonly flat: bigint;
  readonly bps: number;
}

/** Rounded down to the smallest unit, so nobody is asked for a fraction that no note can hold. */
export function feeOf(rule: FeeRule, amount: bigint): bigint {
  return rule.flat + (amount * BigInt(rule.bps)) / 10_000n;
}
