// `npm run check:release` on a small project of its own: what it records, what it leaves out, and what it refuses.
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { PROJECT_ROOT } from "../../../support/tree.ts";

interface Row {
  readonly part: string;
  readonly commit: string;
  readonly date: string;
}
const { PARTS, readReleased, writtenReleased, ageOf } = (await import(
  path.join(PROJECT_ROOT, "scripts/build/testing/released.mjs")
)) as {
  readonly PARTS: Readonly<Record<string, readonly string[]>>;
  readReleased(text?: string): Map<string, Row>;
  writtenReleased(rows: ReadonlyMap<string, Row>): string;
  ageOf(rows: ReadonlyMap<string, Row>, now?: number): string;
};
const { SUITES, CHECK_NAMES } = (await import(
  path.join(PROJECT_ROOT, "scripts/build/testing/suites.mjs")
)) as { readonly SUITES: object; readonly CHECK_NAMES: readonly string[] };

describe("release check", () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(path.join(tmpdir(), "cloister-release-"));
    for (const place of ["scripts/build/testing", "test"])
      mkdirSync(path.join(folder, place), { recursive: true });
    for (const name of ["release.mjs", "testing/released.mjs", "testing/suites.mjs"])
      copyFileSync(path.join(PROJECT_ROOT, "scripts/build", name), path.join(folder, "scripts/build", name));
    git("init", "--quiet");
    commit("");
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  function git(...args: string[]): string {
    const identity = ["-c", "user.name=a", "-c", "user.email=a@b.example", "-c", "commit.gpgsign=false"];
    return execFileSync("git", [...identity, ...args], { cwd: folder, encoding: "utf8" }).trim();
  }
  /** `npm test` of the small project notes its arguments, and is red for one of them. */
  function commit(red: string): string {
    const program = `import { appendFileSync } from "node:fs";
      const args = process.argv.slice(2);
      appendFileSync(${JSON.stringify(path.join(folder, ".git/plays"))}, args.join(" ") + "\\n");
      const isRed = args.includes(${JSON.stringify(red)});
      console.log(isRed ? "1 passed, 1 failed" : "2 passed, 0 failed");
      process.exitCode = isRed ? 1 : 0;`;
    writeFileSync(path.join(folder, "scripts/build/test.mjs"), program);
    git("add", "-A");
    git("commit", "--quiet", "--allow-empty", "-m", "a");
    return git("rev-parse", "HEAD");
  }
  const check = (...args: string[]) =>
    spawnSync(process.execPath, [path.join(folder, "scripts/build/release.mjs"), ...args], {
      encoding: "utf8",
    });
  const rows = (): Map<string, Row> => {
    const file = path.join(folder, "test/RELEASED.md");
    return readReleased(existsSync(file) ? readFileSync(file, "utf8") : "");
  };
  const plays = (): number => readFileSync(path.join(folder, ".git/plays"), "utf8").split("\n").length - 1;

  it("plays every suite and every check in some part", () => {
    const names = Object.values(PARTS).flat();
    for (const name of [...Object.keys(SUITES), ...CHECK_NAMES]) assert.ok(names.includes(name), name);
  });

  it("records each part, and on the same commit plays none again but when asked to", () => {
    const id = git("rev-parse", "HEAD");
    assert.equal(check().status, 0);
    assert.deepEqual([...rows().keys()], Object.keys(PARTS));
    for (const { commit: of } of rows().values()) assert.equal(of, id);
    const count = plays();
    assert.match(check().stdout, /was green on this commit/);
    assert.equal(plays(), count);
    assert.equal(check("random", "--anew").status, 0);
    assert.equal(plays(), count + 1);
  });

  it("ends with a part that is red, and goes on there on the next commit", () => {
    commit("chain");
    const { status, stderr } = check();
    assert.equal(status, 1);
    assert.match(stderr, /^chain: RED .*1 passed, 1 failed/);
    assert.deepEqual([...rows().keys()], ["checks", "random"]);
    assert.match(ageOf(rows()), /chain, contract, .* never played/);
  });

  it("refuses what is not committed, and what is no part", () => {
    writeFileSync(path.join(folder, "new.txt"), "");
    assert.match(check().stderr, /not committed/);
    assert.equal(check("nonsense").status, 2);
    assert.equal(rows().size, 0);
  });

  it("says how old the oldest part is, and of how many commits they are", () => {
    const made = new Map(
      Object.keys(PARTS).map((part, i) => {
        const row = { part, date: i === 0 ? "2026-11-20" : "2026-11-25", commit: i === 0 ? "a" : "b" };
        return [part, { ...row, seed: "1", minutes: "2.0", counts: "2 passed, 0 failed", unsteady: "none" }];
      }),
    );
    assert.deepEqual(readReleased(writtenReleased(made)), made);
    const now = Date.parse("2026-11-28T12:00:00Z");
    assert.equal(ageOf(made, now), "release check: 8 days old, of 2 commits");
  });
});
