// The rules of a quote, with a venue that is made up: fees, floors, refusals, and a node that fails.
import assert from "node:assert/strict";
import { ChainUnreachable } from "../../../../../proxy/base/chain/json-rpc.ts";
import type { Header } from "../../../../../proxy/base/chain/provider.ts";
import type { Market, Venue } from "../../../../../proxy/api/swap/venue.ts";
import { ApiError } from "../../../../../proxy/base/http/errors.ts";
import { SwapQuotes, type SwapQuoteParts } from "../../../../../proxy/api/swap/swap.service.ts";
import { swapQuote, type SwapQuote } from "../../../../../shared/api/swaps.ts";
import type { Address, Bytes32 } from "../../../../../shared/protocol/brands.ts";
import { asAddress } from "../../../../../shared/protocol/host/text.ts";

const token = (digit: string): Address => asAddress(`0x${digit.repeat(40)}`) as Address;
const [A, B, C, FOREIGN, POOL] = ["1", "2", "3", "4", "5"].map(token) as [
  Address,
  Address,
  Address,
  Address,
  Address,
];
const NOW = Date.UTC(2026, 0, 1);
const Q96 = 1n << 96n;
const hash = (byte: string): Bytes32 => `0x${byte.repeat(32)}` as Bytes32;
const header = (number: number, block = hash("aa")): Header => ({
  ...{ number, hash: block, parentHash: hash("00"), timestamp: 0, baseFee: 0n },
});

/** One pool from A to B that gives exactly half, and one each over C that gives all. */
function venueOf(pairs: readonly [Address, Address][] = [[A, B]]): Venue & { asked: number; looked: number } {
  const venue = {
    asked: 0,
    looked: 0,
    markets: async (tokenIn: Address, tokenOut: Address): Promise<Market[]> => {
      venue.looked++;
      const isThere = pairs.some(([from, to]) => from === tokenIn && to === tokenOut);
      const market = { pool: POOL, tier: 500, tokenIn, tokenOut, sqrtPriceX96: Q96, stock: 1n << 127n };
      return isThere ? [market] : [];
    },
    quote: async ({ tokenIn, tokenOut }: Market, amountIn: bigint) => {
      venue.asked++;
      return { amountOut: tokenIn === A && tokenOut === B ? amountIn / 2n : amountIn, gas: 100_000n };
    },
  };
  return venue;
}

function quotes(change: Partial<SwapQuoteParts> = {}, deadlineMs?: number) {
  const parts: SwapQuoteParts = {
    chain: { header: async () => header(7) },
    pool: {
      isAsset: async () => true,
      executor: async () => POOL,
      memberGas: async () => 1_000_000n,
    },
    venue: venueOf(),
    assets: [A, B, C].map((address) => ({ address, symbol: "T", decimals: 6 })),
    minimums: [],
    fees: { rulesFor: async () => ({ service: { flat: 0n, bps: 15 }, developer: { flat: 7n, bps: 1 } }) },
    now: () => NOW,
    ...change,
  };
  const service = new SwapQuotes(parts, deadlineMs);
  return (request: Partial<Parameters<typeof service.quote>[0]> = {}): Promise<SwapQuote> =>
    service.quote(
      { token_in: A, token_out: B, shares_in: "1000003", tolerance_bps: 100, ...request },
      "developer",
    );
}

const refused = (code: string, path?: string) => (error: unknown) => {
  assert.ok(error instanceof ApiError, String(error));
  assert.deepEqual([error.code, error.fields?.[0]?.path], [code, path]);
  return true;
};

