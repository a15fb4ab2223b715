import assert from "node:assert/strict";
import { spawnSync, type SpawnSyncReturns } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { campaign, smallest, type Subject } from "../../../../scripts/lab/fuzz/campaign.ts";
import { loadInstrumented, withProbes } from "../../../../scripts/lab/fuzz/instrument.ts";
import { mutate } from "../../../../scripts/lab/fuzz/mutate.ts";
import { Random } from "../../../../scripts/base/random.ts";
import { reshapeAsn1, reshapeCbor } from "../../../../scripts/lab/fuzz/reshape.ts";
import { loadTargets, TARGETS } from "../../../../scripts/lab/fuzz/targets.ts";

/** Five bytes must be right, each behind the one before: one case in 2^40 by chance, five small finds with guidance. */
const guarded = (fault: string): string => `
  export function parse(bytes: Uint8Array): number {
    let sum = 0;
    if (bytes[0] !== 0x63) return 0;
    if (bytes[1] !== 0x6c) return 1;
    if (bytes[2] !== 0x6f) return 2;
    if (bytes[3] !== 0x69) return 3;
    if (bytes[4] !== 0x73) return 4;
    ${fault}
    return sum;
  }`;
const CRASH = 'throw new TypeError("planted");';
const HANG = "while (true) sum++;";
/** Ends, but for each byte goes through all bytes many times. */
const EXPLOSION = "for (const a of bytes) for (const b of bytes) for (const c of bytes) sum += a + b + c;";

