// The transcript of a key ceremony: who did what to which key, as a hash chain from the sources to the beacon.
// snarkjs proves that a key came from its circuit by some contributions; only the transcript says by
// whose, in which order, and lets everybody see that the contribution they made is still in it.

import { createHash } from "node:crypto";
import { z } from "zod";

/** One reason each; the sentence beside it names the link. */
export type CeremonyFault =
  | "ENTRY_ALTERED"
  | "FILE_MISSING"
  | "FILE_REPLACED"
  | "FORKED"
  | "INITIAL_KEY_FOREIGN"
  | "KEY_HISTORY_DIFFERS"
  | "KEY_INVALID"
  | "LINK_BROKEN"
  | "MALFORMED"
  | "NOT_COMPILED_FROM_HERE"
  | "NUMBERING_BROKEN"
  | "ORDER_OF_STEPS"
  | "PARTY_REPEATED"
  | "POWERS_OF_TAU_INVALID"
  | "RECORD_NOT_INCLUDED"
  | "TOO_FEW_PARTIES";

export class CeremonyError extends Error {
  readonly code: CeremonyFault;
  constructor(code: CeremonyFault, sentence: string) {
    super(sentence);
    this.name = "CeremonyError";
    this.code = code;
  }
}

export const MINIMUM_PARTIES = 2;

/** Also a folder's name and the name inside the key, hence plain. */
const NAME = /^[a-z][a-z0-9-]{0,31}$/;
/** What the transcript's owner may choose is bounded: 32 bytes is a block hash and a drand round alike. */
const BEACON_VALUE = /^[0-9a-f]{64}$/;

const name = z.string().regex(NAME, "1 to 32 lower-case letters, digits and hyphens, a letter first");
/** A party must not look like another kind of entry. */
const party = name.refine((text) => !["opening", "announcement", "beacon"].includes(text), "another name");
const sha256 = z.string().regex(/^[0-9a-f]{64}$/);
const time = z.iso.datetime();
const number = z.int().min(1).max(999);
const exponent = z.int().min(10).max(40);

const opening = z.strictObject({
  format: z.literal("cloister ceremony 1"),
  startedAt: time,
  /** Circom sources by path; what they include from npm is fixed by the version of circomlib. */
  sources: z.record(z.string(), sha256),
  tools: z.strictObject({
    snarkjs: z.string(),
    circom2: z.string(),
    circomlib: z.string(),
    node: z.string(),
  }),
  ptau: z.strictObject({ file: z.string(), sha256, verifiedBySnarkjs: z.literal(true) }),
  circuits: z.record(
    name,
    z.strictObject({
      r1cs: sha256,
      wasm: sha256,
      /** Key number 0: no contribution yet, the same for everybody who makes it. */
      key: sha256,
    }),
  ),
});

const step = z.strictObject({
  /** SHA-256 of the key this one was made from, and of the key that was made. */
  from: sha256,
  to: sha256,
  /** BLAKE2b-512 of the contribution's public part, as snarkjs prints it. */
  contribution: z.string().regex(/^[0-9a-f]{128}$/),
});
const steps = z.record(name, step);

/** `previous` is the SHA-256 of the entry before; of the opening for entry 1. */
const contribution = z.strictObject({
  type: z.literal("contribution"),
  number,
  previous: sha256,
  party,
  at: time,
  circuits: steps,
});
const announcement = z.strictObject({
  type: z.literal("announcement"),
  number,
  previous: sha256,
  at: time,
  /** Public randomness that does not exist yet, so precise that everybody will read the same value. */
  source: z.string().min(10).max(300),
  iterationsExponent: exponent,
});
const beacon = z.strictObject({
  type: z.literal("beacon"),
  number,
  previous: sha256,
  at: time,
  value: z.string().regex(BEACON_VALUE, "32 bytes as 64 lower-case hex digits"),
  circuits: steps,
});

const transcript = z.strictObject({
  opening,
  entries: z.array(z.discriminatedUnion("type", [contribution, announcement, beacon])).max(999),
});

export type Opening = z.infer<typeof opening>;
export type Contribution = z.infer<typeof contribution>;
export type Announcement = z.infer<typeof announcement>;
export type Beacon = z.infer<typeof beacon>;
export type Entry = z.infer<typeof transcript>["entries"][number];
export type Transcript = z.infer<typeof transcript>;
/** An entry that made keys. */
export type KeyEntry = Contribution | Beacon;

export function parseTranscript(text: string): Transcript {
  return parsed(transcript, text, "the transcript");
}

/** A record on its own, as its party kept or published it. */
export function parseEntry(text: string): Entry {
  return parsed(transcript.shape.entries.element, text, "the record");
}

