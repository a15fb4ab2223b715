// A child process of the local stack, in a process group of its own, so that Ctrl-C reaches the supervisor alone and it
// decides who goes first. It does not outlive its owner.
import type { ChildProcess } from "node:child_process";
import { PATIENCE_MS, poll } from "./poll.ts";
import { dieWithOwner } from "./watchdog.ts";

export interface Child {
  readonly pid: number;
  /** Resolves with a description when the process is gone, however that came. */
  readonly ended: Promise<string>;
  /** SIGTERM, and SIGKILL when it does not go. Harmless when called twice. */
  stop(): Promise<void>;
  /** SIGKILL: for tests that crash a party. */
  kill(): Promise<void>;
}

const STOP_WITHIN_MS = 15_000;

/** Of a child that was spawned `detached`. */
export function supervised(child: ChildProcess): Child {
  const ended = new Promise<string>((resolve) => {
    child.once("error", (error) => resolve(error.message));
    child.once("close", (code, signal) => resolve(signal ?? `exit code ${String(code)}`));
  });
  void ended.then(dieWithOwner(child.pid));
  return {
    pid: child.pid ?? -1,
    ended,
    stop: async () => {
      const force = setTimeout(() => child.kill("SIGKILL"), STOP_WITHIN_MS);
      child.kill("SIGTERM");
      await ended;
      clearTimeout(force);
    },
    kill: async () => {
      child.kill("SIGKILL");
      await ended;
    },
  };
}

/** What `look` finds once the child is ready; throws what `failure` makes of the reason why it is not, and kills it. */
export async function untilReady<T extends object | true>(
  child: Child,
  look: () => T | undefined | Promise<T | undefined>,
  failure: (how: string) => Error | Promise<Error>,
): Promise<T> {
  let how: string | undefined;
  void child.ended.then((text) => (how = text));
  const found = await poll(async () => how ?? (await look()), PATIENCE_MS, 25);
  if (typeof found === "object" || found === true) return found;
  await child.kill();
  throw await failure(found ?? `not ready after ${String(PATIENCE_MS / 1000)} s`);
}
