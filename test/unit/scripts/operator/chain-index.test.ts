// How `operator index rebuild` says how far it is.
import assert from "node:assert/strict";
import { everySecond } from "../../../../scripts/operator/chain-index.ts";

describe("operator index: progress", () => {
  it("is said at most once a second, and always at the end", () => {
    const said: string[] = [];
    const say = everySecond((line) => {
      said.push(line);
    });
    const at = (block: number, elapsedMs: number): void => {
      const done = { blocksDone: block - 1_000, leavesDone: block };
      say({ block, head: 4_000, leaves: 2 * block, ...done, elapsedMs });
    };
    at(1_500, 500);
    at(1_600, 600);
    at(2_000, 2_000);
    at(4_000, 2_001);
    assert.deepEqual(said, [
      "block 1,500 of 4,000, 3,000 leaves, 1,000 blocks and 3,000 leaves a second, 3 s left",
      "block 2,000 of 4,000, 4,000 leaves, 500 blocks and 1,000 leaves a second, 4 s left",
      "block 4,000 of 4,000, 8,000 leaves, 1,499 blocks and 1,999 leaves a second, 0 s left",
    ]);
  });
});
