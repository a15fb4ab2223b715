// Processes of the test runner: each in a group of its own that ends with it, and an end for what stands still.
import { spawn } from "node:child_process";
import { ROOT } from "./suites.mjs";

/** Longer than any check takes on a slow machine. A hang must end as a failure, not as a lost machine. */
const LIMIT_MS = 30 * 60_000;
/** What has reported and does not end has left a server or a process running. */
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
 * Runs `node args` to its end, or ends it and all that is in its group. Resolves to its exit code, and to `why` it was
 * ended. `listen` receives what it says. `isComplete` says whether nothing is to come.
 */
export function run(args, { env = {}, listen, limitMs = LIMIT_MS, isComplete } = {}) {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, args, {
      cwd: ROOT,
      env: { ...process.env, ...env },
      stdio: ["ignore", ...(listen === undefined ? ["inherit", "inherit"] : ["pipe", "pipe"])],
      detached: process.platform !== "win32",
    });
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

    const began = performance.now();
    let completeAt;
    let why;
    const watch = setInterval(() => {
      const now = performance.now();
      if (completeAt === undefined && isComplete?.()) completeAt = now;
      const lingers = completeAt !== undefined && now - completeAt > LINGER_LIMIT_MS;
      if (!lingers && now - began < limitMs) return;
      why = lingers
        ? "it left something running and was ended"
        : `it was ended after ${Math.round(limitMs / 1000)} s`;
      end("SIGKILL");
    }, 1_000);

    child.on("close", (code) => {
      clearInterval(watch);
      running.delete(end);
      end("SIGKILL");
      resolve({ code: code ?? 1, why });
    });
  });
}
