// Price impact by hand-made pools: whole numbers, both directions, rounded against the caller's optimism.
import assert from "node:assert/strict";
import fc from "fast-check";
import type { Market } from "../../../../../proxy/api/swap/venue.ts";
import { priceImpactBps } from "../../../../../proxy/api/swap/price-impact.ts";
import type { Address } from "../../../../../shared/protocol/brands.ts";

const LOW = `0x${"11".repeat(20)}` as Address;
const HIGH = `0x${"99".repeat(20)}` as Address;
const POOL = `0x${"55".repeat(20)}` as Address;
const Q96 = 1n << 96n;
const E18 = 10n ** 18n;

function market(tokenIn: Address, tokenOut: Address, sqrtPriceX96: bigint, tier = 3_000): Market {
  return { pool: POOL, tier, tokenIn, tokenOut, sqrtPriceX96, stock: E18 };
}

describe("swap/price-impact", () => {
  it("is zero when the output is the mid price less the pool's fee, in both directions", () => {
    // One of the lower token is worth four of the higher.
    assert.equal(priceImpactBps([market(LOW, HIGH, 2n * Q96)], 1_000n, 3_988n), 0);
    assert.equal(priceImpactBps([market(HIGH, LOW, 2n * Q96)], 4_000n, 997n), 0);
    assert.equal(priceImpactBps([market(LOW, HIGH, Q96, 100)], 10_000n, 9_999n), 0);
  });

  it("counts what is missing, rounded up", () => {
    const route = [market(LOW, HIGH, Q96, 10_000)];
    assert.equal(priceImpactBps(route, 100n * E18, (99n * E18 * 9n) / 10n), 1_000);
    assert.equal(priceImpactBps(route, 100n * E18, 99n * E18 - 1n), 1);
    assert.equal(priceImpactBps(route, 100n * E18, 0n), 10_000);
  });

  it("multiplies the prices and fees of two pools", () => {
    const route = [market(LOW, HIGH, 2n * Q96, 500), market(HIGH, LOW, Q96, 100)];
    const mid = (4n * 1_000_000n * 9_995n * 9_999n) / 100_000_000n;
    assert.equal(priceImpactBps(route, 1_000_000n, mid), 1);
    assert.equal(priceImpactBps(route, 1_000_000n, mid + 1n), 0);
    assert.equal(priceImpactBps(route, 1_000_000n, mid / 2n), 5_001);
  });

  it("stays within its range at Uniswap's furthest prices and largest amounts", () => {
    const price = fc.bigInt({
      min: 4_295_128_739n,
      max: 1_461_446_703_485_210_103_287_273_052_203_988_822_378_723_970_342n,
    });
    const amount = fc.bigInt({ min: 1n, max: (1n << 128n) - 1n });
    fc.assert(
      fc.property(price, price, amount, amount, (first, second, amountIn, amountOut) => {
        const route = [market(LOW, HIGH, first), market(HIGH, LOW, second)];
        const impact = priceImpactBps(route, amountIn, amountOut);
        assert.ok(Number.isInteger(impact) && impact >= 0 && impact <= 10_000, String(impact));
      }),
    );
  });
});
