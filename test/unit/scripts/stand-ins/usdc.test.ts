import assert from "node:assert/strict";
import { showUnits } from "../../../../scripts/stand-ins/usdc.ts";

describe("scripts/stand-ins/usdc", () => {
  it("shows smallest units without a floating-point number", () => {
    for (const [units, decimals, text] of [
      [12_500_000n, 6, "12.5"],
      [1n, 6, "0.000001"],
      [100_000_000n, 6, "100"],
      [1n, 18, "0.000000000000000001"],
      [2n ** 127n, 18, "170141183460469231731.687303715884105728"],
      [-1_500n, 3, "-1.5"],
      [7n, 0, "7"],
      [0n, 6, "0"],
    ] as const) {
      assert.equal(showUnits(units, decimals), text);
    }
  });
});
