// `npm run simulate` as a process: its page, its JSON, its refusals.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import path from "node:path";
import { FIGURE_NAMES } from "../../../../../scripts/lab/simulate/measured.ts";
import { PROJECT_ROOT } from "../../../../support/tree.ts";

interface Ended {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

interface Told {
  readonly figures: Record<string, { value: number; source: string }>;
  readonly hosts: {
    readonly hosts: number;
    readonly tickets_per_second: number;
    readonly breaks_first: string;
    readonly bounds: Record<string, number>;
    readonly at_load: Record<string, number> | null;
    readonly twice_as_good: Record<string, number>;
  }[];
}

function run(...args: string[]): Ended {
  const file = path.join(PROJECT_ROOT, "scripts/lab/simulate.ts");
  const { status, stdout, stderr } = spawnSync(process.execPath, ["--import", "tsx", file, ...args], {
    cwd: PROJECT_ROOT,
    encoding: "utf8",
  });
  return { code: status, out: stdout, err: stderr };
}

const told = ({ code, out, err }: Ended): Told => {
  assert.deepEqual([code, err], [0, ""]);
  return JSON.parse(out.trim().split("\n").at(-1) ?? "") as Told;
};

describe("simulate: command", function () {
  this.timeout(60_000);

  it("explains itself and every figure", () => {
    const { code, out, err } = run("--help");
    assert.deepEqual([code, err], [0, ""]);
    assert.match(out, /^Usage: npm run simulate/);
    for (const name of FIGURE_NAMES) assert.match(out, new RegExp(`^ {2}--${name} N `, "m"));
  });

  it("says for one host, ten and a hundred what they carry and what breaks first", () => {
    const { code, out } = run("--arrivals", "2000");
    assert.equal(code, 0);
    for (const hosts of ["1 host", "10 hosts", "100 hosts"])
      assert.match(out, new RegExp(`^${hosts}: calls in flight`, "m"));
    assert.match(out, /twice as good: in-flight /);
  });

  it("--json: one object last, the same for the same question, with every figure's source", () => {
    const [one, again] = [run("--json", "--arrivals", "2000"), run("--json", "--arrivals", "2000")];
    assert.equal(one.out, again.out);
    const { figures, hosts } = told(one);
    assert.deepEqual(Object.keys(figures), FIGURE_NAMES);
    assert.equal(figures["verifications"]?.source, "test/bench/enclave.md");
    assert.deepEqual(
      hosts.map(({ hosts: count, breaks_first }) => [count, breaks_first]),
      [1, 10, 100].map((count) => [count, "in-flight"]),
    );
    for (const { tickets_per_second, bounds, at_load } of hosts) {
      assert.equal(tickets_per_second, Math.min(...Object.values(bounds)));
      assert.ok(at_load !== null && at_load["confirm_p50_s"]! < at_load["confirm_p99_s"]!);
    }
  });

  it("takes another figure for each, and says so", () => {
    const ended = run(
      "--json",
      "--hosts",
      "100",
      "--redis",
      "2150",
      "--block-time",
      "0.5",
      "--kind",
      "deposit",
    );
    const { figures, hosts } = told(ended);
    assert.deepEqual(figures["redis"], { value: 2_150, unit: "1/s", source: "an option" });
    assert.equal(hosts[0]?.breaks_first, "redis");
    assert.ok((hosts[0].twice_as_good["redis"] ?? 0) > hosts[0].tickets_per_second);
    assert.match(ended.out, /Other than measured: block-time 0\.5, redis 2,150\./);
  });

  it("says when nothing is carried at all", () => {
    const ended = run("--json", "--block-gas", "1000", "--hosts", "1");
    assert.equal(told(ended).hosts[0]?.at_load, null);
    assert.match(ended.out, /nothing is carried/);
  });

  it("refuses what is no figure with exit code 2", () => {
    for (const args of [
      ["--members", "0"],
      ["--members", "1.5"],
      ["--poll", "-1"],
      ["--redis", "many"],
      ["--hosts", "1,,2"],
      ["--kind", "private-swap"],
      ["--kind", "toString"],
      ["--no-such-option"],
      ["something"],
    ]) {
      const { code, out, err } = run(...args);
      assert.deepEqual([code, out], [2, ""], args.join(" "));
      assert.match(err, /See --help\.\n$/);
    }
  });
});
