import assert from "node:assert/strict";
import fc from "fast-check";
import { feeOf, grossOf, type FeeRule } from "../../../../../shared/protocol/host/fees.ts";

describe("shared/protocol/host/fees", () => {
  it("is flat plus basis points, rounded down", () => {
    assert.equal(feeOf({ flat: 0n, bps: 0 }, 1_000_000n), 0n);
    assert.equal(feeOf({ flat: 7n, bps: 0 }, 1_000_000n), 7n);
    assert.equal(feeOf({ flat: 0n, bps: 25 }, 10_000n), 25n);
    assert.equal(feeOf({ flat: 3n, bps: 25 }, 399n), 3n);
    assert.equal(feeOf({ flat: 3n, bps: 25 }, 400n), 4n);
    assert.equal(feeOf({ flat: 0n, bps: 10_000 }, (1n << 128n) - 1n), (1n << 128n) - 1n);
  });

  describe("the gross amount of a swap", () => {
    const left = (gross: bigint, rules: readonly FeeRule[]): bigint =>
      rules.reduce((rest, rule) => rest - feeOf(rule, gross), gross);
    const rule = fc.record({ flat: fc.bigInt(0n, 1n << 64n), bps: fc.nat(4_999) });
    const rules = fc.array(rule, { maxLength: 2 });

    it("is what its fees leave the venue's part of", () => {
      const service = [{ flat: 0n, bps: 15 }];
      assert.equal(grossOf(9_985n, service), 9_999n);
      assert.equal(grossOf(99_850_000n, service), 100_000_000n - 1n);
      assert.equal(grossOf(100n, []), 100n);
      assert.equal(grossOf(93n, [{ flat: 7n, bps: 0 }]), 100n);
      assert.throws(() => grossOf(1n, [{ flat: 0n, bps: 10_000 }]), RangeError);
    });

    it("is the least such amount, for any rules and amounts", () => {
      fc.assert(
        fc.property(fc.bigInt(1n, (1n << 128n) - 1n), rules, (toVenue, given) => {
          const gross = grossOf(toVenue, given);
          assert.equal(left(gross, given), toVenue);
          assert.ok(left(gross - 1n, given) < toVenue);
        }),
      );
    });

    it("never asks more of a user than the amount that the user began with owed", () => {
      fc.assert(
        fc.property(fc.bigInt(1n, (1n << 127n) - 1n), rules, (began, given) => {
          const toVenue = left(began, given);
          fc.pre(toVenue > 0n);
          const gross = grossOf(toVenue, given);
          assert.ok(gross <= began);
          for (const each of given) assert.ok(feeOf(each, gross) <= feeOf(each, began));
        }),
      );
    });
  });
});
