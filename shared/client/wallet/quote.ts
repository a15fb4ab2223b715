/**
 * An order for a swap out of the service's quote. The quote is the service's word: tokens, amounts, path, fees and
 * floor are held against the request, the pins and each other. The price itself nobody can check here, and whoever
 * names a bad one could buy for it; the caller's `atLeast` is the answer to that.
 */
import { MAX_TOLERANCE_BPS, type SwapQuote } from "../../api/swaps.ts";
import { decodeUniswapPath, type TokenPath } from "../../api/uniswap-path.ts";
import { VALUE_LIMIT, ZERO_ADDRESS, type Address } from "../../protocol/brands.ts";
import { asAddress } from "../../protocol/host/text.ts";
import { feeOf } from "../../protocol/host/fees.ts";
import { requireAmount, type Core } from "../paying/core.ts";
import { ClientError } from "../base/errors.ts";
import type { WaitOptions } from "../service/feed.ts";
import { requireBelowCeiling } from "../statements/fees.ts";
import type { Pins } from "../base/pins.ts";
import type { SwapOrder } from "../paying/spending.ts";

export interface QuoteRequest extends Pick<SwapOrder, "tokenIn" | "tokenOut" | "amount"> {
  /** How far below the quoted output the floor may lie, in basis points, 0 to 5,000. */
  readonly toleranceBps: number;
  /** The least of `tokenOut` that this caller takes, from a price source of its own; a lower floor is PRICE_TOO_LOW. */
  readonly atLeast?: bigint;
}

/** An order as `wallet.swap` takes it, with what a user wants to see before agreeing. */
export interface SwapOffer extends SwapOrder {
  /** What the venue would have given at `blockNumber`. */
  readonly amountOut: bigint;
  /** Part of `amount`. */
  readonly fees: bigint;
  /** Who takes what of `fees`. */
  readonly feeParts: { readonly service: bigint; readonly developer: bigint };
  /** Of the pools' depth, their own fees not counted; the service's word. */
  readonly priceImpactBps: number;
  /** The hops of `path`, each with its pool's own fee, which `amountOut` has paid already. */
  readonly route: readonly {
    /** The service's word; which pool trades follows from tokens and fee. */
    readonly pool: string;
    readonly feeBps: number;
    readonly tokenIn: Address;
    readonly tokenOut: Address;
  }[];
  readonly blockNumber: number;
  /** When to ask again, by the service's clock. Not enforced: the floor protects, at any time. */
  readonly expiresAt: Date;
}

export async function quoteSwap(core: Core, request: QuoteRequest, options: WaitOptions): Promise<SwapOffer> {
  const { client, pins } = core.parts;
  const { amount, toleranceBps, atLeast } = request;
  requireAmount(amount);
  if (atLeast !== undefined) requireAmount(atLeast);
  if (!Number.isInteger(toleranceBps) || toleranceBps < 0 || toleranceBps > MAX_TOLERANCE_BPS)
    throw new ClientError("AMOUNT_INVALID", `a tolerance is 0 to ${MAX_TOLERANCE_BPS} basis points`);
  const asked = { ...request, tokenIn: core.asset(request.tokenIn), tokenOut: core.asset(request.tokenOut) };
  if (asked.tokenIn === asked.tokenOut) throw new ClientError("PATH_INVALID", "one token for itself");
  if (!(await core.isOffered("swaps", options))) throw new ClientError("FEATURE_OFF", "swaps");
  const quote = await client.quoteSwap(
    {
      token_in: asked.tokenIn,
      token_out: asked.tokenOut,
      shares_in: String(amount),
      tolerance_bps: toleranceBps,
    },
    { signal: options.signal },
  );
  const offer = checkQuote(asked, quote, pins);
  if (atLeast !== undefined && offer.floor < atLeast)
    throw new ClientError("PRICE_TOO_LOW", `${offer.floor} of at least ${atLeast}`);
  return offer;
}

