import assert from "node:assert/strict";
import { feeOf } from "../../../../shared/protocol/fees.ts";

describe("shared/protocol/fees", () => {
  it("is flat plus basis points, rounded down", () => {
    assert.equal(feeOf({ flat: 0n, bps: 0 }, 1_000_000n), 0n);
    assert.equal(feeOf({ flat: 7n, bps: 0 }, 1_000_000n), 7n);
    assert.equal(feeOf({ flat: 0n, bps: 25 }, 10_000n), 25n);
    assert.equal(feeOf({ flat: 3n, bps: 25 }, 399n), 3n);
    assert.equal(feeOf({ flat: 3n, bps: 25 }, 400n), 4n);
    assert.equal(feeOf({ flat: 0n, bps: 10_000 }, (1n << 128n) - 1n), (1n << 128n) - 1n);
  });
});
