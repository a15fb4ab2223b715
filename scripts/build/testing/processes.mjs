// Processes of the test runner: each in a group of its own that ends with it, and an end for what stands still.
import { spawn } from "node:child_process";
import { statSync, writeFileSync } from "node:fs";
import { constants, setPriority } from "node:os";
import { ROOT } from "./suites.mjs";

/** Longer than any one file or check takes on a slow machine. A hang must end as a failure, not as a lost machine. */
const STILL_LIMIT_MS = 30 * 60_000;
/** What has reported all its files and does not end has left a server or a process running. */
const LINGER_LIMIT_MS = 60_000;

/** What ends each process group that runs now. */
const running = new Set();
for (const signal of ["SIGINT", "SIGTERM"]) {
  process.once(signal, () => {
    for (const end of running) end("SIGKILL");
    process.exit(130);
  });
}

/**
 * Runs `node args` to its end and resolves to its exit code. `listen` receives what it says. `isIdle` runs it in time
 * that nobody else wants. `progress` grows as long as it works on, and `isComplete` says whether nothing is to come.
 */
export function run(args, { env = {}, listen, isIdle = false, progress, isComplete = () => false } = {}) {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, args, {
      cwd: ROOT,
      env: { ...process.env, ...env },
      stdio: ["ignore", ...(listen === undefined ? ["inherit", "inherit"] : ["pipe", "pipe"])],
      detached: process.platform !== "win32",
    });
    if (isIdle) yieldToOthers(child.pid);
    for (const stream of listen === undefined ? [] : ["stdout", "stderr"])
      child[stream].setEncoding("utf8").on("data", listen);
    const end = (signal) => {
      try {
        process.kill(process.platform === "win32" ? child.pid : -child.pid, signal);
      } catch {
        // It has ended by itself.
      }
    };
    running.add(end);

    let size = 0;
    let grewAt = performance.now();
    const watch = setInterval(() => {
      const now = performance.now();
      const is = sizeOf(progress);
      if (is !== size) [size, grewAt] = [is, now];
      const lingers = now - grewAt > LINGER_LIMIT_MS && isComplete();
      if (!lingers && now - grewAt < STILL_LIMIT_MS) return;
      console.error(lingers ? "\nreported, but something is still running: ended" : "\nstands still: ended");
      end("SIGKILL");
    }, 1_000);

    child.on("close", (code) => {
      clearInterval(watch);
      running.delete(end);
      end("SIGKILL");
      resolve(code ?? 1);
    });
  });
}

function sizeOf(file) {
  return file === undefined ? 0 : (statSync(file, { throwIfNoEntry: false })?.size ?? 0);
}

/** Where Linux groups processes by session (sched(7), "autogroup"), only the group's own value counts between them. */
function yieldToOthers(pid) {
  try {
    setPriority(pid, constants.priority.PRIORITY_LOW);
    writeFileSync(`/proc/${pid}/autogroup`, String(constants.priority.PRIORITY_LOW));
  } catch {
    // It has ended, or this system has no such groups.
  }
}
