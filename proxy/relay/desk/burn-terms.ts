/**
 * How a burn is asked for: fast while the attester's fee for it fits under the ceiling of the address, else the slow way,
 * which costs nothing. The table is the attester's word; the ceiling in the address is what bounds it.
 */
import type { BurnTerms, FeeRate, FeeTable } from "./steps.ts";

/** Of CCTP v2. */
export const FAST = 1_000;
export const SAFE = 2_000;

/** Millionths of a basis point in the whole. */
const WHOLE = 10_000n * 1_000_000n;

/** Undefined while no way fits under the ceiling. An attester that is away asks for nothing: then the slow way is right. */
export function burnTerms(
  amount: bigint,
  ceiling: bigint,
  table: FeeTable | "asking" | undefined,
): BurnTerms | undefined {
  if (table === "asking") return undefined;
  const fast = table?.get(FAST);
  if (fast !== undefined && feeOf(amount, fast) <= ceiling) {
    const fee = feeOf(amount, fast);
    // A tenth more, so that a fee that rises meanwhile does not make it a slow one.
    return { maxFee: least(ceiling, fee + fee / 10n), finality: FAST };
  }
  const safe = feeOf(amount, table?.get(SAFE) ?? 0n);
  return safe <= ceiling ? { maxFee: safe, finality: SAFE } : undefined;
}

/** Rounded up: one unit less, and the attester would not do it. */
function feeOf(amount: bigint, rate: FeeRate): bigint {
  return (amount * rate + WHOLE - 1n) / WHOLE;
}

const least = (a: bigint, b: bigint): bigint => (a < b ? a : b);
