// Money that came in by the service leaves when every process of it is stopped. What npm run demo:exit shows.
import assert from "node:assert/strict";
import { showExit } from "../../scripts/demo/exit.ts";
import { Story } from "../../scripts/demo/story.ts";

describe("leaving when the service is gone", () => {
  it("a private payment and the whole way out need a chain node and a key, and every balance is exact", async () => {
    const { chapters } = await Story.of(showExit);
    const checks = chapters.flatMap((one) => one.checks);
    assert.equal(checks.length, 5);
    for (const { what, expected, actual } of checks) assert.equal(actual, expected, what);
  });
});
