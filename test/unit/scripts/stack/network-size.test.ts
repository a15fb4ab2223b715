import assert from "node:assert/strict";
import { requireThreshold, settledSize } from "../../../../scripts/stack/network-size.ts";
import { StackError } from "../../../../scripts/base/stack-file.ts";

describe("scripts/stack/network-size", () => {
  it("is one of each unless more is asked for, and as many enclaves as must sign", () => {
    assert.deepEqual(settledSize(), { proxies: 1, enclaves: 1, threshold: 1 });
    assert.deepEqual(settledSize({ threshold: 2 }), { proxies: 1, enclaves: 2, threshold: 2 });
    assert.deepEqual(settledSize({ enclaves: 3 }), { proxies: 1, enclaves: 3, threshold: 1 });
    const cluster = { proxies: 3, enclaves: 3, threshold: 2 };
    assert.deepEqual(settledSize(cluster), cluster);
  });

  it("goes on as the pool was made when nothing is asked for", () => {
    const made = { threshold: 2 };
    assert.deepEqual(settledSize(undefined, made), { proxies: 1, enclaves: 2, threshold: 2 });
    for (const size of [undefined, {}, { threshold: 2 }, { enclaves: 3 }])
      assert.doesNotThrow(() => requireThreshold("deployment.json", made, size));
  });

  it("refuses another threshold than the pool's, and fewer enclaves than it asks for", () => {
    for (const [made, size, why] of [
      [2, { threshold: 1 }, /deployment\.json asks for 2 attestations.*--threshold.*--fresh/],
      [1, { threshold: 2 }, /asks for 1 attestations/],
      [2, { enclaves: 1 }, /asks for 2 attestations, and 1 enclaves would run/],
    ] as const)
      assert.throws(
        () => requireThreshold("deployment.json", { threshold: made }, size),
        (error: unknown) => error instanceof StackError && why.test(error.message),
      );
  });
});
