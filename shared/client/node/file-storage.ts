/**
 * A wallet's state in one file. A save is whole or absent, also when the power goes: the bytes are on disk
 * under another name before they take the old file's place. Whose file it is and whether it is damaged is
 * found out by the wallet, which seals what it saves.
 */
import { randomBytes } from "node:crypto";
import { mkdir, open, readFile, rename, rm } from "node:fs/promises";
import path from "node:path";
import type { WalletStorage } from "../storage.ts";

/** One process at a time may use a file. */
export function fileStorage(file: string): WalletStorage {
  const folder = path.dirname(file);
  return {
    async load() {
      try {
        return new Uint8Array(await readFile(file));
      } catch (error) {
        // Only "there is none" is an empty wallet. A file that cannot be read is not.
        if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
        throw error;
      }
    },
    async save(bytes) {
      await mkdir(folder, { recursive: true, mode: 0o700 });
      // The random part keeps two saves, even of two processes, from writing into one file.
      const fresh = `${file}.${randomBytes(6).toString("hex")}.new`;
      try {
        const handle = await open(fresh, "wx", 0o600);
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
      await syncFolder(folder);
    },
  };
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
