// What a contribution and the beacon share: one new key for every circuit out of the newest, each checked to
// carry the history it came with and exactly one contribution more.

import { readFile, rename } from "node:fs/promises";
import path from "node:path";
import { mustNotBeFalse } from "../build/circuits/ceremony.ts";
import { circuitsOf, exists, hashFile, keyFile, newestLink, type Ceremony, type Say } from "./folder.ts";
import { CeremonyError, newestKey, type KeyEntry } from "./transcript.ts";
import { contributionsOf, type KeyContribution } from "./zkey-file.ts";

export async function makeNewKeys(
  ceremony: Ceremony,
  folder: string,
  name: string,
  say: Say,
  make: (circuit: string, from: string, to: string) => Promise<unknown>,
): Promise<KeyEntry["circuits"]> {
  const circuits: KeyEntry["circuits"] = {};
  const names = circuitsOf(ceremony);
  for (const [index, circuit] of names.entries()) {
    const at = `${circuit} (${String(index + 1)} of ${String(names.length)})`;
    const from = keyFile(ceremony, newestLink(ceremony), circuit);
    const to = path.join(folder, `${circuit}.zkey`);
    const before = await historyOf(from);
    if (await continues(to, before, name)) {
      say(`${at}: finished before the interruption`);
    } else {
      say(`${at}: making the new key`);
      await mustNotBeFalse(`the new key of ${circuit}`, make(circuit, from, `${to}.part`));
      await rename(`${to}.part`, to);
    }
    const added = (await historyOf(to)).at(-1);
    if (added === undefined || !(await continues(to, before, name)))
      throw new CeremonyError(
        "KEY_HISTORY_DIFFERS",
        `the new key of ${circuit} does not continue the one before`,
      );
    const fromHash = newestKey(ceremony.transcript, circuit);
    if (fromHash === undefined) throw new Error(`no key of ${circuit}`);
    circuits[circuit] = { from: fromHash, to: await hashFile(to), contribution: added.hash };
    say(`${at}: contribution ${added.hash.slice(0, 32)}…`);
  }
  return circuits;
}

async function historyOf(file: string): Promise<KeyContribution[]> {
  return contributionsOf(await readFile(file));
}

async function continues(file: string, before: readonly KeyContribution[], name: string): Promise<boolean> {
  if (!(await exists(file))) return false;
  const history = await historyOf(file).catch(() => []);
  return (
    history.length === before.length + 1 &&
    before.every((earlier, at) => history[at]?.hash === earlier.hash) &&
    history.at(-1)?.name === name
  );
}
