/**
 * A wallet's state in one file, which several processes may hold. A save is whole or absent, also when the power
 * goes: the bytes are on disk under another name before they take the old file's place. Whose file it is and
 * whether it is damaged is found out by the wallet, which seals what it saves.
 */
import { createHash } from "node:crypto";
import { mkdir, open, readFile, rename, rm } from "node:fs/promises";
import path from "node:path";
import type { WalletStorage } from "../storage.ts";
import { withFileLock } from "./file-lock.ts";

export function fileStorage(file: string): WalletStorage {
  const folder = path.dirname(file);
  async function read(): Promise<Uint8Array | undefined> {
    try {
      return new Uint8Array(await readFile(file));
    } catch (error) {
      // Only "there is none" is an empty wallet. A file that cannot be read is not.
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
      throw error;
    }
  }
  return {
    async load() {
      const bytes = await read();
      return bytes && { bytes, version: versionOf(bytes) };
    },
    async save(bytes, replaces) {
      await mkdir(folder, { recursive: true, mode: 0o700 });
      return withFileLock(`${file}.lock`, async () => {
        const held = await read();
        if ((held && versionOf(held)) !== replaces) return undefined;
        await replaceFile(file, bytes);
        await syncFolder(folder);
        return versionOf(bytes);
      });
    },
  };
}

/** Each save is sealed under a nonce of its own, so no two have the same. */
function versionOf(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

/** Under the lock nobody else writes the new file; what a killed process left of one is overwritten. */
async function replaceFile(file: string, bytes: Uint8Array): Promise<void> {
  const fresh = `${file}.new`;
  try {
    const handle = await open(fresh, "w", 0o600);
    try {
      await handle.writeFile(bytes);
      await handle.sync();
    } finally {
      await handle.close();
    }
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
