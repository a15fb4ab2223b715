// The search over made-up pools: the best of every route there is, found without trying all of them.
import assert from "node:assert/strict";
import fc from "fast-check";
import { ChainUnreachable } from "../../../../../proxy/base/chain/json-rpc.ts";
import type { HopQuote, Market, Moment, Venue } from "../../../../../proxy/api/swap/venue.ts";
import { bestRoute, type Route } from "../../../../../proxy/api/swap/best-route.ts";
import type { Address, Bytes32 } from "../../../../../shared/protocol/brands.ts";
import { asAddress } from "../../../../../shared/protocol/host/text.ts";
import { FEE_TIERS } from "../../../../../shared/protocol/statements.ts";

const token = (digit: string): Address => asAddress(`0x${digit.repeat(40)}`) as Address;
const [IN, OUT, M1, M2, FOREIGN] = ["1", "2", "3", "4", "5"].map(token) as [
  Address,
  Address,
  Address,
  Address,
  Address,
];
const moment: Moment = { block: `0x${"00".repeat(32)}` as Bytes32, signal: new AbortController().signal };
const GAS = 600_000n;

/** A pool with reserves, as simple as a pool can be: gives more for more, and never all. */
interface Made {
  readonly from: Address;
  readonly to: Address;
  readonly tier: number;
  readonly reserveIn: bigint;
  readonly reserveOut: bigint;
  readonly gas: bigint;
  /** Takes no more than this. */
  readonly most: bigint;
}

function made(from: Address, to: Address, tier: number, change: Partial<Made> = {}): Made {
  const pool = { from, to, tier, reserveIn: 1_000_000n, reserveOut: 1_000_000n, gas: 100_000n };
  return { ...pool, most: 1n << 128n, ...change };
}

function outOf({ tier, reserveIn, reserveOut, most }: Made, amountIn: bigint): bigint | undefined {
  const paid = (amountIn * BigInt(1_000_000 - tier)) / 1_000_000n;
  return amountIn > most ? undefined : (reserveOut * paid) / (reserveIn + paid);
}

function venueOf(pools: readonly Made[], asked: string[] = []): Venue {
  return {
    markets: async (tokenIn, tokenOut) =>
      pools
        .filter(({ from, to }) => from === tokenIn && to === tokenOut)
        .map(({ tier }): Market => ({ pool: IN, tier, tokenIn, tokenOut, sqrtPriceX96: 1n, stock: 1n })),
    quote: async (market, amountIn, gasLimit): Promise<HopQuote | undefined> => {
      asked.push(`${market.tokenIn} ${market.tokenOut} ${String(market.tier)}`);
      const pool = pools.find(
        ({ from, to, tier }) => from === market.tokenIn && to === market.tokenOut && tier === market.tier,
      );
      const amountOut = pool && outOf(pool, amountIn);
      if (pool === undefined || amountOut === undefined || pool.gas > gasLimit) return undefined;
      return { amountOut, gas: pool.gas };
    },
  };
}

const find = (pools: readonly Made[], amountIn = 1_000n, gasLimit = GAS): Promise<Route | undefined> =>
  bestRoute(venueOf(pools), { tokenIn: IN, tokenOut: OUT, middles: [M1, M2], amountIn, gasLimit }, moment);
const shape = (route: Route | undefined): unknown =>
  route?.markets.map(({ tokenIn, tier, tokenOut }) => [tokenIn, tier, tokenOut]);

