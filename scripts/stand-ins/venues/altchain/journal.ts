/**
 * The chain on disk: every call that changed it, one a line. Reading them again gives the same chain, so a program
 * that was killed goes on where it was. A last line that was cut off by the kill never happened.
 */
import { appendFileSync, existsSync, mkdirSync, readFileSync, truncateSync } from "node:fs";
import path from "node:path";
import { z } from "zod";

const entry = z.union([
  z.strictObject({ genesis: z.number().int() }),
  z.strictObject({ transaction: z.base64() }),
  z.strictObject({ slot: z.number().int() }),
  z.strictObject({ reorganised: z.number().int(), again: z.boolean() }),
]);
/** `genesis` and `slot` are Unix seconds. */
export type Entry = z.output<typeof entry>;

export interface Journal {
  readonly entries: readonly Entry[];
  append(entry: Entry): void;
}

export function openJournal(folder: string): Journal {
  mkdirSync(folder, { recursive: true });
  const file = path.join(folder, "journal.ndjson");
  const text = existsSync(file) ? readFileSync(file, "utf8") : "";
  const whole = text.slice(0, text.lastIndexOf("\n") + 1);
  if (whole.length < text.length) truncateSync(file, Buffer.byteLength(whole));
  const lines = whole.split("\n").filter((line) => line !== "");
  return {
    entries: lines.map((line) => entry.parse(JSON.parse(line))),
    append: (made) => appendFileSync(file, `${JSON.stringify(made)}\n`),
  };
}
