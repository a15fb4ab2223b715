// One of our programs as a part of a local stack: its log is in a file, and it is ready when it says so in one line of
// JSON.
import { spawn } from "node:child_process";
import { createWriteStream } from "node:fs";
import { mkdir, readFile } from "node:fs/promises";
import path from "node:path";
import { createInterface } from "node:readline";
import { nodeArguments } from "./programs.ts";
import { supervised, untilReady, type Child } from "./child.ts";
import { poll } from "./poll.ts";

export interface ServiceOptions {
  readonly name: string;
  /** Path of a TypeScript program in the repository. */
  readonly program: string;
  readonly args?: readonly string[];
  /** Its environment, with `childEnvironment`: nothing else is inherited. */
  readonly settings?: Readonly<Record<string, string>>;
  /** Standard output and error are appended here. */
  readonly logFile: string;
  /** True for the line of standard output that means "ready". */
  readonly isReady: (line: Readonly<Record<string, unknown>>) => boolean;
}

export interface Service extends Child {
  readonly name: string;
  /** The line that said ready. */
  readonly ready: Readonly<Record<string, unknown>>;
}

export async function startService(options: ServiceOptions): Promise<Service> {
  const { name, program, args = [], settings, logFile, isReady } = options;
  await mkdir(path.dirname(logFile), { recursive: true });
  const log = createWriteStream(logFile, { flags: "a", mode: 0o600 });
  const spawned = spawn(process.execPath, [...(await nodeArguments(program)), ...args], {
    env: { ...childEnvironment(), ...settings },
    stdio: ["ignore", "pipe", "pipe"],
    detached: true,
  });
  const { stdout, stderr } = spawned;
  stdout.pipe(log, { end: false });
  stderr.pipe(log, { end: false });
  const child = supervised(spawned);
  void child.ended.then(() => log.end());

  let said: Record<string, unknown> | undefined;
  const lines = createInterface({ input: stdout });
  lines.on("line", (line) => {
    const parsed = parseLine(line);
    if (parsed === undefined || !isReady(parsed)) return;
    said ??= parsed;
    // A service says a line for each request; after this one nobody reads them.
    lines.close();
    stdout.resume();
  });
  const ready = await untilReady(
    child,
    () => said,
    async (how) => new Error(`${name} did not start (${how}):\n${await lastLines(logFile)}`),
  );
  return { ...child, name, ready };
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
export async function lastLines(file: string): Promise<string> {
  const text = await readFile(file, "utf8").catch(() => "");
  return text.trimEnd().split("\n").slice(-15).join("\n");
}

/** The lines of JSON in a log that its program may be writing: the last one counts when it is whole. */
export async function loggedLines(file: string): Promise<Record<string, unknown>[]> {
  const lines = (await readFile(file, "utf8")).split("\n");
  return lines.map(parseLine).filter((line) => line !== undefined);
}

/**
 * The newest line of a log that fits. Lines are written behind the work that they tell of, so it is waited for; undefined
 * when none comes.
 */
export function lineOfLog(
  file: string,
  fits: (line: Readonly<Record<string, unknown>>) => boolean,
  withinMs?: number,
): Promise<Record<string, unknown> | undefined> {
  return poll(async () => (await loggedLines(file)).findLast(fits), withinMs);
}

function parseLine(line: string): Record<string, unknown> | undefined {
  if (!line.startsWith("{")) return undefined;
  try {
    return JSON.parse(line) as Record<string, unknown>;
  } catch {
    return undefined;
  }
}