describe("swap service", () => {
  it("takes the fees out of the gross amount first, each rounded down, and the floor from the output, rounded down", async () => {
    const quote = await quotes()();
    swapQuote.parse(quote);
    // 1500 of 1500.0045, 7 + 100 of 100.0003: 998,396 go to the venue.
    assert.deepEqual(quote.fees, {
      service: { bps: 15, amount: "1500" },
      developer: { flat: "7", bps: 1, amount: "107" },
      asset: quote.token_in,
    });
    assert.deepEqual([quote.shares_in, quote.amount_out, quote.floor], ["1000003", "499198", "494206"]);
    assert.deepEqual([quote.block_number, quote.expires_at], [7, "2026-01-01T00:00:30.000Z"]);
    assert.match(quote.quote_id, /^[0-9a-f]{8}-[0-9a-f]{4}-7/);
    assert.deepEqual(
      quote.route.map(({ fee_bps, token_in, token_out }) => [fee_bps, token_in, token_out]),
      [[5, A, B]],
    );
    assert.equal(quote.path, `${A}0001f4${B.slice(2)}`);
    // Half is far from a mid price of one.
    assert.equal(quote.price_impact_bps, 4_998);
  });

  for (const [tolerance_bps, floor] of [
    [0, "499198"],
    [1, "499148"],
    [5_000, "249599"],
  ] as const) {
    it(`a tolerance of ${tolerance_bps} makes the floor ${floor}`, async () => {
      assert.equal((await quotes()({ tolerance_bps })).floor, floor);
    });
  }

  it("asks nothing where no rule is in force", async () => {
    const none = async () => ({ service: undefined, developer: undefined });
    const quote = await quotes({ fees: { rulesFor: none } })();
    assert.deepEqual([quote.fees.service.amount, quote.fees.developer.amount], ["0", "0"]);
    assert.equal(quote.amount_out, "500001");
  });

  it("goes by two pools where that gives more, through listed tokens that the pool takes now", async () => {
    const venue = venueOf([
      [A, B],
      [A, C],
      [C, B],
    ]);
    const quote = await quotes({ venue })();
    assert.equal(quote.amount_out, "998396");
    assert.equal(quote.path, `${A}0001f4${C.slice(2)}0001f4${B.slice(2)}`);
    assert.deepEqual(
      quote.route.map(({ token_in, token_out }) => [token_in, token_out]),
      [
        [A, C],
        [C, B],
      ],
    );
    const pool = {
      isAsset: async (asset: Address) => asset !== C,
      executor: async () => POOL,
      memberGas: async () => 1_000_000n,
    };
    assert.equal((await quotes({ venue, pool })()).route.length, 1);
  });

  it("names the field of a token that is not listed, or twice the same, and of a zero amount", async () => {
    await assert.rejects(quotes()({ token_in: FOREIGN }), refused("INVALID_REQUEST", "token_in"));
    await assert.rejects(quotes()({ token_out: FOREIGN }), refused("INVALID_REQUEST", "token_out"));
    await assert.rejects(quotes()({ token_out: A }), refused("INVALID_REQUEST", "token_out"));
    await assert.rejects(quotes()({ shares_in: "0" }), refused("INVALID_REQUEST", "shares_in"));
  });

  it("refuses what the fees would take whole, what is below the minimum, and what buys nothing", async () => {
    await assert.rejects(quotes()({ shares_in: "7" }), refused("AMOUNT_TOO_SMALL", "shares_in"));
    await assert.rejects(quotes()({ shares_in: "8" }), refused("AMOUNT_TOO_SMALL", "shares_in"));
    assert.equal((await quotes()({ shares_in: "11" })).floor, "1");
    const minimums = [{ asset: A, operation: "swap", minimum: 998_397n }] as const;
    await assert.rejects(quotes({ minimums })(), refused("AMOUNT_TOO_SMALL", "shares_in"));
    assert.equal((await quotes({ minimums })({ shares_in: "1000004" })).amount_out, "499198");
  });

  it("says that the pool does not take the wanted token, or has no venue, before it asks the venue", async () => {
    const venue = venueOf();
    const pool = { isAsset: async () => false, executor: async () => POOL, memberGas: async () => 1n };
    await assert.rejects(quotes({ venue, pool })(), refused("ASSET_UNSUPPORTED", "token_out"));
    const closed = { ...pool, isAsset: async () => true, executor: async () => undefined };
    await assert.rejects(quotes({ venue, pool: closed })(), refused("ROUTE_UNAVAILABLE"));
    assert.equal(venue.looked, 0);
  });

  it("says when to try again where there is no route", async () => {
    await assert.rejects(quotes({ venue: venueOf([]) })(), (error) => {
      assert.ok(error instanceof ApiError);
      assert.deepEqual([error.code, error.retryAfterSecs], ["ROUTE_UNAVAILABLE", 10]);
      return true;
    });
  });

  it("passes on that a price is missing, without asking the chain", async () => {
    const rulesFor = async () => Promise.reject(new ApiError("PRICE_UNAVAILABLE", "no price"));
    const header = async () => assert.fail("the chain was asked");
    await assert.rejects(quotes({ fees: { rulesFor }, chain: { header } })(), refused("PRICE_UNAVAILABLE"));
  });

  it("asks the venue once for one amount in one block, and again in the next", async () => {
    const venue = venueOf();
    let block = hash("aa");
    const ask = quotes({ venue, chain: { header: async () => header(7, block) } });
    const [one, two] = await Promise.all([ask(), ask({ tolerance_bps: 5 })]);
    assert.notEqual(one.quote_id, two.quote_id);
    assert.equal(one.amount_out, two.amount_out);
    assert.deepEqual([venue.asked, venue.looked], [1, 2]);
    await ask({ shares_in: "2000000" });
    assert.deepEqual([venue.asked, venue.looked], [2, 2]);
    // The same height on another branch.
    block = hash("bb");
    await ask();
    assert.deepEqual([venue.asked, venue.looked], [3, 4]);
  });

  it("a node that is unreachable, has no block, or does not answer in time is CHAIN_UNAVAILABLE, and the next try is new", async () => {
    let isUnreachable = true;
    const ask = quotes({
      chain: {
        header: async () => {
          if (isUnreachable) throw new ChainUnreachable("unreachable");
          return header(7);
        },
      },
    });
    await assert.rejects(ask(), refused("CHAIN_UNAVAILABLE"));
    isUnreachable = false;
    assert.equal((await ask()).block_number, 7);
    await assert.rejects(
      quotes({ chain: { header: async () => undefined } })(),
      refused("CHAIN_UNAVAILABLE"),
    );
    const silent = { header: () => new Promise<never>(() => undefined) };
    await assert.rejects(quotes({ chain: silent }, 5)(), refused("CHAIN_UNAVAILABLE"));
  });

  it("a failure while the pools are asked is not remembered", async () => {
    const venue = venueOf();
    let isUnreachable = true;
    const failing: Venue = {
      markets: venue.markets,
      quote: async (...question) => {
        if (isUnreachable) throw new ChainUnreachable("unreachable");
        return venue.quote(...question);
      },
    };
    const ask = quotes({ venue: failing });
    await assert.rejects(ask(), refused("CHAIN_UNAVAILABLE"));
    isUnreachable = false;
    assert.equal((await ask()).amount_out, "499198");
  });
});
