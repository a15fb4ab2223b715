import assert from "node:assert/strict";
import { advanceEnd, MOST_ADVANCED } from "../../../../shared/notes/advance.ts";

describe("notes/advance", () => {
  async function endOf(from: number, end: number, boundaries: number[], kept: number[]) {
    const asked: number[] = [];
    const to = await advanceEnd({ from, end, boundaries }, async (place) => {
      asked.push(place);
      return kept.includes(place);
    });
    return { to, asked };
  }

  it("goes to the farthest place that the pool can name, and asks for no nearer one", async () => {
    assert.deepEqual(await endOf(10, 25, [13, 17, 21, 25], [13, 21]), { to: 21, asked: [25, 21] });
  });

  it("goes to the end of the queue where the pool can name nothing, as far as one call gets", async () => {
    const end = 10 + MOST_ADVANCED;
    assert.deepEqual(await endOf(10, end, [13, 14], []), { to: end, asked: [14, 13] });
    assert.equal((await endOf(10, end + 1, [13, 14], [])).to, undefined);
  });

  it("goes nowhere where nothing waits", async () => {
    assert.deepEqual(await endOf(10, 10, [], [10]), { to: undefined, asked: [] });
  });
});
