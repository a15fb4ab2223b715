/** What the watcher says of the pool, by the file that `npm run watch -- --status FILE` keeps. The watcher is a program of its own, on a node of its own: this only shows its word. */
import { readFile, stat } from "node:fs/promises";
import { z } from "zod";
import type { Alarms } from "./contract/operator.ts";

const shape = z.object({
  at: z.iso.datetime(),
  block: z.int(),
  alarms: z
    .array(
      z.object({
        code: z.string().max(64),
        meaning: z.string().max(300),
        block: z.int(),
        tx_hash: z.string().max(66).optional(),
        detail: z.string().max(1000),
        signers: z.array(z.string().max(42)).max(64).default([]),
      }),
    )
    .max(1000),
});

const SILENT_AFTER_SECS = 120;
const MOST_BYTES = 1 << 20;

export function createAlarms(file: string | undefined, now: () => number) {
  const none = { last_seen_at: null, block: null, silent_after_secs: SILENT_AFTER_SECS, alarms: [] };
  return async (): Promise<Alarms> => {
    if (file === undefined) return { watcher: "not-configured", ...none };
    try {
      if ((await stat(file)).size > MOST_BYTES) throw new Error("too large");
      const { at, block, alarms } = shape.parse(JSON.parse(await readFile(file, "utf8")));
      const isSilent = now() - Date.parse(at) > SILENT_AFTER_SECS * 1000;
      return {
        watcher: isSilent ? "silent" : "watching",
        ...{ last_seen_at: at, block, silent_after_secs: SILENT_AFTER_SECS },
        alarms: alarms
          .map(({ tx_hash: txHash, ...alarm }) => ({ ...alarm, tx_hash: txHash ?? null }))
          .sort((one, other) => other.block - one.block),
      };
    } catch (error) {
      // No watcher has come that far yet, or none runs.
      const isAbsent = error instanceof Error && "code" in error && error.code === "ENOENT";
      return { watcher: isAbsent ? "silent" : "unreadable", ...none };
    }
  };
}
