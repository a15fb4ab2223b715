// Ends a child when its owner is killed too hard to do it itself (SIGKILL, a crash): a shell waits on a
// pipe that only the owner holds. Otherwise an orphaned chain would go on writing the state file that the
// next start loads.
import { spawn } from "node:child_process";

/** Calls the watch off; to be called when the child has ended. */
export type Release = () => void;

/** SIGTERM at once, so that the child can save what it has, and SIGKILL ten seconds later. */
const ORDERLY = 'read -r _; kill -TERM "$1"; sleep 10; kill -KILL "$1"';
const AT_ONCE = 'read -r _; kill -KILL "$1"';

export function dieWithOwner(pid: number | undefined, { orderly = true } = {}): Release {
  if (pid === undefined) return () => undefined;
  const guard = spawn("/bin/sh", ["-c", orderly ? ORDERLY : AT_ONCE, "sh", String(pid)], {
    env: process.env["PATH"] === undefined ? {} : { PATH: process.env["PATH"] },
    stdio: ["pipe", "ignore", "ignore"],
    // Ctrl-C is for the owner; the guard must outlive it.
    detached: true,
  });
  guard.unref();
  guard.on("error", () => undefined);
  return () => void guard.kill("SIGKILL");
}
