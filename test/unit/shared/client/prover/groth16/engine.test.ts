// The proving curve beside snarkjs's in one process: neither gets the other's, nor ends it.
import assert from "node:assert/strict";
import type { Bn128 } from "ffjavascript";
import { curves } from "snarkjs";
import { releaseCurve } from "../../../../../../scripts/build/circuits/ceremony.ts";
import { sumOf } from "../../../../../../shared/client/prover/groth16/sums.ts";
import { curveFor } from "./curve.ts";
import { scalarBytes } from "./points.ts";

describe("client: the curve that proves", () => {
  const held = globalThis as { curve_bn128?: unknown };
  afterEach(releaseCurve);

  async function sums(curve: Bn128): Promise<void> {
    const { G1 } = curve;
    const sum = await sumOf(curve, "G1", G1.toAffine(G1.g), scalarBytes(7n));
    assert.ok(G1.eq(sum, G1.timesScalar(G1.g, 7n)));
  }

  it("leaves snarkjs's in its place, whichever came first, and outlives its end", async () => {
    const first = await curveFor(2);
    const theirs = await curves.getCurveFromName("bn128");
    assert.notEqual(theirs, first.curve);
    assert.equal(held.curve_bn128, theirs);
    const second = await curveFor(2);
    assert.equal(held.curve_bn128, theirs);
    assert.equal(await curves.getCurveFromName("bn128"), theirs);
    await theirs.terminate();
    await sums(first.curve);
    await sums(second.curve);
    await first.end();
    await sums(second.curve);
    await second.end();
  });
});
