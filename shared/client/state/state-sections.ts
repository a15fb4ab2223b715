/**
 * Wallet state as sections of bytes, so that a save writes those that have changed. Two kinds, kept apart: a wallet's own,
 * which nobody else knows; and its copy of the pool's history, which the chain and the keys give again. Pure.
 */
import { asField, type Field } from "../../protocol/brands.ts";
import { bytesToUint, concatBytes, uintToBytes } from "../../protocol/bytes.ts";
import { asAddress, asBytes32 } from "../../protocol/host/text.ts";
import { NODE_BYTES, NoteTree, SUBTREE_LEAVES, subtreeOf } from "../../notes/merkle.ts";
import { recordKey, restoreRecord, storedRecord, type StoredRecord } from "./bridge-record.ts";
import type { StoredContact } from "./contact-record.ts";
import { LeafBlocks } from "./leaf-blocks.ts";
import type { PaymentRecord } from "./payment-record.ts";
import type { WalletState } from "./state.ts";
import { type Origin, type OwnedNote, type Reservation, type RootMark } from "./state.ts";
import { restorePayment, type StoredPayment } from "./stored-payment.ts";
import type { Text } from "./stored-text.ts";

export interface Section {
  readonly name: string;
  /** While its members are the same ones, so are the bytes. */
  readonly mark: readonly unknown[];
  write(): Uint8Array;
}

/** Sections that were read, by their names. */
export type Read = ReadonlyMap<string, Uint8Array>;

/** What there is to say of a history besides its sections. */
export interface HistoryHead {
  readonly lastEventId: string | null;
  readonly origin: Origin;
  readonly voidedIn: number | null;
  readonly rootsDropped: boolean;
  readonly leafCount: number;
}

/** Records in one section. */
const GROUP = 32;
/** Subtrees whose nodes are in one section. */
const NODE_GROUP = 256;
/** Of a block's or a leaf's number. */
const NUMBER_BYTES = 6;
const COUNT_BYTES = 2;

/** What cannot be read again. */
export function ownSections(state: WalletState): Section[] {
  const bridges = [...state.bridges.values()];
  return [
    listSection("reservations", [...state.reservations.values()]),
    { ...listSection("bridges", bridges), write: () => json(bridges.map(storedRecord)) },
    // The oldest goes when there are too many; so groups end where a record says, and not by number.
    ...grouped("payments", [...state.payments.values()], ({ statement }) => statement.endsWith("0")),
    ...grouped("contacts", [...state.contacts.values()]),
  ];
}

/** What the chain and the keys give again. */
export function historySections({ tree, blocks, roots, notes }: WalletState): Section[] {
  const complete = subtreeOf(tree.leafCount);
  const groups = Array.from({ length: Math.ceil(complete / NODE_GROUP) }, (_, group): Section => {
    const from = group * NODE_GROUP;
    const to = Math.min(from + NODE_GROUP, complete);
    const mark = Array.from({ length: to - from }, (_unused, at) => tree.revision(from + at));
    const write = (): Uint8Array =>
      concatBytes(tree.nodes(from, to), ...blocks.firsts().slice(from, to).map(number));
    return { name: `nodes/${group}`, mark, write };
  });
  const subtrees = tree.openSubtrees().map((place) => ({
    name: `subtree/${place}`,
    mark: [tree.revision(place)],
    write: () => concatBytes(writeRuns(blocks.inside(place)!), tree.leavesOf(place)!),
  }));
  const marks = [...roots];
  const packedRoots = (): Uint8Array =>
    concatBytes(
      ...marks.flatMap(({ root, leafCount, block }) => [
        uintToBytes(root, NODE_BYTES),
        number(leafCount),
        number(block),
      ]),
    );
  return [
    ...groups,
    ...subtrees,
    { name: "roots", mark: marks, write: packedRoots },
    ...grouped("notes", [...notes.values()]),
  ];
}

