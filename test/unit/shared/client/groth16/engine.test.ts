// The proving curve beside snarkjs's in one process: neither gets the other's, nor ends it.
import assert from "node:assert/strict";
import type { Bn128 } from "ffjavascript";
import { curves } from "snarkjs";
import { releaseCurve } from "../../../../../scripts/circuits/ceremony.ts";
import { provingCurve, releaseProvingCurve } from "../../../../../shared/client/groth16/engine.ts";
import { sumOf } from "../../../../../shared/client/groth16/sums.ts";
import { scalarBytes } from "./points.ts";

describe("client: the curve that proves", () => {
  const held = globalThis as { curve_bn128?: unknown };

  afterEach(async () => {
    await releaseProvingCurve();
    await releaseCurve();
  });

  async function sums(curve: Bn128): Promise<void> {
    const { G1 } = curve;
    const sum = await sumOf(curve, "G1", G1.toAffine(G1.g), scalarBytes(7n));
    assert.ok(G1.eq(sum, G1.timesScalar(G1.g, 7n)));
  }

  it("is built once, for threads and for a single one", async () => {
    for (const singleThread of [false, true]) {
      const [first, second] = await Promise.all([provingCurve(singleThread), provingCurve(singleThread)]);
      assert.equal(first, second);
      assert.equal(await provingCurve(singleThread), first);
      await sums(first);
    }
    assert.notEqual(await provingCurve(false), await provingCurve(true));
  });

  it("is another after its release, and works", async () => {
    const first = await provingCurve(false);
    await releaseProvingCurve();
    const second = await provingCurve(false);
    assert.notEqual(first, second);
    await sums(second);
  });

  it("sums when snarkjs's curve came first, which stays where snarkjs finds it", async () => {
    const theirs = await curves.getCurveFromName("bn128");
    assert.equal(held.curve_bn128, theirs);
    const ours = await provingCurve(false);
    assert.notEqual(ours, theirs);
    await sums(ours);
    assert.equal(held.curve_bn128, theirs);
    await releaseProvingCurve();
    assert.equal(held.curve_bn128, theirs);
    assert.equal(await curves.getCurveFromName("bn128"), theirs);
  });

  it("is not what snarkjs gets when ours came first, nor ended with snarkjs's", async () => {
    const ours = await provingCurve(false);
    const theirs = await curves.getCurveFromName("bn128");
    assert.notEqual(theirs, ours);
    await theirs.terminate();
    await sums(ours);
  });

  it("leaves a curve in place that snarkjs began to build before ours was ready", async () => {
    const building = provingCurve(false);
    const theirs = curves.getCurveFromName("bn128");
    await building;
    await theirs;
    assert.equal(held.curve_bn128, await theirs);
  });
});
