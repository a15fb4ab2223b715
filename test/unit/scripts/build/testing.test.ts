// The test runner: what fails twice is red, what fails once is green and listed, and nothing is repeated in silence.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { mkdir, mkdtemp, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { PROJECT_ROOT } from "../../../support/tree.ts";

interface FileRecord {
  readonly file: string;
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
  readonly failures: readonly string[];
  readonly secs: number;
}
interface Result {
  readonly name: string;
  readonly secs: number;
  readonly records?: readonly FileRecord[];
  readonly broken?: string;
}
const verdict = (await import(path.join(PROJECT_ROOT, "scripts/build/testing/verdict.mjs"))) as {
  readonly filesToPlayAgain: (results: readonly Result[]) => readonly string[];
  readonly withSecondRecords: (
    results: readonly Result[],
    second: readonly FileRecord[],
  ) => { readonly results: readonly Result[]; readonly unsteady: readonly { readonly file: string }[] };
};

describe("test runner", () => {
  describe("plays real files", () => {
    let folder: string;
    before(async () => {
      folder = await mkdtemp(path.join(tmpdir(), "cloister-runner-"));
    });
    after(() => rm(folder, { recursive: true, force: true }));

    /** A test file that counts how often it was loaded, for `playsOf`. */
    async function plant(name: string, body: string): Promise<string> {
      const file = path.join(folder, `${name}.test.ts`);
      const counter = JSON.stringify(`${file}.plays`);
      await writeFile(
        file,
        `import { appendFileSync, existsSync, readFileSync, writeFileSync } from "node:fs";
        import { spawn } from "node:child_process";
        appendFileSync(${counter}, "|");
        const plays = readFileSync(${counter}, "utf8").length;
        const note = ${JSON.stringify(path.join(folder, "note"))};
        ${body}`,
      );
      return file;
    }
    const failing = (name: string, when = "true"): Promise<string> =>
      plant(
        name,
        `describe("${name}", () => { it("holds", () => { if (${when}) throw new Error("not\\nnow"); }); });`,
      );
    const playsOf = (file: string): number => readFileSync(`${file}.plays`, "utf8").length;

    function play(files: readonly string[]): { code: number | null; lines: readonly string[]; list: string } {
      const list = path.join(folder, "unsteady.txt");
      const { status, stdout } = spawnSync(process.execPath, ["scripts/build/test.mjs", ...files], {
        cwd: PROJECT_ROOT,
        env: { ...process.env, CLOISTER_UNSTEADY: list },
        encoding: "utf8",
      });
      return { code: status, lines: stdout.trimEnd().split("\n"), list: readFileSync(list, "utf8") };
    }

    it("a file that fails twice is red, and was played twice", async () => {
      const file = await failing("steady");
      const { code, lines, list } = play([file]);
      assert.equal(code, 1);
      assert.equal(lines.at(-1), "0 passed, 1 failed");
      assert.equal(playsOf(file), 2);
      assert.ok(lines.some((line) => line.startsWith("── once more, alone (1 of 1)")));
      assert.equal(list, "");
    });

    it("a file that fails once is green, and is named above the last line and in the list", async () => {
      const file = await failing("once", "plays === 1");
      const { code, lines, list } = play([file]);
      assert.equal(code, 0);
      assert.equal(lines.at(-1), "1 passed, 0 failed");
      assert.match(lines.at(-2) ?? "", /^UNSTEADY .*once\.test\.ts \(once holds Error: not now .*\)$/);
      assert.equal(list, `${lines.at(-2) ?? ""}\n`);
      assert.equal(playsOf(file), 2);
    });

    it("a crash is the failure of its file and of no other", async () => {
      const before = await plant("a-before", `describe("a", () => { it("holds", () => undefined); });`);
      const crash = await plant("b-crash", `describe("b", () => { it("ends", () => process.exit(0)); });`);
      const behind = await plant("c-behind", `describe("c", () => { it("holds", () => undefined); });`);
      const { code, lines } = play([before, crash, behind]);
      assert.equal(code, 1);
      assert.equal(lines.at(-1), "2 passed, 1 failed");
      assert.ok(
        lines.some((line) => line.includes("its process ended (exit code 0) before it could report")),
      );
      assert.deepEqual([before, crash, behind].map(playsOf), [1, 2, 1]);
    });

    it("a file that cannot be loaded is its own failure alone", async () => {
      const broken = await plant("broken", "throw new Error('no');");
      const whole = await plant("whole", `describe("w", () => { it("holds", () => undefined); });`);
      const { lines } = play([broken, whole]);
      assert.equal(lines.at(-1), "1 passed, 1 failed");
      assert.deepEqual([broken, whole].map(playsOf), [2, 1]);
    });

    it("what a failed `before` has started is stopped when its file ends", async () => {
      const start = `before(async () => {
          const child = spawn(process.execPath, ["-e", "setInterval(() => {}, 1e6)"], { detached: true });
          await new Promise((resolve) => child.once("spawn", resolve));
          writeFileSync(note, String(child.pid));
          throw new Error("half-way");
        });
        it("holds", () => undefined);`;
      const left = await plant("d-left", `describe("d", () => { ${start} });`);
      // The other is played beside it. A killed process is gone a moment later.
      const look = `const end = Date.now() + 120_000;
        for (; Date.now() < end; await new Promise((resolve) => setTimeout(resolve, 20)))
          if (existsSync(note))
            try { process.kill(Number(readFileSync(note, "utf8")), 0); } catch { return; }
        throw new Error("it still runs");`;
      const next = await plant(
        "e-next",
        `describe("e", () => { it("sees it end", async function () { this.timeout(0); ${look} }); });`,
      );
      const { lines } = play([left, next]);
      assert.equal(lines.at(-1), "1 passed, 1 failed");
      assert.equal(playsOf(next), 1);
    });

    it("where more than ten files fail, nothing is played again", async () => {
      const files = await Promise.all(Array.from({ length: 11 }, (_, at) => failing(`many-${String(at)}`)));
      const { code, lines } = play(files);
      assert.equal(code, 1);
      assert.equal(lines.at(-1), "0 passed, 11 failed");
      assert.deepEqual(new Set(files.map(playsOf)), new Set([1]));
    });
  });

  it("notices what was built again, or was deleted, while tests read it", async () => {
    const { writtenSince } = (await import(path.join(PROJECT_ROOT, "scripts/build/testing/built.mjs"))) as {
      writtenSince(ms: number, places: readonly string[], root: string): readonly string[];
    };
    const root = await mkdtemp(path.join(tmpdir(), "cloister-built-"));
    const places = ["kept", "written", "emptied", "absent"];
    const at = new Date("2033-05-18");
    const later = new Date(at.getTime() + 1_000);
    for (const place of places.slice(0, 3)) {
      const folder = path.join(root, place, "deep");
      await mkdir(folder, { recursive: true });
      await writeFile(path.join(folder, "file.js"), "");
      await utimes(path.join(folder, "file.js"), at, place === "written" ? later : at);
      if (place === "emptied") await rm(path.join(folder, "file.js"));
      await utimes(folder, at, place === "emptied" ? later : at);
      await utimes(path.join(root, place), at, at);
    }
    assert.deepEqual(writtenSince(at.getTime(), places, root), ["written", "emptied"]);
    await rm(root, { recursive: true });
  });

  describe("decides", () => {
    const record = (file: string, failed = 0): FileRecord => ({
      ...{ file, passed: 1, failed, skipped: 0, secs: 1 },
      failures: failed > 0 ? [`${file} failed`] : [],
    });
    const suite = (...records: FileRecord[]): Result => ({ name: "unit", secs: 1, records });
    const UNIT = "test/unit/some.test.ts";

    it("to play again what failed, and nothing else", () => {
      assert.deepEqual(verdict.filesToPlayAgain([suite(record(UNIT, 1), record("test/unit/b.test.ts"))]), [
        UNIT,
      ]);
    });

    for (const file of [
      "test/adversarial/p01-no-value-from-nothing.test.ts",
      "test/contract/vectors/pool.test.ts",
      "test/faults/seeded/seeded.test.ts",
    ])
      it(`to play nothing again where ${file} failed`, () => {
        readFileSync(path.join(PROJECT_ROOT, file));
        assert.deepEqual(verdict.filesToPlayAgain([suite(record(UNIT, 1), record(file, 1))]), []);
      });

    it("to play nothing again where a check is red", () => {
      const lint = { name: "lint", secs: 1, broken: "2 errors" };
      assert.deepEqual(verdict.filesToPlayAgain([suite(record(UNIT, 1)), lint]), []);
    });

    it("by the second record, and keeps the first failure's text for what passed then", () => {
      const other = "test/unit/other.test.ts";
      const { results, unsteady } = verdict.withSecondRecords(
        [suite(record(UNIT, 1), record(other, 1))],
        [record(UNIT), record(other, 2)],
      );
      assert.deepEqual(unsteady, [{ file: UNIT, text: `${UNIT} failed` }]);
      assert.deepEqual(
        results[0]?.records?.map(({ failed }) => failed),
        [0, 2],
      );
    });
  });
});
