/** How the pool's log lies in LMDB: rows with short names, and fields and hashes as raw bytes. */
import { asField, type Address, type Bytes32, type Field } from "../../../../shared/protocol/brands.ts";
import { bytesToUint, toBytes32, word } from "../../../../shared/protocol/bytes.ts";
import type { ChainEvent, LoggedEvent, NoteOpening, StoredLeaf } from "../chain-data.ts";

export type Key = (string | number)[];

/** Fields and hashes are 32 raw bytes here: a leaf is read a million times. `o` is absent in rows without an opening, so older rows read as they are. */
type StoredEvent =
  | {
      k: "leaf";
      i: number;
      c: Uint8Array;
      e: Uint8Array;
      p: number;
      x: Uint8Array;
      s: "deposit" | "spend" | "swap" | "forwarder";
      z: boolean;
      o?: { n: Uint8Array; a: string; v: Uint8Array };
    }
  | { k: "nullifier"; n: Uint8Array }
  | { k: "root"; r: Uint8Array; l: number; q: number }
  /** `u`: suspended. */
  | { k: "voided"; s: string; f: number; l: number; n: Uint8Array[]; u?: true }
  | { k: "revoked"; a: number; z: number; r: Uint8Array; l: number }
  | { k: "executed"; s: string; f: number; l: number; n: Uint8Array[]; p: string; b?: string }
  | { k: "rejected"; s: string; r: string };

type StoredOpening = NonNullable<Extract<StoredEvent, { k: "leaf" }>["o"]>;

export interface LogRow {
  readonly h: string;
  readonly t: string;
  readonly e: StoredEvent;
}
export interface LeafRow {
  readonly c: Uint8Array;
  readonly h: Uint8Array;
  readonly b: number;
  readonly t: string;
  readonly z: boolean;
  /** Absent unless it is void. */
  readonly v?: true;
}
export interface RootRow {
  readonly r: Uint8Array;
  readonly l: number;
  readonly b: number;
  /** Its number before, which is revoked; absent for the first. */
  readonly p?: number;
}

export function field(bytes: Uint8Array): Field {
  const value = asField(bytesToUint(bytes));
  if (value === undefined) throw new RangeError("the store holds a number that is no field element");
  return value;
}

export function readLeaf(index: number, row: LeafRow): StoredLeaf {
  return {
    index,
    commitment: field(row.c),
    head: toBytes32(row.h),
    block: row.b,
    txHash: row.t as Bytes32,
    isLast: row.z,
    isVoid: row.v === true,
  };
}

export function readRow(key: Key, row: LogRow): LoggedEvent {
  const [, block, logIndex, part] = key as [string, number, number, number];
  const position = { block, logIndex, part };
  return { position, blockHash: row.h as Bytes32, txHash: row.t as Bytes32, event: readEvent(row.e) };
}

function storeOpening({ npk, asset, value }: NoteOpening): StoredOpening {
  return { n: word(npk), a: asset, v: word(value) };
}

function readOpening({ n, a, v }: StoredOpening): NoteOpening {
  return { npk: field(n), asset: a as Address, value: bytesToUint(v) };
}

export function storeEvent(event: ChainEvent): StoredEvent {
  switch (event.kind) {
    case "leaf":
      return {
        k: "leaf",
        i: event.index,
        c: word(event.commitment),
        e: event.sealed.ephemeralKey,
        p: event.sealed.output,
        x: event.sealed.ciphertext,
        s: event.source,
        z: event.isLast,
        ...(event.opening === undefined ? {} : { o: storeOpening(event.opening) }),
      };
    case "nullifier":
      return { k: "nullifier", n: word(event.nullifier) };
    case "root":
      return { k: "root", r: word(event.root), l: event.leafCount, q: event.sequence };
    case "voided":
      return {
        k: "voided",
        s: event.statement,
        f: event.firstLeafIndex,
        l: event.leafCount,
        n: event.nullifiers.map(word),
        ...(event.isSuspension === true ? { u: true } : {}),
      };
    case "revoked":
      return { k: "revoked", a: event.first, z: event.last, r: word(event.root), l: event.leafCount };
    case "executed":
      return {
        k: "executed",
        s: event.statement,
        f: event.firstLeafIndex,
        l: event.leafCount,
        n: event.nullifiers.map(word),
        p: event.proofHash,
        ...(event.confirms === undefined ? {} : { b: event.confirms }),
      };
    case "rejected":
      return { k: "rejected", s: event.statement, r: event.reason };
  }
}

function readEvent(stored: StoredEvent): ChainEvent {
  switch (stored.k) {
    case "leaf":
      return {
        kind: "leaf",
        index: stored.i,
        commitment: field(stored.c),
        sealed: { ephemeralKey: stored.e, output: stored.p, ciphertext: stored.x },
        source: stored.s,
        isLast: stored.z,
        ...(stored.o === undefined ? {} : { opening: readOpening(stored.o) }),
      };
    case "nullifier":
      return { kind: "nullifier", nullifier: field(stored.n) };
    case "root":
      return { kind: "root", root: field(stored.r), leafCount: stored.l, sequence: stored.q };
    case "voided":
      return {
        kind: "voided",
        statement: stored.s as Bytes32,
        firstLeafIndex: stored.f,
        leafCount: stored.l,
        nullifiers: stored.n.map(field),
        ...(stored.u === true ? { isSuspension: true } : {}),
      };
    case "revoked":
      return { kind: "revoked", first: stored.a, last: stored.z, root: field(stored.r), leafCount: stored.l };
    case "executed":
      return {
        kind: "executed",
        statement: stored.s as Bytes32,
        firstLeafIndex: stored.f,
        leafCount: stored.l,
        nullifiers: stored.n.map(field),
        proofHash: stored.p as Bytes32,
        ...(stored.b === undefined ? {} : { confirms: stored.b as Bytes32 }),
      };
    case "rejected":
      return { kind: "rejected", statement: stored.s as Bytes32, reason: stored.r };
  }
}
