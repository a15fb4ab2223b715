import assert from "node:assert/strict";
import { windowEnds } from "../../../../../shared/client/chain/advance.ts";

const WINDOW = 252;

describe("client/chain/advance", () => {
  it("looks for a window's checkpoint wherever the pool may have put it, and within one call's reach", () => {
    for (let from = 0; from < 3 * WINDOW; from++) {
      const ends = windowEnds(from);
      assert.ok(ends.every((end) => from < end && end <= from + 256));
      assert.deepEqual(
        ends,
        [...ends].sort((a, b) => b - a),
      );
      // A transaction of one to four leaves that is the first to end in a window ends at most three leaves behind its begin.
      const window = (Math.floor(from / WINDOW) + 1) * WINDOW;
      for (let over = 0; over < 4; over++)
        if (window + over <= from + 256)
          assert.ok(ends.includes(window + over), `from ${from}: ${window + over}`);
    }
  });
});
