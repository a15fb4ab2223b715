// Mocha's own "spec" report, and beside it one line of JSON for each file that has ended: counts and failures; at last one
// with the seconds of a processor that all of it took.
// scripts/build/testing/play.mjs reads them. A line is written at once, so that a crash later takes nothing back.
const { ChildProcess } = require("node:child_process");
const { appendFileSync, readFileSync } = require("node:fs");
const { Server } = require("node:net");
const { reporters, Runner } = require("mocha");

const { EVENT_SUITE_BEGIN, EVENT_RUN_END, EVENT_TEST_PASS, EVENT_TEST_FAIL, EVENT_TEST_PENDING } =
  Runner.constants;

module.exports = class Tally extends reporters.Spec {
  constructor(runner, options) {
    super(runner, options);
    if (process.env.CLOISTER_TALLY !== undefined) tally(runner, process.env.CLOISTER_TALLY);
  }
};

function tally(runner, to) {
  const write = (line) => appendFileSync(to, `${JSON.stringify(line)}\n`);
  let current;
  const close = () => {
    if (current === undefined) return;
    write(current);
    if (current.failed > 0) stopWhatIsLeft();
    current = undefined;
  };
  runner.on(EVENT_SUITE_BEGIN, ({ parent, file }) => {
    if (parent?.root !== true || file === current?.file) return;
    close();
    current = { file, passed: 0, failed: 0, skipped: 0, failures: [] };
  });
  runner.on(EVENT_TEST_PASS, () => (current.passed += 1));
  runner.on(EVENT_TEST_PENDING, () => (current.skipped += 1));
  runner.on(EVENT_TEST_FAIL, (test, error) => {
    // Outside every file only the exit code tells of it.
    if (current === undefined) return;
    current.failed += 1;
    current.failures.push(`${test.fullTitle()}\n${String(error?.stack ?? error)}`);
  });
  runner.once(EVENT_RUN_END, () => {
    close();
    write({ end: true, cpu: processorSecs() });
  });
}

/** Of this process and of all that have ended under it. */
function processorSecs() {
  try {
    // proc(5): utime, stime, cutime, cstime, in hundredths; the name before them may hold anything but ")".
    const fields = readFileSync("/proc/self/stat", "latin1").split(") ").at(-1).split(" ");
    return fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks) / 100, 0);
  } catch {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1e6;
  }
}

/**
 * A `before` that fails half-way has no name yet for what it has started, so no `after` stops it. Processes and
 * servers that still run when a failed file has ended would load the machine until the last file.
 */
function stopWhatIsLeft() {
  for (const handle of process._getActiveHandles()) {
    if (handle instanceof ChildProcess) stopGroup(handle);
    if (handle instanceof Server) handle.close();
  }
}

function stopGroup(child) {
  try {
    // Those of a local stack lead a group of their own.
    process.kill(-child.pid, "SIGKILL");
  } catch {
    child.kill("SIGKILL");
  }
}
