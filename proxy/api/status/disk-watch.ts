/** How much room the disk under the data folder has, for the operator's figures; nothing is decided by it. */
import { statfs } from "node:fs/promises";
import { askNowAndThen } from "../../base/chain/now-and-then.ts";
import type { DiskRoom } from "../../base/observe/metrics.ts";

const EVERY_MS = 15_000;

export type DiskWatch = ReturnType<typeof createDiskWatch>;

export function createDiskWatch(folder: string, everyMs = EVERY_MS) {
  const asked = askNowAndThen(() => roomOf(folder), everyMs);
  return { ...asked, room: asked.answer };
}

/** Undefined where the system does not say: a figure that is absent, never a proxy that ends. */
async function roomOf(folder: string): Promise<DiskRoom | undefined> {
  try {
    const { bsize, blocks, bavail } = await statfs(folder);
    // What is kept for root is no room for the store.
    return { freeBytes: bavail * bsize, sizeBytes: blocks * bsize };
  } catch {
    return undefined;
  }
}
