/**
 * How a burn is asked for: fast while the attester's fee for it fits under the ceiling of the address, else the slow way,
 * which costs nothing but what the bridge's contract takes. The table is the attester's word; the ceiling in the address is
 * what bounds it.
 */
import type { BurnTerms, FeeRate, FeeTable } from "./steps.ts";

/** Of CCTP v2. */
export const FAST = 1_000;
export const SAFE = 2_000;

/** Millionths of a basis point in the whole. */
const WHOLE = 10_000n * 1_000_000n;

/** `asking`: wait for it. Undefined while no way fits under the ceiling. An attester that is away asks for nothing: then the slow way is right. */
export function burnTerms(
  amount: bigint,
  ceiling: bigint,
  table: FeeTable | "asking" | undefined,
  /** What the contract takes, whichever way. Undefined: nobody tells. */
  contractFee: bigint | "asking" | undefined,
): BurnTerms | "asking" | undefined {
  if (table === "asking" || contractFee === "asking") return "asking";
  const feeAt = (rate: FeeRate): bigint => most(feeOf(amount, rate), contractFee ?? 0n);
  const fast = table?.get(FAST);
  if (fast !== undefined && feeAt(fast) <= ceiling) {
    const fee = feeAt(fast);
    // A tenth more, so that a fee that rises meanwhile does not make it a slow one.
    return { maxFee: least(ceiling, fee + fee / 10n), finality: FAST };
  }
  const safe = feeAt(table?.get(SAFE) ?? 0n);
  return safe <= ceiling ? { maxFee: safe, finality: SAFE } : undefined;
}

/** Rounded up: one unit less, and the attester would not do it. */
function feeOf(amount: bigint, rate: FeeRate): bigint {
  return (amount * rate + WHOLE - 1n) / WHOLE;
}

const most = (a: bigint, b: bigint): bigint => (a > b ? a : b);
const least = (a: bigint, b: bigint): bigint => (a < b ? a : b);
