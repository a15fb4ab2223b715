// `npm run gate` on a small project of its own: what it proves, what it leaves out, and that nothing is left behind.
import assert from "node:assert/strict";
import { execFileSync, spawn, type ChildProcess } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { PROJECT_ROOT } from "../../../support/tree.ts";
import { until } from "../../../support/until.ts";

const GREEN = "echo 'UNSTEADY test/a.test.ts (b)'; echo '3 passed, 0 failed'";

describe("gate", () => {
  let folder: string;
  let project: string;
  /** Where the gates make their folders. */
  let temporary: string;
  beforeEach(async () => {
    folder = await mkdtemp(path.join(tmpdir(), "cloister-gate-"));
    project = path.join(folder, "project");
    temporary = path.join(folder, "temporary");
    for (const place of [".ci", "scripts/build", "test", "../temporary"])
      mkdirSync(path.join(project, place), { recursive: true });
    for (const name of ["gate.mjs", "gate-guard.mjs"])
      copyFileSync(path.join(PROJECT_ROOT, "scripts/build", name), path.join(project, "scripts/build", name));
    git("init", "--quiet");
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  function git(...args: string[]): string {
    const identity = ["-c", "user.name=a", "-c", "user.email=a@b.example", "-c", "commit.gpgsign=false"];
    return execFileSync("git", [...identity, ...args], { cwd: project, encoding: "utf8" }).trim();
  }
  const write = (script: string): void =>
    writeFileSync(path.join(project, ".ci/run"), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  function commit(script: string): string {
    write(script);
    git("add", "-A");
    git("commit", "--quiet", "-m", "a");
    return git("rev-parse", "HEAD");
  }
  function start(...args: string[]): ChildProcess {
    return spawn(process.execPath, [path.join(project, "scripts/build/gate.mjs"), ...args], {
      env: { ...process.env, TMPDIR: temporary, CLOISTER_GATE_OF: folder },
      stdio: ["ignore", "pipe", "pipe"],
    });
  }
  async function endOf(child: ChildProcess): Promise<{ code: number | null; said: string }> {
    let said = "";
    for (const stream of [child.stdout, child.stderr]) stream?.on("data", (text) => (said += String(text)));
    const code = await new Promise<number | null>((resolve) => child.once("close", resolve));
    return { code, said };
  }
  const proof = (): string | undefined => {
    const file = path.join(project, ".git/gate-green");
    return existsSync(file) ? readFileSync(file, "utf8") : undefined;
  };

  const lastGreen = (): unknown => {
    const file = path.join(project, "test/last-green.json");
    return existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : undefined;
  };

  it("proves a green commit, and leaves nothing", async () => {
    const id = commit(GREEN);
    const { code, said } = await endOf(start());
    assert.equal(code, 0, said);
    const [first, second] = (proof() ?? "").split("\n");
    assert.equal(first, id);
    assert.match(second ?? "", /^\d{4}-\d\d-\d\dT[\d:.]+Z, [\d.]+ min, 3 passed, 0 failed, 1 unsteady$/);
    assert.deepEqual(readdirSync(temporary), []);
    assert.deepEqual(lastGreen(), { commit: id, gates: 1 });
    const next = commit(GREEN);
    assert.equal((await endOf(start())).code, 0);
    assert.deepEqual(lastGreen(), { commit: next, gates: 2 });
  });

  it("proves nothing of a red one", async () => {
    commit("echo '2 passed, 1 failed'; exit 1");
    assert.equal((await endOf(start())).code, 1);
    assert.equal(proof(), undefined);
    assert.equal(lastGreen(), undefined);
  });

  it("plays the commit, not what was changed since, and says so", async () => {
    commit(GREEN);
    write("exit 1");
    const { code, said } = await endOf(start());
    assert.equal(code, 0);
    assert.match(said, /the uncommitted changes here are not part of it/);
  });

  it("leaves the clone when it is asked to", async () => {
    commit(GREEN);
    const { said } = await endOf(start("--keep"));
    const clone = /^gate: \w+ in (.*)$/m.exec(said)?.[1] ?? "";
    assert.ok(existsSync(path.join(clone, ".ci/run")), said);
  });

  it("refuses to run beside another; killed, it leaves no process, no folder and no lock", async () => {
    const pids = path.join(folder, "pids");
    // One child in a group of its own, as a stack's are.
    commit(`setsid sleep 100000 & echo "$! $$" > ${pids}; exec sleep 100000`);
    const killed = start();
    const written = await until(
      "the gate to be at work",
      () => existsSync(pids) && readFileSync(pids, "utf8"),
    );
    const { code, said } = await endOf(start());
    assert.equal(code, 1);
    assert.match(said, /another gate runs/);
    killed.kill("SIGKILL");
    const isAlive = (pid: string): boolean => {
      // A zombie that nobody has asked for yet has ended too.
      const state = `/proc/${pid}/stat`;
      return existsSync(state) && !/\) Z /.test(readFileSync(state, "utf8"));
    };
    await until("all of it to end", () => !written.trim().split(" ").some(isAlive));
    await until("the folder to go", () => readdirSync(temporary).length === 0);
    commit(GREEN);
    assert.equal((await endOf(start())).code, 0);
  });
});
