/** How far an output lies below the mid prices of its route, in whole numbers of any length: no float comes near money. */
import type { Market } from "./venue.ts";

const TIER_UNIT = 1_000_000n;
const Q192 = 1n << 192n;

/**
 * In basis points, rounded up, so that zero means none. Against the prices before the swap, less the pools' own
 * fees, which a quote shows by themselves: what is left is the depth of the pools, and the smallest units that
 * each hop rounds down.
 */
export function priceImpactBps(route: readonly Market[], amountIn: bigint, amountOut: bigint): number {
  let numerator = amountIn;
  let denominator = 1n;
  for (const { tier, tokenIn, tokenOut, sqrtPriceX96 } of route) {
    const square = sqrtPriceX96 * sqrtPriceX96;
    // The price is of token0, the lower address, in token1.
    const [per, of] = BigInt(tokenIn) < BigInt(tokenOut) ? [square, Q192] : [Q192, square];
    numerator *= (TIER_UNIT - BigInt(tier)) * per;
    denominator *= TIER_UNIT * of;
  }
  const lost = numerator - amountOut * denominator;
  if (numerator === 0n || lost <= 0n) return 0;
  return Number((lost * 10_000n + numerator - 1n) / numerator);
}
