import assert from "node:assert/strict";
import fc from "fast-check";
import { SlidingWindows } from "../../../../../proxy/base/limits/windows.store.ts";

describe("SlidingWindows", () => {
  it("frees a place exactly when its request leaves the window", () => {
    let now = 1_000;
    const windows = new SlidingWindows(60_000, 10, () => now);
    windows.admit("a");
    now += 20_000;
    windows.admit("a");
    assert.deepEqual(windows.peek("a"), { used: 2, oldestLeavesInMs: 40_000 });
    now += 39_999;
    assert.equal(windows.peek("a").used, 2);
    now += 1;
    assert.deepEqual(windows.peek("a"), { used: 1, oldestLeavesInMs: 20_000 });
    now += 60_000;
    assert.deepEqual(windows.peek("a"), { used: 0, oldestLeavesInMs: 0 });
  });

  it("never admits more than the quota in any window, whatever the rhythm, and agrees with a plain count", () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 0, max: 30 }), { maxLength: 200 }),
        fc.integer({ min: 1, max: 8 }),
        (steps, quota) => {
          let now = 0;
          const windows = new SlidingWindows(100, 10, () => now);
          const admitted: number[] = [];
          for (const step of steps) {
            now += step;
            const expected = admitted.filter((at) => at > now - 100).length;
            assert.equal(windows.peek("a").used, expected);
            if (expected < quota) {
              windows.admit("a");
              admitted.push(now);
            }
          }
          for (const at of admitted) {
            assert.ok(admitted.filter((other) => other > at - 100 && other <= at).length <= quota);
          }
        },
      ),
    );
  });

  it("forgets idle keys, and beyond its bound the one idle for longest", () => {
    let now = 0;
    const windows = new SlidingWindows(100, 3, () => now);
    for (const key of ["a", "b", "c", "d"]) {
      now++;
      windows.admit(key);
    }
    assert.equal(windows.size, 3);
    assert.equal(windows.peek("a").used, 0);
    assert.equal(windows.peek("b").used, 1);
    now += 200;
    windows.admit("e");
    assert.equal(windows.size, 1);
  });
});
