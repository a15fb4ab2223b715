// Judged by what Node says of a process about itself.
import assert from "node:assert/strict";
import { fork, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { usageOf } from "../../../../../../scripts/lab/bench/sequencer/processes.ts";

interface Told {
  readonly cpuSeconds: number;
  readonly residentMb: number;
}

/** A parent that does nothing, with a child that works until it has used so much, then rests. */
const PARENT = `
import { fork } from "node:child_process";
const child = fork(process.argv[2], { stdio: "ignore" });
child.on("message", (told) => process.send(told));
process.on("disconnect", () => { child.kill("SIGKILL"); process.exit(); });
`;
const CHILD = `
const kept = Buffer.alloc(64e6, 1);
const used = () => { const { user, system } = process.cpuUsage(); return (user + system) / 1e6; };
while (used() < 0.6) kept[0]++;
setInterval(() => process.send({ cpuSeconds: used(), residentMb: process.memoryUsage.rss() / 1e6 }), 50);
process.on("disconnect", () => process.exit());
`;

describe("scripts/lab/bench/sequencer/processes", function () {
  let folder: string;
  let parent: ChildProcess | undefined;
  before(async function () {
    if (!existsSync("/proc/self/stat")) this.skip();
    folder = await mkdtemp(path.join(tmpdir(), "cloister-processes-"));
    await writeFile(path.join(folder, "parent.mjs"), PARENT);
    await writeFile(path.join(folder, "child.mjs"), CHILD);
    parent = fork(path.join(folder, "parent.mjs"), [path.join(folder, "child.mjs")], { execArgv: [] });
  });
  after(async () => {
    if (parent === undefined) return;
    const gone = once(parent, "exit");
    parent.disconnect();
    await gone;
    await rm(folder, { recursive: true });
  });

  it("counts a descendant's processor time and memory with those of the process", async () => {
    const [told] = (await once(parent!, "message")) as [Told];
    const family = usageOf(parent!.pid!);
    assert.ok(family !== undefined);
    assert.ok(
      family.cpuSeconds >= told.cpuSeconds - 0.1,
      `${String(family.cpuSeconds)} of ${String(told.cpuSeconds)}`,
    );
    assert.ok(family.residentMb >= told.residentMb * 0.9);
    // Its parent's whole family holds it as well, and more.
    const ours = usageOf(process.pid);
    assert.ok(ours !== undefined && ours.residentMb > family.residentMb);
  });

  it("knows nothing of a process that is not there", async () => {
    const short = fork(path.join(folder, "parent.mjs"), [path.join(folder, "none.mjs")], { execArgv: [] });
    const { pid } = short;
    short.disconnect();
    await once(short, "exit");
    assert.equal(usageOf(pid!), undefined);
  });
});
