/**
 * Quotes: what a private swap would bring now, along which route, and what it costs. A quote moves and reserves
 * nothing, and none is kept; whoever executes it is protected by the floor in its own statement, not by this
 * answer. Trusts the configured venue; listed tokens only.
 */
import { v7 as uuid } from "uuid";
import { checksumAddress } from "../../../shared/api/checksum.ts";
import type { SwapQuote, SwapQuoteRequest } from "../../../shared/api/swaps.ts";
import { encodeUniswapPath } from "../../../shared/api/uniswap-path.ts";
import { ZERO_ADDRESS, type Address } from "../../../shared/protocol/brands.ts";
import { asAddress } from "../../../shared/protocol/host/text.ts";
import { feeOf, type FeeRule } from "../../../shared/protocol/host/fees.ts";
import type { Pool } from "../../base/chain/pool.ts";
import { ChainUnreachable } from "../../base/chain/json-rpc.ts";
import type { Chain, Header } from "../../base/chain/provider.ts";
import { orUnavailable } from "../../base/chain/unavailable.ts";
import type { Moment, Venue } from "./venue.ts";
import type { Asset, Minimum } from "../../base/instance-config.ts";
import { ApiError } from "../../base/http/errors.ts";
import { invalidField } from "../../base/http/parse.ts";
import { bestRoute, type Route } from "./best-route.ts";
import { priceImpactBps } from "./price-impact.ts";
import { BlockCache } from "../../base/chain/block-cache.ts";

export interface SwapQuoteParts {
  readonly chain: Pick<Chain, "header">;
  readonly pool: Pick<Pool, "isAsset" | "executor" | "memberGas">;
  readonly venue: Venue;
  /** What this instance lists. */
  readonly assets: readonly Asset[];
  readonly minimums: readonly Minimum[];
  readonly fees: {
    rulesFor(
      developerId: string,
      asset: Address,
      operation: "swap",
    ): Promise<{ readonly service: FeeRule | undefined; readonly developer: FeeRule | undefined }>;
  };
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

/** Two blocks and a proof on a slow phone; after that the market is another one, and the floor still holds. */
const VALID_MS = 30_000;
/** All of a quote's questions together. */
const DEADLINE_MS = 5_000;
const ROUTE_RETRY_SECS = 10;
const EXECUTOR_RETRY_SECS = 60;
/** Markets and routes of the newest blocks, a few hundred bytes each. */
const REMEMBERED = 1_024;
/**
 * Of a swap's gas, what the pool itself needs for notes, hashes and two transfers, with room for tokens behind
 * proxies (`npm run gas`: a swap alone is 372,000 in all, some 100,000 of it the venue's). The venue gets the rest.
 */
const POOL_GAS = 400_000n;

export class SwapQuotes {
  readonly #parts: SwapQuoteParts;
  readonly #deadlineMs: number;
  readonly #remembered = new BlockCache(REMEMBERED);

  constructor(parts: SwapQuoteParts, deadlineMs = DEADLINE_MS) {
    this.#parts = parts;
    this.#deadlineMs = deadlineMs;
  }

  async quote(request: SwapQuoteRequest, developerId: string): Promise<SwapQuote> {
    const tokenIn = this.#listed(request.token_in, "token_in");
    const tokenOut = this.#listed(request.token_out, "token_out");
    if (tokenIn === tokenOut) throw invalidField("token_out", "is the same asset as token_in");
    const sharesIn = BigInt(request.shares_in);
    if (sharesIn === 0n) throw invalidField("shares_in", "is zero");

    const { service = NO_FEE, developer = NO_FEE } = await this.#parts.fees.rulesFor(
      developerId,
      tokenIn,
      "swap",
    );
    const [serviceFee, developerFee] = [feeOf(service, sharesIn), feeOf(developer, sharesIn)];
    const amountIn = sharesIn - serviceFee - developerFee;
    requireEnough(
      amountIn,
      this.#parts.minimums.find(({ asset, operation }) => asset === tokenIn && operation === "swap"),
    );

