/**
 * Wallet state sealed in parts: a head, and sections that have changed since the last save. The head names every part, its
 * own sections directly and those of the history by way of one more part, so damage to the history never costs the rest.
 * A part that is missing, was changed, is of an older save or of another place does not open.
 *
 * Head: the beginning of ./sealing.ts, length[4], the sealed JSON; behind it, where a storage holds one piece only, each
 * part as nonce[24] length[4] bytes.
 */
import { bytesToHex, hexToBytes, randomBytes } from "@noble/hashes/utils.js";
import { bytesToUint, concatBytes, uintToBytes } from "../../protocol/bytes.ts";
import type { Home } from "../../protocol/statements.ts";
import { EARLIER_VERSIONS, openEarlier } from "./earlier-states.ts";
import { ClientError, hasCode } from "../base/errors.ts";
import {
  corrupt,
  NONCE_BYTES,
  openBegun,
  openPart,
  requireHome,
  sealBegun,
  SEALED_AT,
  sealPart,
  versionOf,
} from "./sealing.ts";
import {
  historyHead,
  historySections,
  ownSections,
  restoreHistory,
  restoreOwn,
  type HistoryHead,
  type Section,
} from "./state-sections.ts";
import { WalletState } from "./state.ts";
import { Turns } from "../base/turns.ts";

const VERSION = 5;
const LENGTH_BYTES = 4;
/** Place of the part that names the history's sections. */
const HISTORY = "history";
/** Hashed between two looks at the clock. */
const PIECE_NODES = 32;

/** Names of parts, by section. */
type Names = Readonly<Record<string, string>>;

interface Head {
  readonly chainId: string;
  readonly pool: string;
  readonly own: Names;
  readonly history: string;
}

interface HistoryPart extends HistoryHead {
  readonly sections: Names;
}

/** What is in the storage of a section. */
interface Kept {
  readonly mark: readonly unknown[];
  readonly name: string;
}
type AllKept = ReadonlyMap<string, Kept>;

export interface SealedState {
  readonly head: Uint8Array;
  /** Parts that the storage does not have yet, by name. */
  readonly added: ReadonlyMap<string, Uint8Array>;
  /** All that the head names. */
  readonly named: ReadonlySet<string>;
  /** To be given to the next `sealState` when this one is in the storage. */
  readonly kept: AllKept;
}

export interface OpenedState {
  readonly state: WalletState;
  readonly kept: AllKept;
  /** The stored history was damaged: the state is without any. */
  readonly isDamaged: boolean;
}

export interface SealingKeys {
  readonly home: Home;
  /** 32 bytes. */
  readonly key: Uint8Array;
}

/**
 * The state as it is at the call: what changes while the caller waits is not in it. Sections that are as in `before` are not
 * sealed again.
 */
export async function sealState(
  state: WalletState,
  { home, key }: SealingKeys,
  before: AllKept = new Map(),
): Promise<SealedState> {
  const plain = new Map<string, { readonly name: string; readonly bytes: Uint8Array }>();
  const kept = new Map<string, Kept>();
  const take = (section: Section): void => {
    const { name: place, mark } = section;
    const known = before.get(place);
    const isSame = known !== undefined && sameMembers(known.mark, mark);
    const name = isSame ? known.name : newName();
    kept.set(place, { mark, name });
    if (!isSame) plain.set(place, { name, bytes: section.write() });
  };
  const namesOf = (sections: readonly Section[]): Names =>
    Object.fromEntries(sections.map(({ name }) => [name, kept.get(name)!.name]));
  const [own, history] = [ownSections(state), historySections(state)];
  for (const section of [...own, ...history]) take(section);
  const part = { ...historyHead(state), sections: namesOf(history) } satisfies HistoryPart;
  const text = JSON.stringify(part);
  take({ name: HISTORY, mark: [text], write: () => new TextEncoder().encode(text) });
  const head: Head = {
    ...{ chainId: String(home.chainId), pool: home.pool },
    ...{ own: namesOf(own), history: kept.get(HISTORY)!.name },
  };

  const turns = new Turns();
  const sealedHead = measured(
    await sealBegun(VERSION, new TextEncoder().encode(JSON.stringify(head)), key, turns),
  );
  const added = new Map<string, Uint8Array>();
  for (const [place, { name, bytes }] of plain)
    added.set(name, await sealPart(hexToBytes(name), place, bytes, key, turns));
  return { head: sealedHead, added, named: new Set([...kept.values()].map(({ name }) => name)), kept };
}

/**
 * `read` gives parts by their names, and is not asked for what the head has with it. Throws STORAGE_CORRUPT or STORAGE_FOREIGN.
 */
