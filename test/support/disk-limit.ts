/** A disk that is full for one process: the kernel lets it write nothing behind a place in a file (RLIMIT_FSIZE). */
import { execFileSync, spawnSync } from "node:child_process";

export const canLimitDisk = (): boolean => spawnSync("prlimit", ["--version"]).status === 0;

/** The soft limit only, so that it can be taken back. */
export function limitFiles(pid: number, bytes: number | "unlimited"): void {
  execFileSync("prlimit", ["--pid", String(pid), `--fsize=${String(bytes)}:`]);
}
