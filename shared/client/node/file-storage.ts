/**
 * A wallet's state in one file and, beside it, a folder of the parts that the file names; several processes may hold it. A
 * save is whole or absent, also when the power goes: all bytes are on disk under other names before the new file takes the
 * old one's place, and what only the old one named goes last. Whose file it is and whether it is damaged is found out by the
 * wallet, which seals what it saves. To copy a wallet, copy both.
 */
import { createHash } from "node:crypto";
import { mkdir, open, readdir, readFile, rename, rm } from "node:fs/promises";
import path from "node:path";
import type { PartChange, WalletStorage } from "../state/storage.ts";
import { withFileLock } from "./file-lock.ts";

/** Files that are read or written at a time: a disk makes several of them last with one turn. */
const ABREAST = 16;

export function fileStorage(file: string): WalletStorage {
  const folder = path.dirname(file);
  const parts = `${file}.parts`;
  const save = async (
    bytes: Uint8Array,
    replaces: string | undefined,
    { added, named }: PartChange = { added: new Map(), named: new Set() },
  ): Promise<string | undefined> => {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    return withFileLock(`${file}.lock`, async () => {
      const held = await readOrNone(file);
      if ((held && versionOf(held)) !== replaces) return undefined;
      try {
        await writeParts(parts, added);
        await replaceFile(file, bytes);
      } catch (error) {
        // A disk that is full must not become fuller with each try.
        await removeParts(parts, (name) => added.has(name));
        throw error;
      }
      await syncFolder(folder);
      // The wallet is saved by now.
      await removeParts(parts, (name) => !named.has(name));
      return versionOf(bytes);
    });
  };
  return {
    async load() {
      const bytes = await readOrNone(file);
      return bytes && { bytes, version: versionOf(bytes) };
    },
    save,
    parts: { read: (names) => readParts(parts, names), save },
  };
}

/** Only "there is none" is an empty wallet. A file that cannot be read is not. */
async function readOrNone(file: string): Promise<Uint8Array | undefined> {
  try {
    return new Uint8Array(await readFile(file));
  } catch (error) {
    if (isAbsent(error)) return undefined;
    throw error;
  }
}

function isAbsent(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === "ENOENT";
}

async function readParts(folder: string, names: readonly string[]): Promise<Map<string, Uint8Array>> {
  const found = new Map<string, Uint8Array>();
  await abreast(names, async (name) => {
    const part = await readOrNone(path.join(folder, name));
    if (part !== undefined) found.set(name, part);
  });
  return found;
}

/** When it returns they are on disk. Nothing names them yet: who is killed here leaves what the next save removes. */
async function writeParts(folder: string, added: PartChange["added"]): Promise<void> {
  if (added.size === 0) return;
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await abreast([...added], ([name, bytes]) => writeSynced(path.join(folder, name), bytes));
  await syncFolder(folder);
}

/** What is left the next save removes: it is in nobody's way. */
async function removeParts(folder: string, isUnwanted: (name: string) => boolean): Promise<void> {
  try {
    const names = await readdir(folder);
    await abreast(names.filter(isUnwanted), (name) => rm(path.join(folder, name)));
  } catch {
    return;
  }
}

/** Some at a time. Throws the first failure when none of them is at work any more. */
async function abreast<T>(all: readonly T[], work: (one: T) => Promise<void>): Promise<void> {
  const left = all.values();
  const begin = async (): Promise<void> => {
    for (const one of left) await work(one);
  };
  const ends = await Promise.allSettled(Array.from({ length: ABREAST }, begin));
  const failed = ends.find((end) => end.status === "rejected");
  if (failed !== undefined) throw failed.reason;
}

/** Each save is sealed under a nonce of its own, so no two have the same. */
function versionOf(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

/** Under the lock nobody else writes the new file; what a killed process left of one is overwritten. */
async function replaceFile(file: string, bytes: Uint8Array): Promise<void> {
  const fresh = `${file}.new`;
  try {
    await writeSynced(fresh, bytes);
    await rename(fresh, file);
  } catch (error) {
    await rm(fresh, { force: true });
    throw error;
  }
}

/** Without this the new name itself may be lost with the power (fsync(2)). */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

async function writeSynced(file: string, bytes: Uint8Array): Promise<void> {
  const handle = await open(file, "w", 0o600);
  try {
    await handle.writeFile(bytes);
    await handle.sync();
  } finally {
    await handle.close();
  }
}
