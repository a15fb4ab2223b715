// A disk of its own and of a few megabytes, where this process may mount one: what fills it up fills nothing else.
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";

export interface SmallDisk {
  readonly folder: string;
  /** Leaves less than this share of it. */
  fill(share: number): void;
  /** Takes away what `fill` wrote. */
  free(): void;
  remove(): void;
}

/** Undefined where nothing may be mounted. */
export function mountSmallDisk(mebibytes: number): SmallDisk | undefined {
  const folder = mkdtempSync(path.join(tmpdir(), "cloister-disk-"));
  const options = ["-t", "tmpfs", "-o", `size=${String(mebibytes)}m`, "tmpfs", folder];
  if (spawnSync("mount", options).status !== 0) {
    rmSync(folder, { recursive: true });
    return undefined;
  }
  const ballast = path.join(folder, "ballast");
  return {
    folder,
    fill(share) {
      const { bsize, blocks, bavail } = statfsSync(folder);
      writeFileSync(ballast, Buffer.alloc(bsize * Math.ceil(bavail - (blocks * share) / 2)));
    },
    free: () => rmSync(ballast, { force: true }),
    remove() {
      // Lazily: whoever still has a file open there keeps it until he ends.
      execFileSync("umount", ["--lazy", folder]);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