export function parsePartyName(text: string): string {
  const checked = party.safeParse(text);
  if (!checked.success) throw new CeremonyError("MALFORMED", `--name must be ${first(checked.error)}`);
  return checked.data;
}

function parsed<S extends z.ZodType>(shape: S, text: string, what: string): z.output<S> {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    throw new CeremonyError("MALFORMED", `${what} is not JSON`);
  }
  const checked = shape.safeParse(json);
  if (!checked.success) throw new CeremonyError("MALFORMED", `${what}: ${first(checked.error)}`);
  return checked.data;
}

function first(error: z.ZodError): string {
  const issue = error.issues[0];
  return `${issue?.path.map(String).join(".") ?? ""} ${issue?.message ?? ""}`.trim();
}

/** The bytes of an entry or opening that are hashed, and that a party signs: JSON with two spaces, then a newline. */
export function recordText(part: Entry | Opening): string {
  return `${JSON.stringify(part, null, 2)}\n`;
}

export function recordHash(part: Entry | Opening): string {
  return createHash("sha256").update(recordText(part)).digest("hex");
}

export function isKeyEntry(entry: Entry): entry is KeyEntry {
  return entry.type !== "announcement";
}

export function announcementOf(entries: readonly Entry[]): Announcement | undefined {
  return entries.find((entry) => entry.type === "announcement");
}

export function nameOf(entry: Entry): string {
  return entry.type === "contribution" ? entry.party : entry.type;
}

/** `0002-alice`: the folder of an entry, and how messages name it. */
export function linkName(entry: Entry): string {
  return `${String(entry.number).padStart(4, "0")}-${nameOf(entry)}`;
}

/** What the next entry must carry, whoever makes it. */
export function nextLink(all: Transcript): { readonly number: number; readonly previous: string } {
  const last = all.entries.at(-1);
  return { number: all.entries.length + 1, previous: recordHash(last ?? all.opening) };
}

/** SHA-256 of the newest key of a circuit. */
export function newestKey(all: Transcript, circuit: string): string | undefined {
  return all.entries.filter(isKeyEntry).at(-1)?.circuits[circuit]?.to ?? all.opening.circuits[circuit]?.key;
}

/** Everything that the transcript says about itself. Throws at the first link that does not hold. */
export function checkChain(all: Transcript): void {
  const circuits = Object.keys(all.opening.circuits);
  if (circuits.length === 0) throw new CeremonyError("MALFORMED", "the transcript names no circuit");
  const before: Entry[] = [];
  for (const entry of all.entries) {
    const link = linkName(entry);
    const soFar: Transcript = { opening: all.opening, entries: before };
    const expected = nextLink(soFar);
    if (entry.number !== expected.number)
      throw new CeremonyError(
        "NUMBERING_BROKEN",
        `${link} stands where number ${String(expected.number)} belongs: an entry was dropped or moved`,
      );
    if (entry.previous !== expected.previous)
      throw new CeremonyError(
        "LINK_BROKEN",
        `${link} does not follow ${linkBefore(before)}: one of the two was replaced, or one between them dropped`,
      );
    checkOrder(entry, before);
    if (isKeyEntry(entry)) {
      if (Object.keys(entry.circuits).join() !== circuits.join())
        throw new CeremonyError("MALFORMED", `${link} does not speak of every circuit`);
      for (const [circuit, { from }] of Object.entries(entry.circuits)) {
        if (from !== newestKey(soFar, circuit))
          throw new CeremonyError(
            "FORKED",
            `${link} was not made from the ${circuit} key of ${linkBefore(before)}`,
          );
      }
    }
    before.push(entry);
  }
}

/** Contributions, then one announcement, then the beacon it announced: whoever contributed last could not know the value. */
export function checkOrder(entry: Entry, before: readonly Entry[]): void {
  const link = linkName(entry);
  const last = before.at(-1)?.type;
  const isRight = {
    contribution: last === undefined || last === "contribution",
    announcement: last === "contribution",
    beacon: last === "announcement",
  }[entry.type];
  if (!isRight) {
    const needs = {
      contribution: "contributions end with the announcement of the beacon",
      announcement: "the beacon is announced once, after the last contribution",
      beacon: "a beacon is announced before it is applied, and applied once",
    }[entry.type];
    throw new CeremonyError("ORDER_OF_STEPS", `${link} cannot stand there: ${needs}`);
  }
  const isRepeated = before.some((other) => other.type === "contribution" && other.party === nameOf(entry));
  if (entry.type === "contribution" && isRepeated)
    throw new CeremonyError(
      "PARTY_REPEATED",
      `${entry.party} has contributed before; a second time adds nothing`,
    );
}

function linkBefore(before: readonly Entry[]): string {
  const last = before.at(-1);
  return last === undefined ? "the opening" : linkName(last);
}