export async function openState(
  bytes: Uint8Array,
  { home, key }: SealingKeys,
  read: (names: readonly string[]) => Promise<ReadonlyMap<string, Uint8Array>>,
): Promise<OpenedState> {
  const turns = new Turns();
  const version = versionOf(bytes);
  if (EARLIER_VERSIONS.includes(version))
    return { state: await openEarlier(bytes, home, key, turns), kept: new Map(), isDamaged: false };
  if (version !== VERSION) throw corrupt("written by another version");
  const { sealed, parts } = unbundled(bytes);
  const head = jsonIn(await openBegun(sealed, key, turns)) as Head;
  requireHome(head, home);

  const openAll = async (names: Names): Promise<Map<string, Uint8Array>> => {
    const apart = Object.values(names).filter((name) => !parts.has(name));
    const found = apart.length === 0 ? parts : await read(apart);
    const opened = new Map<string, Uint8Array>();
    for (const [place, name] of Object.entries(names)) {
      const part = parts.get(name) ?? found.get(name);
      const plain = part && (await openPart(hexToBytes(name), place, part, key, turns));
      if (plain === undefined) throw corrupt(`${place} is ${part === undefined ? "missing" : "damaged"}`);
      opened.set(place, plain);
    }
    return opened;
  };
  const state = new WalletState();
  await orCorrupt(async () => restoreOwn(state, await openAll(head.own)));
  let isDamaged = false;
  let text: string | undefined;
  const names: Record<string, string> = { ...head.own };
  try {
    await orCorrupt(async () => {
      const plain = (await openAll({ [HISTORY]: head.history })).get(HISTORY)!;
      const part = jsonIn(plain) as HistoryPart;
      const read = new WalletState();
      restoreHistory(read, part, await openAll(part.sections));
      while (!read.tree.hashSome(PIECE_NODES)) await turns.pause();
      state.takeChainOf(read);
      Object.assign(names, part.sections);
      text = new TextDecoder().decode(plain);
    });
  } catch (error) {
    if (!hasCode(error, "STORAGE_CORRUPT")) throw error;
    isDamaged = true;
  }
  // What came with the head is in the storage only as long as that head is.
  const isApart = (name: string | undefined): name is string => name !== undefined && !parts.has(name);
  const kept = new Map<string, Kept>();
  for (const { name: place, mark } of [...ownSections(state), ...historySections(state)])
    if (isApart(names[place])) kept.set(place, { mark, name: names[place] });
  if (text !== undefined && isApart(head.history)) kept.set(HISTORY, { mark: [text], name: head.history });
  return { state, kept, isDamaged };
}

/** Of what another has saved, and this one had saved itself, this one's marks are as good: its state still has those members. */
export function keptByBoth(own: AllKept, stored: AllKept): AllKept {
  return new Map(
    [...stored].map(([place, kept]) => [place, own.get(place)?.name === kept.name ? own.get(place)! : kept]),
  );
}

/** A head with all parts behind it, for a storage that holds one piece. */
export function bundled({ head, added }: SealedState): Uint8Array {
  const parts = [...added].flatMap(([name, bytes]) => [hexToBytes(name), lengthOf(bytes), bytes]);
  return concatBytes(head, ...parts);
}

/** What is sealed behind a beginning gets its length, so that something may stand behind it. */
function measured(begun: Uint8Array): Uint8Array {
  const sealed = begun.subarray(SEALED_AT);
  return concatBytes(begun.subarray(0, SEALED_AT), lengthOf(sealed), sealed);
}

function lengthOf(bytes: Uint8Array): Uint8Array {
  return uintToBytes(BigInt(bytes.length), LENGTH_BYTES);
}

/** What was cut off has no last parts; whoever needs them finds out. */
function unbundled(bytes: Uint8Array): {
  readonly sealed: Uint8Array;
  readonly parts: Map<string, Uint8Array>;
} {
  const takeFrom = (at: number): readonly [part: Uint8Array, end: number] => {
    const from = at + LENGTH_BYTES;
    const end = from + Number(bytesToUint(bytes.slice(at, from)));
    return [bytes.slice(from, end), end];
  };
  if (bytes.length < SEALED_AT + LENGTH_BYTES) throw corrupt("cut off");
  const [head, headEnd] = takeFrom(SEALED_AT);
  const parts = new Map<string, Uint8Array>();
  for (let at = headEnd; at + NONCE_BYTES + LENGTH_BYTES <= bytes.length;) {
    const name = bytesToHex(bytes.slice(at, at + NONCE_BYTES));
    const [part, end] = takeFrom(at + NONCE_BYTES);
    parts.set(name, part);
    at = end;
  }
  return { sealed: concatBytes(bytes.slice(0, SEALED_AT), head), parts };
}

function newName(): string {
  return bytesToHex(randomBytes(NONCE_BYTES));
}

function sameMembers(a: readonly unknown[], b: readonly unknown[]): boolean {
  return a.length === b.length && a.every((member, i) => member === b[i]);
}

function jsonIn(bytes: Uint8Array): unknown {
  return JSON.parse(new TextDecoder().decode(bytes));
}

async function orCorrupt(work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (cause) {
    throw cause instanceof ClientError ? cause : corrupt("unreadable", cause);
  }
}
