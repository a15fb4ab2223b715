// Money that came in by the service leaves when every process of it is stopped. What npm run demo:exit shows.
import assert from "node:assert/strict";
import { PROVED_DELAY_SECS, showExit } from "../../scripts/demo/exit.ts";
import { onStage } from "../../scripts/stack/stage.ts";

describe("leaving when the service is gone", () => {
  it("a private payment and the whole way out need a chain node and a key, and every balance is exact", () =>
    onStage("exit", { poolTerms: { provedDelay: PROVED_DELAY_SECS } }, async (stage) => {
      const { checks } = await showExit({
        ...{ stack: stage.stack, prover: await stage.prover() },
        say: () => undefined,
      });
      assert.equal(checks.length, 5);
      for (const { name, expected, actual } of checks) assert.equal(actual, expected, name);
    }));
});
