// Which way a swap goes on the local chain: every path over listed tokens, one or two pools, asked of Uniswap's
// own quoter. DEVELOPMENT ONLY; in production the service quotes, and a wallet may ask a quoter of its own.
import type { JsonRpcProvider } from "ethers";
import { encodeUniswapPath } from "../../../shared/api/uniswap-path.ts";
import { ZERO_ADDRESS, type Address } from "../../../shared/protocol/brands.ts";
import { FEE_TIERS, type SwapPath } from "../../../shared/protocol/statements.ts";
import { quoteExactInput } from "../uniswap.ts";

export interface Route {
  /** Packed, in hex. */
  readonly path: string;
  readonly amountOut: bigint;
}

export interface Wish {
  readonly tokenIn: Address;
  readonly tokenOut: Address;
  /** What goes to the venue. */
  readonly amountIn: bigint;
  /** Tokens that a path may go through. */
  readonly listed: readonly Address[];
}

/** The one that pays most; undefined when there is none. */
export async function bestRoute(
  chain: JsonRpcProvider,
  quoter: Address,
  { tokenIn, tokenOut, amountIn, listed }: Wish,
): Promise<Route | undefined> {
  const middles = listed.filter((token) => token !== tokenIn && token !== tokenOut);
  const ways = FEE_TIERS.flatMap((feeFirst): SwapPath[] => [
    { feeFirst, middle: ZERO_ADDRESS, feeSecond: 0 },
    ...middles.flatMap((middle) => FEE_TIERS.map((feeSecond) => ({ feeFirst, middle, feeSecond }))),
  ]);
  const quotes = await Promise.all(
    ways.map(async (way): Promise<Route | undefined> => {
      const path = encodeUniswapPath({ tokenIn, path: way, tokenOut });
      try {
        return { path, amountOut: await quoteExactInput(chain, quoter, path, amountIn) };
      } catch {
        // The quoter reverts where a pool is missing.
        return undefined;
      }
    }),
  );
  return quotes.reduce(
    (best, quote) => (quote !== undefined && quote.amountOut > (best?.amountOut ?? 0n) ? quote : best),
    undefined,
  );
}
