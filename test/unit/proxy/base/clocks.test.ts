import assert from "node:assert/strict";
import { ClocksApart, clockWarnings, requireSameClock } from "../../../../proxy/base/clocks.ts";

describe("base/clocks", () => {
  const NOW = 1_800_000_000_000;

  it("bears a minute between this machine and the store, and no more, either way", () => {
    for (const secs of [-60, 0, 60]) requireSameClock(NOW + secs * 1_000, NOW);
    for (const secs of [-61, 61, 3_600])
      assert.throws(() => requireSameClock(NOW + secs * 1_000, NOW), ClocksApart);
  });

  it("warns of a newest block from the future, and of one that is old", () => {
    const warnings = (secs: number) => clockWarnings({ timestamp: NOW / 1_000 + secs }, NOW).length;
    assert.deepEqual([-901, -900, 0, 60, 61].map(warnings), [1, 0, 0, 0, 1]);
    assert.deepEqual(clockWarnings(undefined, NOW), []);
  });
});
