// POST /swap/quote over real Uniswap v3: every tier, one pool and two, what is executed against what was quoted,
// and markets that are thin, empty, moved or hostile.
import assert from "node:assert/strict";
import { createChain } from "../../../proxy/base/chain/provider.ts";
import { requireSameVenue } from "../../../proxy/api/check-chain.ts";
import { createLogger } from "../../../proxy/base/logging.ts";
import { swapRoutes } from "../../../proxy/api/swap/swap.routes.ts";
import { swapQuote, type SwapQuote } from "../../../shared/api/swaps.ts";
import { checksumAddress } from "../../../shared/api/checksum.ts";
import type { Address } from "../../../shared/protocol/brands.ts";
import { FEE_TIERS } from "../../../shared/protocol/statements.ts";
import { SwapStage } from "../../support/swap-stage.ts";
import { startEdge, type Answer, type Edge } from "../../support/edge.ts";

const UNIT = 1_000_000n;
const DEEP = 1_000_000n * UNIT;
const AMOUNT = 1_000n * UNIT;
const UNLISTED = `0x${"77".repeat(20)}`;

describe("POST /swap/quote", function () {
  let stage: SwapStage;
  let edge: Edge;
  let [a, b, c, d]: Address[] = [];
  let undo: () => Promise<void>;
  before(async () => {
    stage = await SwapStage.open();
    [a, b, c, d] = stage.tokens;
    edge = await startEdge({ swaps: true, handlers: swapRoutes(stage.quotes) });
  });
  after(async () => {
    await edge.stop();
    await stage.close();
  });
  beforeEach(async () => {
    undo = await stage.snapshot();
  });
  afterEach(async () => {
    stage.pool.delisted.clear();
    stage.pool.hasExecutor = true;
    await undo();
  });

  const body = (change: object = {}): object => ({
    ...{ token_in: a, token_out: b, shares_in: String(AMOUNT), tolerance_bps: 100 },
    ...change,
  });
  const ask = (change: object = {}): Promise<Answer> =>
    edge.call("POST", "/swap/quote", { json: body(change) });
  async function quoted(change: object = {}): Promise<SwapQuote> {
    const { status, body: answer } = await ask(change);
    assert.equal(status, 200, JSON.stringify(answer));
    return swapQuote.strict().parse(answer);
  }
  async function noRoute(change: object = {}): Promise<void> {
    const { status, body: answer, headers } = await ask(change);
    assert.deepEqual([status, answer.code, answer.retryable], [422, "ROUTE_UNAVAILABLE", true]);
    assert.ok(Number(headers.get("retry-after")) > 0);
  }
  const toVenue = ({ shares_in, fees }: SwapQuote): bigint => BigInt(shares_in) - BigInt(fees.service.amount);
  /** Asserts that the venue now gives exactly what was quoted. */
  async function requireExecutable(quote: SwapQuote): Promise<void> {
    assert.equal(await stage.execute(quote.path, toVenue(quote)), BigInt(quote.amount_out));
  }
  const makePool = (tokenA: Address, tokenB: Address, fee: number, amountA = DEEP, amountB = DEEP) =>
    stage.makePool({ tokenA, tokenB, fee, amountA, amountB });

  for (const tier of FEE_TIERS) {
    it(`tier ${tier}: is executed as quoted, in both directions`, async () => {
      const pool = await makePool(a!, b!, tier, DEEP, 3n * DEEP);
      const there = await quoted();
      assert.deepEqual(there.route, [
        {
          pool: checksumAddress(pool),
          fee_bps: tier / 100,
          token_in: checksumAddress(a!),
          token_out: checksumAddress(b!),
        },
      ]);
      assert.deepEqual(there.fees.service, { bps: 15, amount: String((AMOUNT * 15n) / 10_000n) });
      assert.equal(BigInt(there.floor), (BigInt(there.amount_out) * 9_900n) / 10_000n);
      await requireExecutable(there);
      const back = await quoted({ token_in: b, token_out: a, shares_in: there.amount_out });
      assert.equal(back.route[0]?.pool, there.route[0]?.pool);
      await requireExecutable(back);
    });
  }

  it("two pools: is executed as quoted, with any two tiers", async () => {
    await makePool(a!, c!, 100, DEEP, 2n * DEEP);
    await makePool(c!, b!, 10_000, DEEP, DEEP / 3n);
    const quote = await quoted();
    assert.deepEqual(
      quote.route.map(({ fee_bps, token_in, token_out }) => [token_in, fee_bps, token_out]),
      [
        [checksumAddress(a!), 1, checksumAddress(c!)],
        [checksumAddress(c!), 100, checksumAddress(b!)],
      ],
    );
    assert.equal(quote.path, `${a}000064${c!.slice(2)}002710${b!.slice(2)}`);
    await requireExecutable(quote);
  });

  it("takes the best of several tiers by what they give, not by what they charge", async () => {
    await makePool(a!, b!, 10_000);
    await makePool(a!, b!, 3_000);
    assert.equal((await quoted()).route[0]?.fee_bps, 30);
    // Cheap, and so thin that it gives less; for a small amount it is the best all the same.
    await makePool(a!, b!, 100, 2_000n * UNIT, 2_000n * UNIT);
    const large = await quoted();
    assert.equal(large.route[0]?.fee_bps, 30);
    await requireExecutable(large);
    const small = await quoted({ shares_in: String(UNIT) });
    assert.equal(small.route[0]?.fee_bps, 1);
    await requireExecutable(small);
  });

  it("goes by way of another token where that gives more, and never by one that the pool does not take", async () => {
    await makePool(a!, b!, 3_000, 10_000n * UNIT, 10_000n * UNIT);
    await makePool(a!, c!, 500);
    await makePool(c!, b!, 500);
    await makePool(a!, d!, 100);
    await makePool(d!, b!, 100);
    const best = await quoted();
    assert.equal(best.route[0]?.token_out, checksumAddress(d!));
    stage.pool.delisted.add(d!);
    await stage.provider.send("evm_mine", []);
    const second = await quoted();
    assert.equal(second.route[0]?.token_out, checksumAddress(c!));
    assert.ok(BigInt(second.amount_out) < BigInt(best.amount_out));
    await requireExecutable(second);
    stage.pool.delisted.add(b!);
    await stage.provider.send("evm_mine", []);
    assert.equal((await ask()).body.code, "ASSET_UNSUPPORTED");
  });

  it("reports the price impact, which grows with the amount and leaves the pools' fees out", async () => {
    await makePool(a!, b!, 10_000);
    const impact = async (amount: bigint): Promise<number> =>
      (await quoted({ shares_in: String(amount) })).price_impact_bps;
    // Over all prices a pool is x × y = k: giving x of a stock s moves it by x / (s + x).
    assert.equal(await impact(UNIT), 1);
    assert.equal(await impact(DEEP / 100n), 98);
    assert.equal(await impact(DEEP), 4_972);
    const all = await quoted({ shares_in: String(100n * DEEP) });
    assert.ok(all.price_impact_bps > 9_890 && all.route.length === 1, String(all.price_impact_bps));
    await requireExecutable(all);
  });

  it("says that there is no route without a pool, without liquidity, and for more than there is", async () => {
    await noRoute();
    await stage.makePool({
      tokenA: a!,
      tokenB: b!,
      fee: 500,
      amountA: DEEP,
      amountB: DEEP,
      reachTicks: 1_000,
    });
    const quote = await quoted();
    // Concentrated: beyond a tenth of the price there is nothing, and the venue would take a part only.
    await noRoute({ shares_in: String(2n * DEEP) });
    await noRoute({ shares_in: String((1n << 128n) - 1n) });
    await requireExecutable(quote);
    stage.pool.hasExecutor = false;
    await stage.provider.send("evm_mine", []);
    await noRoute();
  });

  it("over a pool that somebody emptied: no route onwards, and a good one back", async () => {
    const thin = { amountA: 1_000n * UNIT, amountB: 1_000n * UNIT, reachTicks: 600 };
    await stage.makePool({ tokenA: a!, tokenB: b!, fee: 3_000, ...thin });
    // Takes the price to just inside its end.
    let step = 2_000n * UNIT;
    for (; step > 0n; step /= 2n) {
      await stage.execute(`${a}000bb8${b!.slice(2)}`, step).catch(() => 0n);
    }
    await noRoute({ shares_in: String(10n * UNIT) });
    const back = await quoted({ token_in: b, token_out: a, shares_in: String(10n * UNIT) });
    assert.ok(BigInt(back.amount_out) > 10n * UNIT);
    await requireExecutable(back);
  });

  it("follows the market: after somebody traded the old floor is not met, and a new quote is another one", async () => {
    await makePool(a!, b!, 500);
    const before = await quoted({ tolerance_bps: 50 });
    await stage.execute(before.path, DEEP / 10n);
    const after = await quoted({ tolerance_bps: 50 });
    assert.ok(after.block_number > before.block_number);
    assert.ok(BigInt(after.amount_out) < BigInt(before.floor));
    await requireExecutable(after);
  });

  for (const [what, code] of [
    ["reverts", "0x5f5ffd"],
    ["never ends", "0x5b5f56"],
    [
      "answers rubbish",
      `0x7f${"ff".repeat(32)}${[0, 1, 2, 3, 4, 5, 6].map((i) => `8060${(32 * i).toString(16).padStart(2, "0")}52`).join("")}60e05ff3`,
    ],
    ["answers nothing", "0x00"],
    ["is gone", "0x"],
  ] as const) {
    it(`a pool that ${what} spoils no other route`, async () => {
      const broken = await makePool(a!, b!, 100);
      await makePool(a!, b!, 500);
      assert.equal((await quoted()).route[0]?.fee_bps, 1);
      await stage.setCode(broken, code);
      const quote = await quoted();
      assert.equal(quote.route[0]?.fee_bps, 5);
      await requireExecutable(quote);
    });

    // A listed token that says anything at all would be its lister's fault, and no quoter's to find out.
    if (what === "answers rubbish") continue;
    it(`a token in the middle that ${what} spoils no other route`, async () => {
      await makePool(a!, c!, 100);
      await makePool(c!, b!, 100);
      await makePool(a!, b!, 10_000);
      assert.equal((await quoted()).route.length, 2);
      await stage.setCode(c!, code);
      const quote = await quoted();
      assert.equal(quote.route[0]?.fee_bps, 100);
      await requireExecutable(quote);
    });
  }

  it("leaves out a route that needs more gas than a swap has", async () => {
    await makePool(a!, b!, 10_000);
    const position = { tokenA: a!, tokenB: b!, fee: 100, amountA: 100n * UNIT, amountB: 100n * UNIT };
    for (let reachTicks = 2; reachTicks <= 60; reachTicks += 2)
      await stage.makePool({ ...position, reachTicks });
    const few = await quoted({ shares_in: String(UNIT) });
    assert.equal(few.route[0]?.fee_bps, 1);
    // Would cross thirty edges of positions in the cheap pool.
    const many = await quoted({ shares_in: String(2_980n * UNIT) });
    assert.equal(many.route[0]?.fee_bps, 100);
    await requireExecutable(many);
  });

  it("asks for quotes with the permission read, with a key or a session", async () => {
    await makePool(a!, b!, 500);
    const reader = await edge.session({ perms: ["read"] });
    const writer = await edge.session({ perms: ["write"] });
    const as = (session: string) => edge.call("POST", "/swap/quote", { session, json: body() });
    assert.equal((await as(reader)).status, 200);
    assert.deepEqual([(await as(writer)).status, (await as(writer)).body.code], [403, "FORBIDDEN"]);
    const lower = await ask({ token_in: a!.toLowerCase(), token_out: checksumAddress(b!) });
    assert.equal(lower.status, 200);
  });

  const refusals: [string, object, string][] = [
    ["no token_in", { token_in: undefined }, "token_in"],
    ["a token that is no address", { token_in: "0x12" }, "token_in"],
    ["a wrong checksum", { token_in: "0xE7f1725e7734ce288f8367e1bb143e90bb3f0512" }, "token_in"],
    ["an unlisted token", { token_in: UNLISTED }, "token_in"],
    ["an unlisted token to buy", { token_out: UNLISTED }, "token_out"],
    ["the zero address", { token_out: `0x${"00".repeat(20)}` }, "token_out"],
    ["an amount as a number", { shares_in: 7 }, "shares_in"],
    ["a negative amount", { shares_in: "-1" }, "shares_in"],
    ["a leading zero", { shares_in: "07" }, "shares_in"],
    ["an exponent", { shares_in: "1e6" }, "shares_in"],
    ["a fraction", { shares_in: "1.5" }, "shares_in"],
    ["2^128", { shares_in: String(1n << 128n) }, "shares_in"],
    ["zero", { shares_in: "0" }, "shares_in"],
    ["a tolerance of 5001", { tolerance_bps: 5_001 }, "tolerance_bps"],
    ["a negative tolerance", { tolerance_bps: -1 }, "tolerance_bps"],
    ["a fraction of a basis point", { tolerance_bps: 0.5 }, "tolerance_bps"],
    ["a tolerance as text", { tolerance_bps: "100" }, "tolerance_bps"],
    ["no tolerance", { tolerance_bps: undefined }, "tolerance_bps"],
    ["an unknown field", { slippage: 1 }, "slippage"],
  ];
  for (const [what, change, path] of refusals) {
    it(`refuses ${what} and names the field`, async () => {
      const { status, body: answer } = await ask(change);
      assert.deepEqual([status, answer.code, answer.errors[0].path], [400, "INVALID_REQUEST", path]);
    });
  }

  it("refuses the same token twice, however it is spelt", async () => {
    const { status, body: answer } = await ask({ token_out: checksumAddress(a!) });
    assert.deepEqual([status, answer.code, answer.errors[0].path], [400, "INVALID_REQUEST", "token_out"]);
  });

  it("refuses what buys nothing", async () => {
    await makePool(a!, b!, 500);
    const { status, body: answer } = await ask({ shares_in: "1" });
    assert.deepEqual([status, answer.code], [422, "AMOUNT_TOO_SMALL"]);
    assert.equal((await quoted({ shares_in: "3", tolerance_bps: 0 })).floor, "1");
  });

  describe("the venue of the settings", () => {
    const logged: string[] = [];
    const logger = createLogger("trace", { write: (line: string) => void logged.push(line) });
    const check = (factory: Address, quoter: Address, executor: Address | undefined) =>
      requireSameVenue(
        createChain(stage.anvil.url, BigInt(stage.anvil.chainId)),
        { executor: async () => executor },
        { factory, quoter },
        logger,
      );
    beforeEach(() => logged.splice(0));

    it("is good when quoter and executor name its factory", async () => {
      const { factory, quoter } = stage.uniswap;
      await check(factory, quoter, stage.executor);
      await check(factory, quoter, undefined);
      assert.deepEqual(logged, []);
    });

    it("ends the start with a quoter of another factory, or none", async () => {
      const { factory, quoter } = stage.uniswap;
      for (const [one, other] of [
        [quoter, factory],
        [a!, quoter],
        [factory, a!],
        [factory, UNLISTED as Address],
      ] as const) {
        await assert.rejects(check(one, other, stage.executor), /CLOISTER_SWAP_QUOTER/);
      }
    });

    it("is warned of when the pool trades elsewhere, or the node is unreachable", async () => {
      const { factory, quoter } = stage.uniswap;
      await check(factory, quoter, a);
      assert.match(logged.join(""), /does not trade on CLOISTER_SWAP_FACTORY/);
      logged.splice(0);
      const unreachable = createChain("http://127.0.0.1:1", 1n);
      const pool = { executor: async () => undefined };
      await requireSameVenue(unreachable, pool, { factory, quoter }, logger);
      assert.match(logged.join(""), /cannot be asked/);
    });
  });
});
