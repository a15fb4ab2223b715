// Anyone's step: checks a whole ceremony from files, trusting nobody who took part. Throws at the first link
// that does not hold, each reason with a code of its own.
//
// snarkjs's verification covers one key: its contributions follow each other, each maker knew the secret,
// and the key is the circuit's. It would not notice that a contribution was left out, that the whole history
// was made again under the same names, that a beacon was relabelled, or that a circuit or powers of tau are not
// those announced. The transcript's hashes and the records that parties kept close these gaps.

import { mkdtemp, readFile, rm } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { powersOfTau, zKey } from "snarkjs";
import { mustNotBeFalse, progress } from "../build/circuits/ceremony.ts";
import {
  checkFile,
  circuitsOf,
  exists,
  hashFile,
  keyFile,
  OPENING,
  openCeremony,
  ptauFile,
  r1csFile,
  wasmFile,
  type Ceremony,
  type Say,
} from "./folder.ts";
import { recompiled } from "./sources.ts";
import {
  announcementOf,
  CeremonyError,
  isKeyEntry,
  linkName,
  nameOf,
  recordHash,
  type Entry,
  type KeyEntry,
} from "./transcript.ts";
import { checkPoints, contributionsOf } from "./zkey-file.ts";

export interface VerifyOptions {
  readonly folder: string;
  /** Records that must be in the transcript: the reader's own, or those that parties published. */
  readonly expected?: readonly Entry[];
  /** Earlier key files may be absent; what the newest key says of its history is checked all the same. */
  readonly newestOnly?: boolean;
  /** Compare the powers of tau with their hash only: for a file whose hash is known from elsewhere. */
  readonly trustPowersOfTau?: boolean;
  /** Compile this checkout's circuits and compare. */
  readonly recompile?: boolean;
  readonly say: Say;
}

export async function verifyCeremony(options: VerifyOptions): Promise<Ceremony> {
  const { say } = options;
  const ceremony = await openCeremony(options.folder);
  const { opening, entries } = ceremony.transcript;
  say(`transcript: the opening and ${String(entries.length)} entries follow each other`);
  for (const record of options.expected ?? []) checkIncluded(record, entries);

  await checkFile("the powers of tau", ptauFile(ceremony), opening.ptau.sha256);
  for (const [circuit, { r1cs, wasm }] of Object.entries(opening.circuits)) {
    await checkFile(`the r1cs of ${circuit}`, r1csFile(ceremony, circuit), r1cs);
    await checkFile(`the witness program of ${circuit}`, wasmFile(ceremony, circuit), wasm);
  }
  await checkKeyFiles(ceremony, options.newestOnly ?? false);
  say("files: all have the hashes of the transcript");
  if (options.recompile === true) await checkSources(ceremony, say);
  if (options.trustPowersOfTau !== true) await checkPowersOfTau(ptauFile(ceremony), say);

  const scratch = await mkdtemp(path.join(os.tmpdir(), "cloister-ceremony-"));
  try {
    for (const circuit of circuitsOf(ceremony)) await checkCircuit(ceremony, circuit, scratch, say);
  } finally {
    await rm(scratch, { recursive: true });
  }
  return ceremony;
}

function checkIncluded(record: Entry, entries: readonly Entry[]): void {
  if (!entries.some((entry) => recordHash(entry) === recordHash(record)))
    throw new CeremonyError(
      "RECORD_NOT_INCLUDED",
      `the transcript does not hold the record ${linkName(record)} as it was given: it was dropped, or the ceremony was made again without it`,
    );
}

async function checkKeyFiles(ceremony: Ceremony, newestOnly: boolean): Promise<void> {
  const { opening, entries } = ceremony.transcript;
  const all = [
    {
      link: OPENING,
      hashes: Object.entries(opening.circuits).map(([name, { key }]) => [name, key] as const),
    },
    ...entries.filter(isKeyEntry).map((entry) => ({
      link: linkName(entry),
      hashes: Object.entries(entry.circuits).map(([name, { to }]) => [name, to] as const),
    })),
  ];
  for (const [index, { link, hashes }] of all.entries()) {
    const isNewest = index === all.length - 1;
    for (const [circuit, sha256] of hashes) {
      const file = keyFile(ceremony, link, circuit);
      if (newestOnly && !isNewest && !(await exists(file))) continue;
      await checkFile(`${link}'s ${circuit} key`, file, sha256);
    }
  }
}