/** Throws QUOTE_REFUSED or FEE_ABOVE_CEILING. */
function checkQuote(
  asked: QuoteRequest & { readonly tokenIn: Address; readonly tokenOut: Address },
  quote: SwapQuote,
  pins: Pins,
): SwapOffer {
  const { tokenIn, tokenOut, amount, toleranceBps } = asked;
  refuseUnless(asAddress(quote.token_in) === tokenIn, "another token_in");
  refuseUnless(asAddress(quote.token_out) === tokenOut, "another token_out");
  refuseUnless(BigInt(quote.shares_in) === amount, "another amount");
  const feeParts = checkFees(quote, tokenIn, amount, pins);

  const amountOut = BigInt(quote.amount_out);
  const floor = (amountOut * BigInt(10_000 - toleranceBps)) / 10_000n;
  refuseUnless(amountOut < VALUE_LIMIT, "no note holds such an amount");
  refuseUnless(BigInt(quote.floor) === floor, "the floor does not follow from amount and tolerance");
  refuseUnless(floor > 0n, "a floor of zero protects nobody");
  return {
    ...{ tokenIn, tokenOut, amount, floor, path: quote.path, amountOut },
    ...{ fees: feeParts.service + feeParts.developer, feeParts },
    priceImpactBps: quote.price_impact_bps,
    route: checkRoute(quote, tokenIn, tokenOut),
    blockNumber: quote.block_number,
    expiresAt: new Date(quote.expires_at),
  };
}

/** Each amount must follow from its rule; what may be charged at all is the pins' affair. */
function checkFees({ fees }: SwapQuote, asset: Address, amount: bigint, pins: Pins): SwapOffer["feeParts"] {
  const { service, developer } = fees;
  refuseUnless(asAddress(fees.asset) === asset, "fees in another token");
  const [serviceFee, developerFee] = [BigInt(service.amount), BigInt(developer.amount)];
  // The service's part may hold a flat amount, which a quote does not show by itself.
  refuseUnless(
    serviceFee >= feeOf({ flat: 0n, bps: service.bps }, amount),
    "the service fee is not its rate",
  );
  refuseUnless(
    developerFee === feeOf({ flat: BigInt(developer.flat), bps: developer.bps }, amount),
    "the developer fee is not its rule",
  );
  const total = serviceFee + developerFee;
  requireBelowCeiling(total, { asset, operation: "swap", amount }, pins);
  refuseUnless(total < amount, "the fees take all of it");
  return { service: serviceFee, developer: developerFee };
}

/** What a user is shown must be the path that is signed. */
function checkRoute({ path, route }: SwapQuote, tokenIn: Address, tokenOut: Address): SwapOffer["route"] {
  const decoded = decodeUniswapPath(path);
  if (typeof decoded === "string") throw new ClientError("QUOTE_REFUSED", decoded);
  refuseUnless(decoded.tokenIn === tokenIn && decoded.tokenOut === tokenOut, "a path with other ends");
  const hops = hopsOf(decoded);
  refuseUnless(hops.length === route.length, "a route that is not the path");
  return hops.map((hop, index) => {
    const shown = route[index];
    const isSame =
      shown !== undefined &&
      asAddress(shown.token_in) === hop.tokenIn &&
      asAddress(shown.token_out) === hop.tokenOut &&
      shown.fee_bps * 100 === hop.tier;
    if (!isSame) throw new ClientError("QUOTE_REFUSED", "a route that is not the path");
    return { pool: shown.pool, feeBps: shown.fee_bps, tokenIn: hop.tokenIn, tokenOut: hop.tokenOut };
  });
}

function hopsOf({
  tokenIn,
  path: { feeFirst, middle, feeSecond },
  tokenOut,
}: TokenPath): { tokenIn: Address; tokenOut: Address; tier: number }[] {
  if (middle === ZERO_ADDRESS) return [{ tokenIn, tokenOut, tier: feeFirst }];
  return [
    { tokenIn, tokenOut: middle, tier: feeFirst },
    { tokenIn: middle, tokenOut, tier: feeSecond },
  ];
}

function refuseUnless(isGood: boolean, why: string): void {
  if (!isGood) throw new ClientError("QUOTE_REFUSED", why);
}
