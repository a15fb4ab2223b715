/**
 * The route that gives most for an exact input at one block: one pool, or two by way of a listed token. A swap is
 * never split over routes. Trusts the venue's answers, which leave out what is broken.
 */
import { VALUE_LIMIT, type Address } from "../../../shared/protocol/brands.ts";
import type { Market, Moment, Venue } from "./venue.ts";

export interface Wanted {
  readonly tokenIn: Address;
  readonly tokenOut: Address;
  /** Where a route of two pools may pass. */
  readonly middles: readonly Address[];
  readonly amountIn: bigint;
  /** What all pools of a route together may use. */
  readonly gasLimit: bigint;
}

export interface Route {
  readonly markets: readonly [Market] | readonly [Market, Market];
  readonly amountOut: bigint;
}

interface Leg {
  readonly market: Market;
  readonly amountOut: bigint;
  readonly gas: bigint;
}

/** Undefined when no route takes the whole amount. */
export async function bestRoute(venue: Venue, wanted: Wanted, moment: Moment): Promise<Route | undefined> {
  const { tokenIn, tokenOut, middles, amountIn, gasLimit } = wanted;

  async function bestLeg(from: Address, to: Address, amount: bigint, gas: bigint): Promise<Leg | undefined> {
    const legs = await Promise.all(
      (await venue.markets(from, to, moment)).map(async (market) => {
        const quote = await venue.quote(market, amount, gas, moment);
        return quote === undefined ? undefined : { market, ...quote };
      }),
    );
    return most(legs);
  }

  async function direct(): Promise<Route | undefined> {
    const leg = await bestLeg(tokenIn, tokenOut, amountIn, gasLimit);
    return leg === undefined ? undefined : { markets: [leg.market], amountOut: leg.amountOut };
  }

  /**
   * The pools of a route are different ones, so the second knows nothing of the first, and gives more for more:
   * the best first leg is part of the best route, and the tiers need not be tried in pairs.
   */
  async function through(middle: Address): Promise<Route | undefined> {
    const onwards = await venue.markets(middle, tokenOut, moment);
    if (onwards.length === 0) return undefined;
    const first = await bestLeg(tokenIn, middle, amountIn, gasLimit);
    if (first === undefined || first.amountOut === 0n) return undefined;
    const second = await bestLeg(middle, tokenOut, first.amountOut, gasLimit - first.gas);
    return second && { markets: [first.market, second.market], amountOut: second.amountOut };
  }

  // The direct one first: at the same output it is the cheaper one.
  const routes = await Promise.all([direct(), ...middles.map(through)]);
  return most(routes.filter((route) => route !== undefined && route.amountOut < VALUE_LIMIT));
}

/** The first of those with the largest output. */
function most<T extends { readonly amountOut: bigint }>(
  candidates: readonly (T | undefined)[],
): T | undefined {
  let best: T | undefined;
  for (const candidate of candidates) {
    if (candidate !== undefined && (best === undefined || candidate.amountOut > best.amountOut))
      best = candidate;
  }
  return best;
}