export function historyHead(state: WalletState): HistoryHead {
  const { lastEventId, origin, voidedIn, rootsDropped, tree } = state;
  return {
    ...{ lastEventId: lastEventId ?? null, origin, voidedIn: voidedIn ?? null, rootsDropped },
    leafCount: tree.leafCount,
  };
}

/** What was written by a wallet and sealed; a throw means that it was not, or is a fault of ours. */
export function restoreOwn(state: WalletState, read: Read): void {
  for (const stored of listOf<Text<Reservation>>(read, "reservations")) restoreReservation(state, stored);
  for (const stored of listOf<StoredRecord>(read, "bridges")) restoreBridge(state, stored);
  for (const stored of listOf<StoredPayment>(read, "payments")) addRestoredPayment(state, stored);
  for (const contact of listOf<StoredContact>(read, "contacts")) state.contacts.set(contact.address, contact);
}

/** The same of a copy of the history. */
export function restoreHistory(state: WalletState, head: HistoryHead, read: Read): void {
  const { leafCount } = head;
  const complete = subtreeOf(leafCount);
  const nodes: Uint8Array[] = [];
  const firsts: number[] = [];
  for (let from = 0; from < complete; from += NODE_GROUP) {
    const bytes = must(read.get(`nodes/${from / NODE_GROUP}`));
    const count = Math.min(NODE_GROUP, complete - from);
    nodes.push(bytes.subarray(0, count * NODE_BYTES));
    firsts.push(...numbers(bytes.subarray(count * NODE_BYTES)));
  }
  const leaves = new Map<number, Uint8Array>();
  const inside: [number, number[]][] = [];
  for (const [name, bytes] of read) {
    if (!name.startsWith("subtree/")) continue;
    const place = Number(name.slice("subtree/".length));
    const { blocks, end } = readRuns(bytes);
    inside.push([place, blocks]);
    leaves.set(place, bytes.subarray(end));
  }
  const rest = leaves.get(complete) ?? new Uint8Array(0);
  const last = inside.find(([place]) => place === complete);
  if (last !== undefined) firsts.push(must(last[1][0]));
  leaves.delete(complete);
  state.tree = must(NoteTree.from({ nodes: concatBytes(...nodes), leaves, rest }));
  state.blocks = must(LeafBlocks.from(firsts, inside, leafCount));
  if (state.tree.leafCount !== leafCount) throw new RangeError("its tree has another size");
  state.roots = readRoots(must(read.get("roots")));
  for (const stored of listOf<Text<OwnedNote>>(read, "notes")) restoreNote(state, stored);
  state.rootsDropped = head.rootsDropped;
  state.lastEventId = head.lastEventId ?? undefined;
  state.origin = head.origin;
  state.voidedIn = head.voidedIn ?? undefined;
}

export function restoreNote(state: WalletState, note: Text<OwnedNote>): void {
  state.addNote({
    ...note,
    asset: must(asAddress(note.asset)),
    value: BigInt(note.value),
    blinding: fieldOf(note.blinding),
    commitment: fieldOf(note.commitment),
    nullifier: fieldOf(note.nullifier),
  });
}

export function restoreReservation(state: WalletState, reservation: Text<Reservation>): void {
  state.reservations.set(must(asBytes32(reservation.statement)), {
    ...reservation,
    commitments: reservation.commitments.map(fieldOf),
    change: BigInt(reservation.change),
    asset: must(asAddress(reservation.asset)),
  });
}

export function restoreBridge(state: WalletState, stored: StoredRecord): void {
  const record = restoreRecord(stored);
  state.bridges.set(recordKey(record), record);
}

export function addRestoredPayment(state: WalletState, stored: StoredPayment): void {
  const record: PaymentRecord = must(restorePayment(stored));
  state.payments.set(record.statement, record);
}

export function restoreRoot(mark: Text<RootMark>): RootMark {
  return { ...mark, root: fieldOf(mark.root) };
}

