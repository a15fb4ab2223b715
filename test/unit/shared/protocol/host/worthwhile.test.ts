import assert from "node:assert/strict";
import { worthwhile } from "../../../../../shared/protocol/host/worthwhile.ts";

const MINIMUM = 1_000n;
const chosen = (amounts: readonly bigint[], balance = 0n): bigint[] =>
  worthwhile(
    amounts.map((amount) => ({ amount })),
    MINIMUM,
    balance,
  ).map(({ amount }) => amount);

describe("protocol/host/worthwhile", () => {
  it("takes what brings the minimum by itself, and no dust beside it", () => {
    assert.deepEqual(chosen([1n, MINIMUM, 2n, 2n * MINIMUM]), [MINIMUM, 2n * MINIMUM]);
  });

  it("takes the fewest that make up the minimum together with what lies there", () => {
    assert.deepEqual(chosen([1n, 600n, 300n, 400n]), [600n, 400n]);
    assert.deepEqual(chosen([1n, 600n, 300n], 400n), [600n]);
  });

  it("takes none where they are not enough, would be too many, or are not needed", () => {
    assert.deepEqual(chosen([]), []);
    assert.deepEqual(chosen([999n]), []);
    assert.deepEqual(chosen(Array<bigint>(9).fill(124n)), []);
    assert.deepEqual(chosen(Array<bigint>(9).fill(125n)), Array<bigint>(8).fill(125n));
    assert.deepEqual(chosen([1n], MINIMUM), []);
  });
});
