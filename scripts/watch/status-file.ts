// What the watcher knows at the end of a pass, in one small file for whoever shows it to people: replaced as a whole, so
// that a reader never sees half of it. That it is old says that nobody watches.
import { rename, writeFile } from "node:fs/promises";
import { CODES, jsonOf, type Finding } from "./findings.ts";

/** The last ones; all of them are in the evidence and on standard output. */
const MOST_ALARMS = 500;

export interface Judged {
  /** The last block. */
  readonly position: number;
  readonly alarms: readonly Finding[];
}

export async function writeStatus(file: string, { position, alarms }: Judged): Promise<void> {
  const status = {
    at: new Date().toISOString(),
    block: position,
    alarms: alarms.slice(-MOST_ALARMS).map((finding) => {
      const { code, block, tx_hash, signers, detail } = jsonOf(finding);
      return { code, meaning: CODES[finding.code], block, tx_hash, signers, detail };
    }),
  };
  await writeFile(`${file}.new`, `${JSON.stringify(status)}\n`, { mode: 0o644 });
  await rename(`${file}.new`, file);
}
