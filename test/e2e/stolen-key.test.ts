// `npm run demo:stolen-key`, whose own checks are the assertions: here that it made all of them and that they held.
import assert from "node:assert/strict";
import { runProgram } from "../support/program.ts";

describe("demo:stolen-key", function () {
  it("loses no more than a window's cap, and honest people pay and leave alone", async () => {
    const { code, out, err } = await runProgram("scripts/demo/stolen-key/main.ts", ["--json"]);
    assert.equal(code, 0, err);
    const { ok, checks } = JSON.parse(out) as {
      readonly ok: boolean;
      readonly checks: readonly {
        readonly name: string;
        readonly expected: string;
        readonly actual: string;
      }[];
    };
    assert.equal(ok, true);
    for (const { name, expected, actual } of checks) assert.equal(actual, expected, name);
    const named = new Map(checks.map(({ name, actual }) => [name, actual]));
    assert.equal(named.get("honest notes less what the pool holds: the loss"), "75 USDC");
    assert.match(named.get("what the watcher found") ?? "", /^(PROOF_FORGED ){4}ROOT_FORGED$/);
    assert.equal(named.get("a withdrawal by proof"), "Executed");
  });
});
