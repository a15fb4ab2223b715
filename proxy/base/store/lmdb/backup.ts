/**
 * Copies of the embedded store. A backup is a folder with the store's file as it was at one moment and a note of what it
 * is; it appears under its name in one step, when all of it is on disk, and so does a restored data folder. Whoever is
 * killed in between leaves a folder with another name, which nobody takes for either.
 */
import { createHash } from "node:crypto";
import { constants, createReadStream } from "node:fs";
import {
  chmod,
  copyFile,
  mkdtemp,
  open,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  writeFile,
} from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { pipeline } from "node:stream/promises";
import { z } from "zod";
import type { Address } from "../../../../shared/protocol/brands.ts";
import { asAddress } from "../../../../shared/protocol/host/text.ts";
import { openDatabase, STORE_FILE, type Database } from "./database.ts";
import { instanceOf, isSameInstance, nameOf, type Instance } from "./instance-record.ts";

const NOTE_FILE = "backup.json";
const FORMAT = 1;

const noteShape = z.strictObject({
  format: z.literal(FORMAT),
  chain_id: z.int().positive(),
  pool: z.string().transform((text, context): Address => {
    const pool = asAddress(text);
    if (pool !== undefined) return pool;
    context.addIssue("no address");
    return z.NEVER;
  }),
  /** RFC 3339; before the copy was begun, so the copy has at least what was durable then. */
  made_at: z.iso.datetime(),
  bytes: z.int().positive(),
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
});
export type BackupNote = z.infer<typeof noteShape>;

/** What was asked cannot be done with these folders, in words for the operator. */
export class UnfitBackup extends Error {}

/** The proxy may run, and goes on writing. */
export async function makeBackup(database: Database, target: string): Promise<BackupNote> {
  const instance = instanceOf(database);
  if (instance === undefined)
    throw new UnfitBackup("the store does not say which instance it is of; start the proxy once");
  if (!(await isFree(target))) throw new UnfitBackup(`${target} is there already; name a new folder`);
  return appear(target, "partial", async (folder) => {
    const madeAt = new Date().toISOString();
    const file = join(folder, STORE_FILE);
    await database.copyTo(file);
    await sync(file);
    const note: BackupNote = {
      ...{ format: FORMAT, chain_id: instance.chainId, pool: instance.pool, made_at: madeAt },
      ...(await digestOf(file)),
    };
    const noteFile = join(folder, NOTE_FILE);
    await writeFile(noteFile, `${JSON.stringify(note, undefined, 2)}\n`, { mode: 0o600, flag: "wx" });
    await sync(noteFile);
    return note;
  });
}

/** Into a data folder that is not there yet, or is empty: a store that somebody may still use is never written over. */
export async function restoreBackup(source: string, target: string, wanted: Instance): Promise<BackupNote> {
  const note = await readNote(source);
  const kept: Instance = { chainId: note.chain_id, pool: note.pool };
  if (!isSameInstance(kept, wanted))
    throw new UnfitBackup(`the backup is of the pool ${nameOf(kept)}, not ${nameOf(wanted)}`);
  if (!(await isFree(target)))
    throw new UnfitBackup(`${target} holds something; stop the proxy and move it away first`);
  return appear(target, "restoring", async (folder) => {
    const file = join(folder, STORE_FILE);
    await copyFile(join(source, STORE_FILE), file, constants.COPYFILE_EXCL);
    await chmod(file, 0o600);
    const { bytes, sha256 } = await digestOf(file);
    if (bytes !== note.bytes || sha256 !== note.sha256)
      throw new UnfitBackup("the backup's file is not the one that its note describes; it is damaged");
    await requireInstance(folder, kept);
    await sync(file);
    return note;
  });
}

async function readNote(source: string): Promise<BackupNote> {
  let text: string;
  try {
    text = await readFile(join(source, NOTE_FILE), "utf8");
  } catch (cause) {
    throw new UnfitBackup(`${source} is no finished backup`, { cause });
  }
  try {
    return noteShape.parse(JSON.parse(text));
  } catch (cause) {
    throw new UnfitBackup(`the backup's ${NOTE_FILE} is damaged, or of another program`, { cause });
  }
}

/** The note is a text beside the store; this is what the store says itself. */
async function requireInstance(folder: string, kept: Instance): Promise<void> {
  const database = openDatabase(folder);
  try {
    const found = instanceOf(database);
    if (found === undefined || !isSameInstance(found, kept))
      throw new UnfitBackup("the backup's store is of another instance than its note says");
  } finally {
    await database.close();
  }
  await rm(join(folder, `${STORE_FILE}-lock`), { force: true });
}

/** Makes a folder under another name beside `target`, and gives it its own when everything in it is on disk. */
async function appear<T>(target: string, word: string, fill: (folder: string) => Promise<T>): Promise<T> {
  const place = resolve(target);
  // Mode 0700. Beside it, because only within a file system is a rename one step.
  const folder = await mkdtemp(`${place}.${word}-`);
  try {
    const result = await fill(folder);
    await sync(folder);
    // Fails where somebody else has meanwhile put something there.
    await rename(folder, place);
    await sync(dirname(place));
    return result;
  } catch (error) {
    await rm(folder, { recursive: true, force: true });
    throw error;
  }
}

async function isFree(folder: string): Promise<boolean> {
  try {
    return (await readdir(folder)).length === 0;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return true;
    throw error;
  }
}

async function sync(path: string): Promise<void> {
  const file = await open(path, "r");
  try {
    await file.sync();
  } finally {
    await file.close();
  }
}

async function digestOf(file: string): Promise<Pick<BackupNote, "bytes" | "sha256">> {
  const hash = createHash("sha256");
  await pipeline(createReadStream(file), hash);
  return { bytes: (await stat(file)).size, sha256: hash.digest("hex") };
}
