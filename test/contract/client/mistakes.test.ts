// The table of a developer's mistakes, played in Node.
import assert from "node:assert/strict";
import { LONGEST_CLOCK_MS, MISTAKES, play, type Stage } from "./mistakes.ts";
import { setStage, type MistakesStage } from "./mistakes-stage.ts";

describe("a developer's mistakes", () => {
  let held: MistakesStage;
  let stage: Stage;
  before(async () => {
    held = await setStage();
    stage = held.stage;
  });
  after(() => held.close());

  for (const mistake of MISTAKES) {
    it(`${mistake.name}: ${mistake.code}`, async () => {
      const { code, isOurs, message, pausedMs, ranOutMs } = await play(mistake, stage);
      assert.equal(code, mistake.code, message);
      assert.ok(isOurs, "an error of this library");
      assert.match(message, mistake.says);
      assert.doesNotMatch(message, /hidden|sst_[a-z]/, "nothing secret");
      assert.ok(pausedMs <= (mistake.pausesMs ?? 0), `${pausedMs} ms of pauses`);
      assert.ok(ranOutMs < LONGEST_CLOCK_MS, `a clock of ${ranOutMs} ms ran out`);
    });
  }

  it("are as many as were found, each once", () => {
    assert.ok(MISTAKES.length >= 57);
    assert.equal(new Set(MISTAKES.map(({ name }) => name)).size, MISTAKES.length);
  });
});