async function plant(fault: string): Promise<Subject> {
  const folder = await mkdtemp(path.join(tmpdir(), "cloister-planted-"));
  try {
    const file = path.join(folder, "planted.ts");
    await writeFile(file, guarded(fault));
    const { exports, probe } = await loadInstrumented(`export * from ${JSON.stringify(file)};`, [file]);
    const parse = exports["parse"] as (bytes: Uint8Array) => number;
    return {
      run: (input) => void parse(input),
      seeds: [new Uint8Array(8)],
      // No constants: they would give the five bytes away.
      tokens: [],
      probe,
      workLimit: (bytes) => 100 + 10 * bytes,
      maxBytes: 64,
    };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

describe("scripts/lab/fuzz, guidance", () => {
  const cases = 300_000;

  for (const [what, fault, name] of [
    ["a crash", CRASH, "TypeError"],
    ["a hang", HANG, "WorkExceeded"],
    ["an explosion", EXPLOSION, "WorkExceeded"],
  ] as const) {
    it(`finds ${what} behind five bytes, which blind mutation does not`, async () => {
      const subject = await plant(fault);
      const guided = campaign(subject, { cases, seed: 7 });
      assert.ok(guided.failure);
      assert.equal(guided.failure.error.name, name);
      assert.equal(new TextDecoder().decode(guided.failure.input.slice(0, 5)), "clois");
      assert.ok(guided.reached > guided.reachedBySeeds);

      const blind = campaign(subject, { cases, seed: 7, isGuided: false });
      assert.equal(blind.failure, undefined);
      assert.equal(blind.cases, cases);
    });
  }

  it("finds nothing where nothing is, and keeps to its number of cases", async () => {
    const told: Uint8Array[] = [];
    const outcome = campaign(await plant(""), { cases: 500, seed: 1, onCase: (input) => told.push(input) });
    assert.equal(outcome.failure, undefined);
    assert.equal(outcome.cases, 500);
    assert.equal(told.length, 500);
    assert.ok(outcome.heaviest > 0 && outcome.heaviest < 1);
  });

  it("repeats a run by its seed", async () => {
    const subject = await plant(CRASH);
    const [first, again, other] = [7, 7, 8].map((seed) => campaign(subject, { cases, seed }));
    assert.deepEqual(again, first);
    assert.notEqual(other!.failure?.at, first!.failure?.at);
  });

  it("finds a stop that the parser itself caught", async () => {
    const subject = await plant("try { while (true) sum++; } catch { return 5; }");
    assert.match(campaign(subject, { cases, seed: 7 }).failure?.error.message ?? "", /steps/);
  });

  it("gives the least bytes that fail alike", async () => {
    const subject = await plant(CRASH);
    const { failure } = campaign(subject, { cases, seed: 7 });
    assert.ok(failure);
    assert.equal(new TextDecoder().decode(smallest(subject, failure)), "clois");
  });

  it("fails at a seed that fails", async () => {
    const subject = { ...(await plant(CRASH)), seeds: [new TextEncoder().encode("cloister")] };
    assert.equal(campaign(subject, { cases: 10, seed: 1 }).failure?.at, 0);
  });
});

describe("scripts/lab/fuzz, the watchdog", () => {
  it("ends a process that hangs where no probe is, and says on which case", () => {
    const watchdog = new URL("../../../../scripts/lab/fuzz/watchdog.mjs", import.meta.url).href;
    const hanging = `
      import { Worker } from "node:worker_threads";
      const memory = new SharedArrayBuffer(16);
      new Int32Array(memory, 0, 2)[1] = 2;
      new Uint8Array(memory, 8).set([0xab, 0xcd]);
      const options = { workerData: { memory, limitMs: 100 }, execArgv: [] };
      const worker = new Worker(new URL(${JSON.stringify(watchdog)}), options);
      worker.once("online", () => { while (true); });`;
    const { signal, stderr } = spawnSync(process.execPath, ["--input-type=module", "-e", hanging], {
      encoding: "utf8",
      timeout: 40_000,
    });
    assert.equal(signal, "SIGKILL");
    assert.match(stderr, /^HANG: .*\n {2}input abcd$/m);
  });
});

describe("scripts/lab/fuzz, the command", () => {
  const fuzz = (...args: readonly string[]): SpawnSyncReturns<string> =>
    spawnSync(process.execPath, ["--import", "tsx", "scripts/lab/fuzz.ts", ...args], { encoding: "utf8" });

  it("says which seed it took, and how far it went", () => {
    const { status, stdout } = fuzz("--target", "user-data", "--cases", "200", "--seed", "5");
    assert.equal(status, 0);
    assert.match(stdout, /^200 cases, seed 5$/m);
    assert.match(stdout, /^user-data +200 cases .* places reached/m);
  });

  it("refuses what it does not know", () => {
    assert.equal(fuzz("--target", "none").status, 2);
    assert.equal(fuzz("--cases", "0").status, 2);
    assert.match(fuzz("--help").stdout, /--million/);
  });
});

describe("scripts/lab/fuzz, probes", () => {
  it("stand in every branch and change nothing else", async () => {
    const source = `
      export const pick = (a: number, b?: number): string => (a > 0 && b !== undefined ? "both" : (b ?? a) === 0 ? "none" : "one");
      export function grade(n: number): string {
        switch (n) {
          case 1: return "one";
          default: { let s = ""; for (let i = 0; i < n; i++) s += "x"; return s; }
        }
      }`;
    const { probes, tokens, code } = withProbes(source, 100);
    assert.ok(probes >= 10);
    assert.match(code, /__hit\(100\)/);
    assert.ok(tokens.some((token) => new TextDecoder().decode(token) === "both"));
    const folder = await mkdtemp(path.join(tmpdir(), "cloister-planted-"));
    try {
      const file = path.join(folder, "plain.ts");
      await writeFile(file, source);
      const { exports } = await loadInstrumented(`export * from ${JSON.stringify(file)};`, [file]);
      const { pick, grade } = exports as {
        pick: (a: number, b?: number) => string;
        grade: (n: number) => string;
      };
      assert.deepEqual([pick(1, 2), pick(0), pick(0, 0), pick(3)], ["both", "none", "none", "one"]);
      assert.deepEqual([grade(1), grade(3), grade(0)], ["one", "xxx", ""]);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });
});

describe("scripts/lab/fuzz, cases", () => {
  it("keeps mutated cases within their size", () => {
    const random = new Random(3);
    const corpus = [new Uint8Array(0), new Uint8Array(40), new Uint8Array(64)];
    for (let i = 0; i < 2_000; i++) {
      const made = mutate(random.pick(corpus), random, {
        tokens: [new Uint8Array(8)],
        corpus,
        maxBytes: 64,
      });
      assert.ok(made.length <= 64);
    }
  });

  it("reshapes into what can still be read, and leaves alone what could not", async () => {
    const targets = await loadTargets(["document", "certificate"]);
    const none = Uint8Array.of(0xff);
    assert.equal(reshapeCbor(none, new Random(1)), none);
    assert.equal(reshapeAsn1(none, new Random(1)), none);
    for (const [name, reshape] of [
      ["document", reshapeCbor],
      ["certificate", reshapeAsn1],
    ] as const) {
      const seed = targets.get(name)!.seeds[0]!;
      const made = Array.from({ length: 50 }, (_, i) => reshape(seed, new Random(i)));
      assert.ok(made.filter((bytes) => Buffer.compare(bytes, seed) !== 0).length > 40);
    }
  });

  it("finds no fault in any parser, and goes further than its seeds", async () => {
    const names = Object.keys(TARGETS);
    for (const [name, subject] of await loadTargets(names)) {
      const outcome = campaign(subject, { cases: 1_000, seed: 11 });
      assert.equal(outcome.failure?.error, undefined, name);
      assert.ok(outcome.reached > outcome.reachedBySeeds, name);
      assert.ok(outcome.reachedBySeeds > 10, name);
    }
  });
});
