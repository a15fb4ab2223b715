// What npm run demo:stolen-key shows, whose own checks are the assertions: here that it made all of them and that they held.
import assert from "node:assert/strict";
import { showStolenKey } from "../../scripts/demo/stolen-key/acts.ts";
import { Story } from "../../scripts/demo/story.ts";

describe("a stolen key", () => {
  it("loses no more than what may leave at once, and honest people pay and leave alone", async () => {
    const { chapters } = await Story.of(showStolenKey);
    const checks = chapters.flatMap((one) => one.checks);
    for (const { what, expected, actual } of checks) assert.equal(actual, expected, what);
    const named = new Map(checks.map(({ what, actual }) => [what, actual]));
    assert.equal(named.get("honest notes less what the pool holds: the loss"), "18.75 USDC");
    assert.match(named.get("what the watcher found") ?? "", /^(PROOF_FORGED ){5}ROOT_FORGED$/);
    assert.equal(named.get("public balance of who left"), "5 USDC");
    assert.equal(named.get("Carol's public balance"), "30 USDC");
    assert.equal(named.get("claims made, of a root that is revoked, and what is owed to them"), "1 0");
  });
});