    const trade = { tokenIn, tokenOut, amountIn };
    const { head, route } = await orUnavailable(
      within(this.#deadlineMs, (signal) => this.#find(trade, signal)),
    );
    if (route === undefined) throw noRoute("no route takes this amount at the moment", ROUTE_RETRY_SECS);
    const { markets, amountOut } = route;
    const floor = (amountOut * BigInt(10_000 - request.tolerance_bps)) / 10_000n;
    if (floor === 0n) throw tooSmall("brings less than one unit of token_out");

    return {
      quote_id: uuid(),
      token_in: checksumAddress(tokenIn),
      token_out: checksumAddress(tokenOut),
      shares_in: String(sharesIn),
      amount_out: String(amountOut),
      floor: String(floor),
      price_impact_bps: priceImpactBps(markets, amountIn, amountOut),
      route: markets.map((market) => ({
        pool: checksumAddress(market.pool),
        fee_bps: market.tier / 100,
        token_in: checksumAddress(market.tokenIn),
        token_out: checksumAddress(market.tokenOut),
      })),
      path: pathOf(route),
      fees: {
        service: { bps: service.bps, amount: String(serviceFee) },
        developer: { flat: String(developer.flat), bps: developer.bps, amount: String(developerFee) },
        asset: checksumAddress(tokenIn),
      },
      block_number: head.number,
      expires_at: new Date(this.#parts.now() + VALID_MS).toISOString(),
    };
  }

  #listed(text: string, path: string): Address {
    const address = asAddress(text);
    if (address !== undefined && this.#parts.assets.some((asset) => asset.address === address))
      return address;
    throw invalidField(path, "is no asset of this instance; see `assets` in GET /info");
  }

  /** What the pool would refuse at once: it takes no such asset now, or has no venue. */
  async #requireTradable(tokenOut: Address, block: string): Promise<void> {
    const isTaken = await this.#remembered.get(`asset ${block} ${tokenOut}`, () =>
      this.#parts.pool.isAsset(tokenOut),
    );
    if (!isTaken) {
      throw new ApiError("ASSET_UNSUPPORTED", "the pool does not take the asset now", {
        fields: [{ path: "token_out", message: "is not taken by the pool now" }],
      });
    }
    if ((await this.#remembered.get(`executor ${block}`, () => this.#parts.pool.executor())) === undefined) {
      throw noRoute("the pool has no venue at the moment", EXECUTOR_RETRY_SECS);
    }
  }

  async #middlesOf(tokenIn: Address, tokenOut: Address, block: string): Promise<Address[]> {
    const others = this.#parts.assets
      .map(({ address }) => address)
      .filter((asset) => asset !== tokenIn && asset !== tokenOut);
    const taken = await Promise.all(
      others.map((asset) =>
        this.#remembered.get(`asset ${block} ${asset}`, () => this.#parts.pool.isAsset(asset)),
      ),
    );
    return others.filter((_, index) => taken[index]);
  }

  async #search({ tokenIn, tokenOut, amountIn }: Trade, moment: Moment): Promise<Route | undefined> {
    const { block } = moment;
    const [middles, share] = await Promise.all([
      this.#middlesOf(tokenIn, tokenOut, block),
      this.#parts.pool.memberGas("private-swap"),
    ]);
    const { venue } = this.#parts;
    const shared: Venue = {
      quote: (...question) => venue.quote(...question),
      markets: (from, to) =>
        this.#remembered.get(`markets ${block} ${from} ${to}`, () => venue.markets(from, to, moment)),
    };
    return bestRoute(shared, { tokenIn, tokenOut, middles, amountIn, gasLimit: share - POOL_GAS }, moment);
  }

  async #find(trade: Trade, signal: AbortSignal): Promise<{ head: Header; route: Route | undefined }> {
    const head = await this.#parts.chain.header("latest");
    if (head === undefined) throw new ChainUnreachable("the node has no latest block");
    const { hash: block } = head;
    const { tokenIn, tokenOut, amountIn } = trade;
    await this.#requireTradable(tokenOut, block);
    const route = await this.#remembered.get(`route ${block} ${tokenIn} ${tokenOut} ${amountIn}`, () =>
      this.#search(trade, { block, signal }),
    );
    return { head, route };
  }
}

interface Trade {
  readonly tokenIn: Address;
  readonly tokenOut: Address;
  /** What goes to the venue. */
  readonly amountIn: bigint;
}

const NO_FEE: FeeRule = { flat: 0n, bps: 0 };

/** The fees may take all of a small amount; the operator's minimum is of what is left. */
function requireEnough(amountIn: bigint, least: Minimum | undefined): void {
  if (amountIn <= 0n) throw tooSmall("is not more than the fees");
  if (least !== undefined && amountIn < least.minimum)
    throw tooSmall(`less its fees must be at least ${least.minimum}`);
}

function pathOf({ markets: [first, second] }: Route): string {
  return encodeUniswapPath({
    tokenIn: first.tokenIn,
    path: {
      feeFirst: first.tier,
      middle: second === undefined ? ZERO_ADDRESS : second.tokenIn,
      feeSecond: second?.tier ?? 0,
    },
    tokenOut: (second ?? first).tokenOut,
  });
}

/** A node that hangs must not hold callers; what stands in line by then is never asked. */
async function within<T>(ms: number, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const signal = AbortSignal.timeout(ms);
  const late = new Promise<never>((_, reject) => {
    signal.addEventListener("abort", () => reject(new ChainUnreachable("the node did not answer in time")));
  });
  return Promise.race([work(signal), late]);
}

function noRoute(detail: string, retryAfterSecs: number): ApiError {
  return new ApiError("ROUTE_UNAVAILABLE", detail, { retryAfterSecs });
}

function tooSmall(message: string): ApiError {
  return new ApiError("AMOUNT_TOO_SMALL", `shares_in ${message}`, {
    fields: [{ path: "shares_in", message }],
  });
}
