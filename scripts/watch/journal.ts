/**
 * What the watcher remembers from run to run: one line for each block in which the pool said something, and
 * how far it has read. The folder is the watcher's own and is believed; that it still fits the chain is not.
 */
import { createReadStream, existsSync } from "node:fs";
import { appendFile, mkdir, open, readFile, rename, writeFile } from "node:fs/promises";
import path from "node:path";
import { createInterface } from "node:readline";
import type { Bytes32 } from "../../shared/protocol/brands.ts";
import type { Home } from "../../shared/protocol/statements.ts";
import type { BlockRecord } from "./changes.ts";

export interface Place {
  readonly number: number;
  /** Undefined before the first block that is read. */
  readonly hash: Bytes32 | undefined;
}

export interface Progress {
  /** Read to here. */
  readonly position: Place;
  /** To here, log and pool were found to agree. */
  readonly sound: Place;
}

export interface Journal {
  /** Undefined when nothing was read yet. */
  progress(): Progress | undefined;
  /** In order of the chain. */
  records(): AsyncIterable<BlockRecord>;
  append(records: readonly BlockRecord[], progress: Progress): Promise<void>;
  /** Forgets every record above the progress's position. */
  cut(progress: Progress): Promise<void>;
}

/** A folder that cannot be used, for the person at the keyboard. */
export class JournalError extends Error {}

/** For a run that leaves nothing behind. */
export function memoryJournal(): Journal {
  let kept: BlockRecord[] = [];
  let reached: Progress | undefined;
  return {
    progress: () => reached,
    async *records() {
      yield* kept;
    },
    append: async (records, progress) => {
      kept.push(...records);
      reached = progress;
    },
    cut: async (progress) => {
      kept = kept.filter(({ number }) => number <= progress.position.number);
      reached = progress;
    },
  };
}

const VERSION = 5;

export async function fileJournal(folder: string, home: Home, fromBlock: number): Promise<Journal> {
  const recordsFile = path.join(folder, "blocks.jsonl");
  const progressFile = path.join(folder, "progress.json");
  const head = { version: VERSION, chain_id: String(home.chainId), pool: home.pool, from_block: fromBlock };
  await mkdir(folder, { recursive: true });

  const saved = (await readJson(progressFile)) as (typeof head & Progress) | undefined;
  const differs = (Object.keys(head) as (keyof typeof head)[]).find(
    (key) => saved !== undefined && saved[key] !== head[key],
  );
  if (differs !== undefined) {
    throw new JournalError(`${folder} was written with another ${differs}; give another --state`);
  }
  let reached: Progress | undefined = saved;

  async function* records(): AsyncGenerator<BlockRecord> {
    if (reached === undefined || !existsSync(recordsFile)) return;
    for await (const line of createInterface({ input: createReadStream(recordsFile), crlfDelay: Infinity })) {
      const record = parse(line);
      // A run that was killed may have written lines that its progress does not cover, the last one in part.
      if (record === undefined || record.number > reached.position.number) return;
      yield record;
    }
  }
  async function store(progress: Progress): Promise<void> {
    const { position, sound } = progress;
    await writeFile(`${progressFile}.tmp`, JSON.stringify({ ...head, position, sound }));
    await rename(`${progressFile}.tmp`, progressFile);
    reached = progress;
  }
  /** Leaves the lines that the progress covers. */
  async function trim(): Promise<void> {
    const file = await open(`${recordsFile}.tmp`, "w");
    for await (const record of records()) await file.write(lineOf(record));
    await file.close();
    await rename(`${recordsFile}.tmp`, recordsFile);
  }

  await trim();
  return {
    progress: () => reached,
    records,
    async append(added, progress) {
      // Records first: progress is the promise that they are there.
      if (added.length > 0) await appendFile(recordsFile, added.map(lineOf).join(""));
      await store(progress);
    },
    async cut(progress) {
      await store(progress);
      await trim();
    },
  };
}

function lineOf(record: BlockRecord): string {
  return `${JSON.stringify(record)}\n`;
}

function parse(line: string): BlockRecord | undefined {
  try {
    return JSON.parse(line) as BlockRecord;
  } catch {
    return undefined;
  }
}

async function readJson(file: string): Promise<unknown> {
  if (!existsSync(file)) return undefined;
  try {
    return JSON.parse(await readFile(file, "utf8"));
  } catch {
    throw new JournalError(`${file} is damaged; remove its folder to begin again`);
  }
}
