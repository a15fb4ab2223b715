import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import path from "node:path";
import { aStatement } from "../../../../../scripts/lab/bench/client/statements.ts";
import { describeMachine, figure, spreadOf } from "../../../../../scripts/lab/bench/figures.ts";
import { repositoryRoot } from "../../../../../scripts/build/circuits/compile.ts";
import { KIND_NAMES } from "../../../../../shared/protocol/statements.ts";

describe("benchmarks", function () {
  it("report the middle, the least and the most", () => {
    assert.deepEqual(spreadOf([3, 1, 2]), { median: 2, least: 1, most: 3 });
    assert.deepEqual(spreadOf([4, 1, 3, 2]), { median: 2.5, least: 1, most: 4 });
    assert.deepEqual(spreadOf([7]), { median: 7, least: 7, most: 7 });
  });

  it("round to four digits, and say on what machine and how busy it is", () => {
    assert.deepEqual(figure(1.234567, "s"), { value: 1.235, unit: "s" });
    assert.match(describeMachine(), /^\d+ × .+ GiB, .+, Node \d+\.\d+\.\d+, load \d+\.\d$/);
  });

  it("prove statements that hold, of every kind, and never the same twice", () => {
    for (const kind of KIND_NAMES) {
      const [one, other] = [aStatement(kind), aStatement(kind)];
      assert.equal(one.statement.kind, kind);
      assert.notEqual(one.statement.hash, other.statement.hash);
    }
  });

  it("know their suites: another is refused with the list", () => {
    const run = (...args: string[]): { status: number | null; output: string } => {
      const file = path.join(repositoryRoot, "scripts/lab/bench.ts");
      const { status, stdout, stderr } = spawnSync(process.execPath, ["--import", "tsx", file, ...args], {
        cwd: repositoryRoot,
        encoding: "utf8",
      });
      return { status, output: stdout + stderr };
    };
    const help = run("--help");
    assert.equal(help.status, 0);
    assert.match(help.output, /^Usage: npm run bench/);
    for (const args of [[], ["nothing"], ["toString"], ["client", "nothing"], ["client", "--runs", "0"]]) {
      const refused = run(...args);
      assert.equal(refused.status, 2, args.join(" "));
    }
    assert.match(
      run("nothing").output,
      /There is no suite "nothing"\.\nThere are:\n {2}enclave .*\n {2}second .*\n {2}client /,
    );
  });
});