export function fieldOf(text: string): Field {
  return must(asField(BigInt(text)));
}

export function must<T>(value: T | undefined): T {
  if (value === undefined) throw new RangeError("a value is missing or out of range");
  return value;
}

function listSection(name: string, items: readonly unknown[]): Section {
  return { name, mark: items, write: () => json(items) };
}

/** By number, or where an item says that it is the last of its group. */
function grouped<T>(
  name: string,
  items: readonly T[],
  isLast: (item: T) => boolean = () => false,
): Section[] {
  const groups: T[][] = [];
  let group: T[] = [];
  for (const item of items) {
    if (group.length === 0) groups.push(group);
    group.push(item);
    if (group.length === GROUP || isLast(item)) group = [];
  }
  return groups.map((members, i) => listSection(`${name}/${i}`, members));
}

function json(items: readonly unknown[]): Uint8Array {
  return new TextEncoder().encode(
    JSON.stringify(items, (_name, value: unknown) => (typeof value === "bigint" ? String(value) : value)),
  );
}

/** All records of a name, whose groups are in the order in which they were written. */
function listOf<T>(read: Read, name: string): T[] {
  return [...read]
    .filter(([section]) => section === name || section.startsWith(`${name}/`))
    .flatMap(([, bytes]) => JSON.parse(new TextDecoder().decode(bytes)) as T[]);
}

function number(value: number): Uint8Array {
  return uintToBytes(BigInt(value), NUMBER_BYTES);
}

function numberAt(bytes: Uint8Array, at: number): number {
  return Number(bytesToUint(bytes.subarray(at, at + NUMBER_BYTES)));
}

function numbers(bytes: Uint8Array): number[] {
  return Array.from({ length: Math.floor(bytes.length / NUMBER_BYTES) }, (_, i) =>
    numberAt(bytes, i * NUMBER_BYTES),
  );
}

const ROOT_BYTES = NODE_BYTES + 2 * NUMBER_BYTES;

function readRoots(bytes: Uint8Array): RootMark[] {
  if (bytes.length % ROOT_BYTES !== 0) throw new RangeError("a part of a root");
  return Array.from({ length: bytes.length / ROOT_BYTES }, (_, i) => {
    const at = i * ROOT_BYTES;
    return {
      root: must(asField(bytesToUint(bytes.subarray(at, at + NODE_BYTES)))),
      leafCount: numberAt(bytes, at + NODE_BYTES),
      block: numberAt(bytes, at + NODE_BYTES + NUMBER_BYTES),
    };
  });
}

/** How many, and each block once, with the number of its leaves. */
function writeRuns(blocks: readonly number[]): Uint8Array {
  const runs: { readonly block: number; count: number }[] = [];
  for (const block of blocks) {
    const last = runs.at(-1);
    if (last?.block === block) last.count += 1;
    else runs.push({ block, count: 1 });
  }
  const count = (value: number): Uint8Array => uintToBytes(BigInt(value), COUNT_BYTES);
  return concatBytes(
    count(runs.length),
    ...runs.flatMap(({ block, count: leaves }) => [number(block), count(leaves)]),
  );
}

function readRuns(bytes: Uint8Array): { readonly blocks: number[]; readonly end: number } {
  const countAt = (at: number): number => Number(bytesToUint(bytes.subarray(at, at + COUNT_BYTES)));
  const blocks: number[] = [];
  let at = COUNT_BYTES;
  for (let left = countAt(0); left > 0; left--) {
    const block = numberAt(bytes, at);
    for (let i = countAt(at + NUMBER_BYTES); i > 0; i--) blocks.push(block);
    at += NUMBER_BYTES + COUNT_BYTES;
  }
  if (blocks.length > SUBTREE_LEAVES) throw new RangeError("more leaves than a subtree has");
  return { blocks, end: at };
}