describe("swap/best-route", () => {
  it("has none without pools, and none through a token that is not named", async () => {
    assert.equal(await find([]), undefined);
    assert.equal(await find([made(IN, FOREIGN, 500), made(FOREIGN, OUT, 500)]), undefined);
    assert.equal(await find([made(IN, M1, 500)]), undefined);
    assert.equal(await find([made(M1, OUT, 500)]), undefined);
  });

  it("takes the tier that gives most, not the cheapest", async () => {
    const thin = made(IN, OUT, 100, { reserveIn: 100n, reserveOut: 100n });
    assert.deepEqual(shape(await find([thin, made(IN, OUT, 10_000)])), [[IN, 10_000, OUT]]);
    assert.deepEqual(shape(await find([made(IN, OUT, 10_000), made(IN, OUT, 100)])), [[IN, 100, OUT]]);
  });

  it("goes through the better token when that gives more, and directly when it gives the same", async () => {
    const rich = { reserveOut: 3_000_000n };
    const pools = [made(IN, OUT, 500), made(IN, M1, 500), made(M1, OUT, 500), made(IN, M2, 500)];
    assert.deepEqual(shape(await find([...pools, made(M2, OUT, 3_000, rich)])), [
      [IN, 500, M2],
      [M2, 3_000, OUT],
    ]);
    const free = { tier: 0 };
    const equal = [
      made(IN, OUT, 100, { reserveOut: 998_003n }),
      made(IN, M1, 500, free),
      made(M1, OUT, 500, free),
    ];
    const route = await find(equal, 1n);
    assert.equal(route?.amountOut, 0n);
    assert.deepEqual(shape(route), [[IN, 100, OUT]]);
  });

  it("leaves out a pool that cannot take the amount, and what needs too much gas together", async () => {
    const small = made(IN, OUT, 100, { most: 999n });
    assert.deepEqual(shape(await find([small, made(IN, OUT, 10_000)])), [[IN, 10_000, OUT]]);
    assert.equal(await find([small]), undefined);
    const legs = [made(IN, M1, 500, { gas: 400_000n }), made(M1, OUT, 500, { gas: 200_001n })];
    assert.equal(await find(legs), undefined);
    assert.equal((await find(legs, 1_000n, GAS + 1n))?.markets.length, 2);
  });

  it("leaves out an output that no note can hold", async () => {
    const wide = { reserveIn: 1n, reserveOut: 1n << 140n };
    assert.equal(await find([made(IN, OUT, 100, wide)]), undefined);
    assert.deepEqual(shape(await find([made(IN, OUT, 100, wide), made(IN, M1, 500), made(M1, OUT, 500)])), [
      [IN, 500, M1],
      [M1, 500, OUT],
    ]);
  });

  it("does not call a route missing when the node is unreachable", async () => {
    const venue = venueOf([made(IN, OUT, 100), made(IN, OUT, 500)]);
    const failing: Venue = {
      ...venue,
      quote: async (market, ...rest) => {
        if (market.tier === 500) throw new ChainUnreachable("unreachable");
        return venue.quote(market, ...rest);
      },
    };
    const wanted = { tokenIn: IN, tokenOut: OUT, middles: [], amountIn: 1_000n, gasLimit: GAS };
    await assert.rejects(bestRoute(failing, wanted, moment), ChainUnreachable);
  });

  it("finds the best of all routes, and asks each pool at most once", async () => {
    const reserve = fc.bigInt({ min: 1_000n, max: 10n ** 12n });
    const pair = fc.constantFrom([IN, OUT], [IN, M1], [M1, OUT], [IN, M2], [M2, OUT] as const);
    const pool = fc
      .tuple(pair, fc.constantFrom(...FEE_TIERS), reserve, reserve)
      .map(([[from, to], tier, reserveIn, reserveOut]) => made(from, to, tier, { reserveIn, reserveOut }));
    const pools = fc.uniqueArray(pool, { selector: ({ from, to, tier }) => `${from}${to}${String(tier)}` });
    await fc.assert(
      fc.asyncProperty(pools, fc.bigInt({ min: 1n, max: 10n ** 9n }), async (some, amountIn) => {
        const asked: string[] = [];
        const wanted = { tokenIn: IN, tokenOut: OUT, middles: [M1, M2], amountIn, gasLimit: GAS };
        const route = await bestRoute(venueOf(some, asked), wanted, moment);
        const onto = (from: Address, to: Address, amount: bigint): bigint[] =>
          some.filter((one) => one.from === from && one.to === to).map((one) => outOf(one, amount)!);
        const all = [
          ...onto(IN, OUT, amountIn),
          ...[M1, M2].flatMap((middle) =>
            onto(IN, middle, amountIn)
              .filter((between) => between > 0n)
              .flatMap((between) => onto(middle, OUT, between)),
          ),
        ];
        const best = all.length === 0 ? undefined : all.reduce((a, b) => (a > b ? a : b));
        assert.equal(route?.amountOut, best);
        assert.equal(new Set(asked).size, asked.length);
      }),
    );
  });
});
