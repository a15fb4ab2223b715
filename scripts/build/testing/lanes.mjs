// Jobs side by side, as many as the machine bears.
import { readFileSync } from "node:fs";
import { availableParallelism } from "node:os";

const MOST = 6;
/** Per cent of the last ten seconds in which something waited for a processor: below it there is room. */
const ROOM = 40;
/** What was just started shows in the figure after a few seconds. */
const BETWEEN_MS = 3_000;

/** Undefined where the kernel does not tell (Linux before 4.20, other systems). */
function pressure() {
  try {
    return Number(/^some avg10=([0-9.]+)/.exec(readFileSync("/proc/pressure/cpu", "utf8"))?.[1]);
  } catch {
    return undefined;
  }
}

/**
 * Runs all jobs, in their order. Two at least on two processors: what else runs on the machine counts in the kernel's
 * figure too. `most` bounds how many.
 */
export async function sideBySide(jobs, most = MOST) {
  const least = Math.min(2, availableParallelism(), most);
  const waiting = [...jobs];
  const running = new Set();
  let startedAt = 0;
  const hasRoom = () => {
    if (running.size < least) return true;
    const now = pressure();
    return (
      running.size < most && now !== undefined && now < ROOM && performance.now() - startedAt > BETWEEN_MS
    );
  };
  while (waiting.length > 0 || running.size > 0) {
    if (waiting.length > 0 && hasRoom()) {
      const job = waiting.shift();
      startedAt = performance.now();
      const done = job().finally(() => running.delete(done));
      running.add(done);
      continue;
    }
    let timer;
    const aMoment = new Promise((resolve) => (timer = setTimeout(resolve, 1_000)));
    await Promise.race([...running, aMoment]);
    clearTimeout(timer);
  }
}
