import assert from "node:assert/strict";
import { setImmediate as settled } from "node:timers/promises";
import { createPassing } from "../../../../../proxy/base/chain/passing.ts";

describe("passes over a chain", () => {
  /** Each pass with what it was told, and what ends it. */
  function passes() {
    const begun: { readonly since: number; readonly end: () => void }[] = [];
    const pass = (since: number): Promise<void> =>
      new Promise((end) => {
        begun.push({ since, end });
      });
    return { begun, passing: createPassing(pass, 3_600_000, (error) => assert.fail(String(error))) };
  }

  it("all who ask during one share the next, which takes no answer from before the last of them", async () => {
    const { begun, passing } = passes();
    const first = passing.sync();
    const second = passing.sync();
    const lastAsked = performance.now();
    const third = passing.sync();
    begun[0]!.end();
    await first;
    await settled();
    assert.equal(begun.length, 2);
    assert.ok(begun[1]!.since >= lastAsked);
    begun[1]!.end();
    await Promise.all([second, third]);
    assert.equal(begun.length, 2);
  });

  it("one that nobody waits for takes any", async () => {
    const { begun, passing } = passes();
    passing.start();
    assert.deepEqual(
      begun.map(({ since }) => since),
      [-Infinity],
    );
    begun[0]!.end();
    await passing.stop();
  });
});
