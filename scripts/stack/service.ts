// One child process of a local stack: started with its log in a file, ready when it says so in one
// line of JSON, stopped in order. In a process group of its own, so that Ctrl-C reaches the
// supervisor alone and it decides who goes first.
import { spawn } from "node:child_process";
import { createWriteStream } from "node:fs";
import { mkdir, readFile } from "node:fs/promises";
import path from "node:path";
import { createInterface } from "node:readline";
import { dieWithOwner } from "./watchdog.ts";

export interface ServiceOptions {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  /** The whole environment: nothing is inherited that is not named. */
  readonly env: Readonly<Record<string, string>>;
  /** Standard output and error are appended here. */
  readonly logFile: string;
  /** True for the line of standard output that means "ready". */
  readonly isReady: (line: Readonly<Record<string, unknown>>) => boolean;
  readonly readyWithinMs?: number;
}

export interface Service {
  readonly name: string;
  readonly pid: number;
  /** The line that said ready. */
  readonly ready: Readonly<Record<string, unknown>>;
  /** Resolves with a description when the process is gone, however that came. */
  readonly ended: Promise<string>;
  /** SIGTERM, and SIGKILL when it does not go. */
  stop(): Promise<void>;
  /** SIGKILL: for tests that crash a party. */
  kill(): Promise<void>;
}

const READY_WITHIN_MS = 60_000;
const STOP_WITHIN_MS = 15_000;

export async function startService(options: ServiceOptions): Promise<Service> {
  await mkdir(path.dirname(options.logFile), { recursive: true });
  const log = createWriteStream(options.logFile, { flags: "a", mode: 0o600 });
  const child = spawn(options.command, options.args, {
    env: options.env,
    stdio: ["ignore", "pipe", "pipe"],
    detached: true,
  });
  child.stderr.pipe(log, { end: false });
  const ended = new Promise<string>((resolve) => {
    child.once("error", (error) => resolve(error.message));
    child.once("close", (code, signal) => resolve(signal ?? `exit code ${String(code)}`));
  });
  const release = dieWithOwner(child.pid);
  void ended.then(() => {
    release();
    log.end();
  });

  child.stdout.pipe(log, { end: false });
  const said = new Promise<Record<string, unknown>>((resolve) => {
    const lines = createInterface({ input: child.stdout });
    lines.on("line", (line) => {
      const parsed = parseLine(line);
      if (parsed === undefined || !options.isReady(parsed)) return;
      resolve(parsed);
      // A service says a line for each request; after this one nobody reads them.
      lines.close();
      child.stdout.resume();
    });
  });
  let timer: NodeJS.Timeout | undefined;
  const tooLate = new Promise<string>((resolve) => {
    const limit = options.readyWithinMs ?? READY_WITHIN_MS;
    timer = setTimeout(() => resolve(`not ready after ${String(limit / 1000)} s`), limit);
  });
  const outcome = await Promise.race([said, ended, tooLate]);
  clearTimeout(timer);
  if (typeof outcome === "string") {
    child.kill("SIGKILL");
    throw new Error(`${options.name} did not start (${outcome}):\n${await lastLines(options.logFile)}`);
  }
  return {
    name: options.name,
    pid: child.pid ?? -1,
    ready: outcome,
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

/** What a Node program needs from the surroundings, and nothing else: no credential of the developer's shell gets in. */
export function childEnvironment(): Record<string, string> {
  const passed: Record<string, string> = {};
  for (const name of ["PATH", "HOME", "TMPDIR", "NODE_V8_COVERAGE"]) {
    const value = process.env[name];
    if (value !== undefined) passed[name] = value;
  }
  return passed;
}

/** The end of a log, for an error message. */
export async function lastLines(file: string, count = 15): Promise<string> {
  const text = await readFile(file, "utf8").catch(() => "");
  return text.trimEnd().split("\n").slice(-count).join("\n");
}

function parseLine(line: string): Record<string, unknown> | undefined {
  if (!line.startsWith("{")) return undefined;
  try {
    return JSON.parse(line) as Record<string, unknown>;
  } catch {
    return undefined;
  }
}
