// What is alive in the relay after a collection, as bridges/tell-memory.mjs tells it.

import { readFile, rm } from "node:fs/promises";
import path from "node:path";
import { poll } from "../../../base/poll.ts";
import { usageOf } from "../sequencer/processes.ts";

export interface Standing {
  /** Objects, and the buffers that they hold outside the heap. */
  readonly liveMb: number;
  /** Of the process, right after the collection; NaN where the platform does not tell. */
  readonly anonymousMb: number;
}

const WITHIN_MS = 30_000;
const memoryFile = (folder: string): string => path.join(folder, "memory.json");

/** For its environment. */
export function memorySettings(folder: string): Readonly<Record<string, string>> {
  return {
    NODE_OPTIONS: `--import ${new URL("tell-memory.mjs", import.meta.url).href}`,
    BENCH_MEMORY_FILE: memoryFile(folder),
  };
}

export async function memoryOf(pid: number, folder: string): Promise<Standing> {
  const file = memoryFile(folder);
  await rm(file, { force: true });
  process.kill(pid, "SIGUSR2");
  const text = await poll(() => readFile(file, "utf8").catch(() => undefined), WITHIN_MS);
  if (text === undefined) throw new Error("the relay did not tell its memory");
  const { heapUsed, external } = JSON.parse(text) as NodeJS.MemoryUsage;
  return { liveMb: (heapUsed + external) / 1e6, anonymousMb: usageOf(pid)?.anonymousMb ?? NaN };
}
