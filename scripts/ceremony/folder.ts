// A ceremony as files: what a party receives, adds to and passes on. Everything is written beside its place
// and renamed when whole, so a step that was interrupted can be repeated and half a key is never taken for one.
//
//   transcript.json            opening and entries
//   powers-of-tau.ptau         the input of the first key
//   circuits/<circuit>.r1cs    and .wasm
//   0000-opening/<circuit>.zkey
//   0001-<party>/              <circuit>.zkey of every circuit, and record.json, the entry that the party signs

import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import path from "node:path";
import { pipeline } from "node:stream/promises";
import {
  CeremonyError,
  checkChain,
  isKeyEntry,
  linkName,
  nextLink,
  parseEntry,
  parseTranscript,
  recordText,
  type Entry,
  type Transcript,
} from "./transcript.ts";

export const OPENING = "0000-opening";
const RECORD = "record.json";
const PARTIAL = ".partial";
const NUMBERED = /^[0-9]{4}-[a-z0-9-]+$/;

export interface Ceremony {
  readonly folder: string;
  readonly transcript: Transcript;
}

/** Tells the person at the terminal where things stand. */
export type Say = (text: string) => void;

/** What every step that adds to a ceremony is given. */
export interface StepOptions {
  readonly folder: string;
  readonly now: Date;
  readonly say: Say;
}

type Place = Pick<Ceremony, "folder">;
export const ptauFile = ({ folder }: Place): string => path.join(folder, "powers-of-tau.ptau");
export const r1csFile = ({ folder }: Place, circuit: string): string =>
  path.join(folder, "circuits", `${circuit}.r1cs`);
export const wasmFile = ({ folder }: Place, circuit: string): string =>
  path.join(folder, "circuits", `${circuit}.wasm`);
export const keyFile = ({ folder }: Place, link: string, circuit: string): string =>
  path.join(folder, link, `${circuit}.zkey`);

/** The link whose keys are the newest. */
export function newestLink({ transcript }: Ceremony): string {
  const last = transcript.entries.filter(isKeyEntry).at(-1);
  return last === undefined ? OPENING : linkName(last);
}

export function circuitsOf({ transcript }: Ceremony): string[] {
  return Object.keys(transcript.opening.circuits);
}

/**
 * Reads the transcript and, after it, the entries whose folders somebody put beside it. Throws unless the chain
 * holds and every numbered folder is a link of it: two that continue the same link are a fork.
 */
export async function openCeremony(folder: string): Promise<Ceremony> {
  const text = await readFile(path.join(folder, "transcript.json"), "utf8").catch(() => {
    throw new CeremonyError(
      "FILE_MISSING",
      `${folder} holds no transcript.json: is it the folder of a ceremony?`,
    );
  });
  const written = parseTranscript(text);
  checkChain(written);
  const entries = [...written.entries];
  const links = new Set([OPENING, ...entries.map(linkName)]);
  const others = (await readdir(folder)).filter((name) => NUMBERED.test(name) && !links.has(name)).sort();
  for (const other of others) {
    const entry = await readRecord(folder, other);
    if (entry === undefined || linkName(entry) !== other)
      throw new CeremonyError("FILE_REPLACED", `${other} does not hold the record that its name promises`);
    const taken = entries[entry.number - 1];
    if (taken !== undefined)
      throw new CeremonyError(
        "FORKED",
        `${other} and ${linkName(taken)} both continue the same link; only one can`,
      );
    entries.push(entry);
    checkChain({ opening: written.opening, entries });
  }
  const transcript = { opening: written.opening, entries };
  for (const entry of entries) await checkRecord(folder, entry);
  return { folder, transcript };
}

/** The record beside the keys is what a party signed: it must be the entry, byte for byte. */
async function checkRecord(folder: string, entry: Entry): Promise<void> {
  const link = linkName(entry);
  const file = path.join(folder, link, RECORD);
  const text = await readFile(file, "utf8").catch(() => {
    throw new CeremonyError("FILE_MISSING", `${link}/${RECORD} is missing`);
  });
  if (text !== recordText(entry))
    throw new CeremonyError(
      "ENTRY_ALTERED",
      `${link}/${RECORD} is not the entry that stands in the transcript`,
    );
}

async function readRecord(folder: string, link: string): Promise<Entry | undefined> {
  const text = await readFile(path.join(folder, link, RECORD), "utf8").catch(() => undefined);
  return text === undefined ? undefined : parseEntry(text);
}

/**
 * Makes the files of an entry in a folder of their own and appends the entry. What an interrupted run of the
 * same step finished is there still when `work` runs again; what another run left behind is removed.
 */
export async function appendEntry(
  ceremony: Ceremony,
  name: string,
  work: (folder: string, link: ReturnType<typeof nextLink>) => Promise<Entry>,
): Promise<Ceremony> {
  const next = nextLink(ceremony.transcript);
  const link = `${String(next.number).padStart(4, "0")}-${name}`;
  const partial = path.join(ceremony.folder, `${link}${PARTIAL}`);
  for (const other of await readdir(ceremony.folder)) {
    if (other.endsWith(PARTIAL) && other !== path.basename(partial))
      await rm(path.join(ceremony.folder, other), { recursive: true });
  }
  await mkdir(partial, { recursive: true });
  const entry = parseEntry(recordText(await work(partial, next)));
  const transcript = { ...ceremony.transcript, entries: [...ceremony.transcript.entries, entry] };
  checkChain(transcript);
  await writeFile(path.join(partial, RECORD), recordText(entry));
  await rename(partial, path.join(ceremony.folder, link));
  await writeTranscript(ceremony.folder, transcript);
  return { folder: ceremony.folder, transcript };
}

export async function writeTranscript(folder: string, transcript: Transcript): Promise<void> {
  const file = path.join(folder, "transcript.json");
  await writeFile(`${file}${PARTIAL}`, `${JSON.stringify(transcript, null, 2)}\n`);
  await rename(`${file}${PARTIAL}`, file);
}

export async function hashFile(file: string): Promise<string> {
  const hash = createHash("sha256");
  await pipeline(createReadStream(file), hash);
  return hash.digest("hex");
}

/** Throws unless the file is there with exactly these bytes. */
export async function checkFile(what: string, file: string, sha256: string): Promise<void> {
  if (!(await exists(file))) throw new CeremonyError("FILE_MISSING", `${what} is missing: ${file}`);
  if ((await hashFile(file)) !== sha256)
    throw new CeremonyError("FILE_REPLACED", `${what} is not the file of the transcript: ${file}`);
}

export function exists(file: string): Promise<boolean> {
  return stat(file).then(
    () => true,
    () => false,
  );
}

/** Whole seconds: a record claims no more than its party can know. */
export function timestamp(now: Date): string {
  return now.toISOString().replace(/\.[0-9]{3}Z$/, "Z");
}
