import assert from "node:assert/strict";
import fc from "fast-check";
import {
  fixedPrice,
  isBetween,
  parseDollars,
  unitsFor,
} from "../../../../../shared/protocol/host/dollars.ts";

const dollars = (text: string): bigint => parseDollars(text) ?? assert.fail(text);

describe("dollars", () => {
  it("are read exactly, and nothing else is", () => {
    assert.equal(dollars("0.05"), 50_000_000_000_000_000n);
    assert.equal(dollars("2500"), 2_500n * 10n ** 18n);
    assert.equal(dollars("0.000000000000000001"), 1n);
    for (const text of ["", ".5", "5.", "-1", "+1", "1e3", "01", "1,5", "0.0000000000000000001", " 1"])
      assert.equal(parseDollars(text), undefined, text);
  });

  it("become smallest units rounded up", () => {
    assert.equal(unitsFor(dollars("0.05"), fixedPrice(dollars("1")), 6), 50_000n);
    assert.equal(unitsFor(dollars("0.05"), fixedPrice(dollars("1.1")), 6), 45_455n);
    // Worth far less than one smallest unit, and still not free.
    assert.equal(unitsFor(dollars("0.05"), fixedPrice(dollars("100000")), 0), 1n);
    assert.equal(unitsFor(0n, fixedPrice(dollars("1")), 6), 0n);
    assert.throws(() => unitsFor(1n, { answer: 0n, decimals: 8 }, 6), RangeError);
  });

  it("are never less in units than in dollars, and by less than one unit more", () => {
    fc.assert(
      fc.property(
        fc.bigInt(0n, 10n ** 21n),
        fc.bigInt(1n, 10n ** 30n),
        fc.nat(20),
        fc.nat(18),
        (asked, answer, decimals, tokenDecimals) => {
          const units = unitsFor(asked, { answer, decimals }, tokenDecimals);
          // units × price ≥ asked > (units − 1) × price, without a division.
          const worth = (count: bigint): bigint => count * answer * 10n ** 18n;
          const wanted = asked * 10n ** BigInt(tokenDecimals + decimals);
          assert.ok(worth(units) >= wanted);
          assert.ok(units === 0n || worth(units - 1n) < wanted);
        },
      ),
    );
  });

  it("lie between bounds, ends included, whatever the number of places", () => {
    const [least, most] = [dollars("500"), dollars("10000")];
    for (const [answer, decimals, inside] of [
      [500n, 0, true],
      [50_000_000_000n, 8, true],
      [49_999_999_999n, 8, false],
      [10_000n * 10n ** 18n, 18, true],
      [10_000n * 10n ** 18n + 1n, 18, false],
      [-2_500n, 0, false],
    ] as const)
      assert.equal(isBetween({ answer, decimals }, least, most), inside, `${answer} / 10^${decimals}`);
  });
});