async function checkSources(ceremony: Ceremony, say: Say): Promise<void> {
  say("sources: compiling the circuits of this checkout");
  const { opening } = ceremony.transcript;
  for (const [circuit, r1cs] of await recompiled(circuitsOf(ceremony))) {
    if (opening.circuits[circuit]?.r1cs !== r1cs)
      throw new CeremonyError("NOT_COMPILED_FROM_HERE", `${circuit} compiled here is another circuit`);
  }
  say("sources: they compile to the circuits of the transcript");
}

export async function checkPowersOfTau(file: string, say: Say): Promise<void> {
  say("powers of tau: verifying (at power 16 a minute or two)");
  // As bytes: snarkjs leaves a file open that it refuses, which later versions of Node do not forgive.
  const bytes = await readFile(file);
  if (!(await powersOfTau.verify(bytes, progress("powers of tau")).catch(() => false)))
    throw new CeremonyError("POWERS_OF_TAU_INVALID", "the powers of tau do not verify");
}

async function checkCircuit(ceremony: Ceremony, circuit: string, scratch: string, say: Say): Promise<void> {
  const { opening, entries } = ceremony.transcript;
  const initial = path.join(scratch, `${circuit}.zkey`);
  say(`${circuit}: making key number 0 from circuit and powers of tau`);
  await mustNotBeFalse(
    `key number 0 of ${circuit}`,
    zKey.newZKey(r1csFile(ceremony, circuit), ptauFile(ceremony), initial, progress(circuit)),
  );
  if ((await hashFile(initial)) !== opening.circuits[circuit]?.key)
    throw new CeremonyError(
      "INITIAL_KEY_FOREIGN",
      `key number 0 of ${circuit} is not made from circuit and powers of tau`,
    );

  const made = entries.filter(isKeyEntry);
  const present: KeyEntry[] = [];
  for (const [index, entry] of made.entries()) {
    if (!(await exists(keyFile(ceremony, linkName(entry), circuit)))) continue;
    await checkHistory(ceremony, circuit, made.slice(0, index + 1));
    present.push(entry);
  }
  const last = present.at(-1);
  if (last === undefined) return;
  say(`${circuit}: verifying the newest key (${linkName(last)})`);
  if (await isSound(ceremony, circuit, initial, last)) return;
  // The newest key contains every fault before it: now each in order, to name the one who made it.
  for (const entry of present) {
    if (!(await isSound(ceremony, circuit, initial, entry)))
      throw new CeremonyError(
        "KEY_INVALID",
        `${linkName(entry)}'s ${circuit} key is not a contribution to the key before it`,
      );
  }
}

/** The history inside the last of these keys must be what the transcript says of them. */
async function checkHistory(ceremony: Ceremony, circuit: string, made: readonly KeyEntry[]): Promise<void> {
  const last = made.at(-1);
  if (last === undefined) return;
  const history = contributionsOf(await readFile(keyFile(ceremony, linkName(last), circuit)));
  const announced = announcementOf(ceremony.transcript.entries);
  const isTold = (entry: KeyEntry, at: number): boolean => {
    const held = history[at];
    if (held?.hash !== entry.circuits[circuit]?.contribution || held?.name !== nameOf(entry)) return false;
    // The type of a contribution is not in its hash, so a beacon could pass for an ordinary one.
    return entry.type === "beacon"
      ? held.beacon?.value === entry.value && held.beacon.iterationsExponent === announced?.iterationsExponent
      : held.beacon === undefined;
  };
  if (history.length !== made.length || !made.every(isTold))
    throw new CeremonyError(
      "KEY_HISTORY_DIFFERS",
      `${linkName(last)}'s ${circuit} key holds other contributions than the transcript tells`,
    );
}

async function isSound(
  ceremony: Ceremony,
  circuit: string,
  initial: string,
  entry: KeyEntry,
): Promise<boolean> {
  // As bytes, for the same reason.
  const [zkey, init, ptau] = await Promise.all(
    [keyFile(ceremony, linkName(entry), circuit), initial, ptauFile(ceremony)].map((file) => readFile(file)),
  );
  if (zkey === undefined || init === undefined || ptau === undefined) return false;
  try {
    checkPoints(zkey);
    return await zKey.verifyFromInit(init, ptau, zkey, progress(circuit));
  } catch {
    // Damaged in a way that snarkjs does not expect.
    return false;
  }
}
