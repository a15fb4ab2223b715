/**
 * Wallet state as bytes for a storage: sealed under a key of the wallet, so that a stolen file tells
 * nothing and a changed one is noticed. Damage, another wallet's file and another pool's file are told
 * apart, and none of them is ever taken for an empty wallet. The tree of a large pool is megabytes, so what is done with
 * it gives the thread back in between.
 *
 * Layout: magic[8] version[1] sha256[32] of the rest, nonce[24], sealed: length[4] of the JSON part, JSON, nodes[32 each].
 */
import { sha256 } from "@noble/hashes/sha2.js";
import { randomBytes } from "@noble/hashes/utils.js";
import { asAddress, asBytes32, asField, type Field } from "../protocol/brands.ts";
import { bytesToUint, concatBytes, equalBytes, uintToBytes } from "../protocol/bytes.ts";
import type { Home } from "../protocol/statements.ts";
import { NoteTree } from "../notes/merkle.ts";
import { recordKey, restoreRecord, storedRecord, type StoredRecord } from "./bridges/record.ts";
import type { StoredContact } from "./contact-record.ts";
import { ClientError } from "./errors.ts";
import { decryptInTurns, encryptInTurns, PIECE_BYTES } from "./sliced-cipher.ts";
import { restorePayment, type StoredPayment } from "./payment-record.ts";
import { WalletState, type Origin, type OwnedNote, type Reservation, type RootMark } from "./state.ts";
import type { Text } from "./stored-text.ts";
import { Turns } from "./turns.ts";

const MAGIC = new TextEncoder().encode("CLSTRWLT");
const VERSION = 4;
/** Written by an earlier release: without payments and contacts, which nobody else knows either. */
const BEFORE = 3;
const HEADER_BYTES = MAGIC.length + 1;
const SUM_BYTES = 32;
const NONCE_BYTES = 24;
/** Of the JSON part's length. */
const LENGTH_BYTES = 4;
const NODE_BYTES = 32;
/** Between two looks at the clock. */
const PIECE_NODES = 256;

interface Stored {
  readonly chainId: string;
  readonly pool: string;
  readonly lastEventId: string | null;
  /** Absent in what an earlier release wrote. */
  readonly origin?: Origin;
  readonly voidedIn: number | null;
  readonly notes: readonly Text<OwnedNote>[];
  readonly roots: readonly Text<RootMark>[];
  readonly rootsDropped: boolean;
  readonly blocks: WalletState["blocks"];
  readonly reservations: readonly Text<Reservation>[];
  /** Absent in what an earlier release wrote. */
  readonly bridges?: readonly StoredRecord[];
  /** These two are absent in what version 3 wrote. */
  readonly payments?: readonly StoredPayment[];
  readonly contacts?: readonly StoredContact[];
  /** Nodes by level. */
  readonly rows: readonly number[];
}

/** The state as it is at the call: what changes while the caller waits is not in it. */
export async function sealState(state: WalletState, home: Home, key: Uint8Array): Promise<Uint8Array> {
  const json = jsonOf(state, home);
  // A copy: a reorganisation may take leaves away, and put others in their place, before all are written.
  const nodes = state.tree.levels().flat();
  const turns = new Turns();
  const plain = new Uint8Array(LENGTH_BYTES + json.length + nodes.length * NODE_BYTES);
  plain.set(uintToBytes(BigInt(json.length), LENGTH_BYTES));
  plain.set(json, LENGTH_BYTES);
  let at = LENGTH_BYTES + json.length;
  for (const [index, node] of nodes.entries()) {
    if (index % PIECE_NODES === 0) await turns.pause();
    plain.set(uintToBytes(node, NODE_BYTES), at);
    at += NODE_BYTES;
  }
  const nonce = randomBytes(NONCE_BYTES);
  const header = concatBytes(MAGIC, Uint8Array.of(VERSION));
  const sealed = concatBytes(nonce, await encryptInTurns({ key, nonce, header }, plain, turns));
  return concatBytes(header, await sumOf(sealed, turns), sealed);
}

function jsonOf(state: WalletState, home: Home): Uint8Array {
  const stored = {
    chainId: String(home.chainId),
    pool: home.pool,
    lastEventId: state.lastEventId ?? null,
    origin: state.origin,
    voidedIn: state.voidedIn ?? null,
    notes: [...state.notes.values()],
    roots: state.roots,
    rootsDropped: state.rootsDropped,
    blocks: state.blocks,
    reservations: [...state.reservations.values()],
    bridges: [...state.bridges.values()].map(storedRecord),
    payments: [...state.payments.values()],
    contacts: [...state.contacts.values()],
    rows: state.tree.levels().map((row) => row.length),
  } satisfies Record<keyof Stored, unknown>;
  return new TextEncoder().encode(
    JSON.stringify(stored, (_name, value: unknown) => (typeof value === "bigint" ? String(value) : value)),
  );
}

async function sumOf(bytes: Uint8Array, turns: Turns): Promise<Uint8Array> {
  const sum = sha256.create();
  for (let at = 0; at < bytes.length; at += PIECE_BYTES) {
    await turns.pause();
    sum.update(bytes.subarray(at, at + PIECE_BYTES));
  }
  return sum.digest();
}

/** Rejects with STORAGE_CORRUPT or STORAGE_FOREIGN. */
export async function openState(bytes: Uint8Array, home: Home, key: Uint8Array): Promise<WalletState> {
  const turns = new Turns();
  const header = bytes.slice(0, HEADER_BYTES);
  const sealed = bytes.slice(HEADER_BYTES + SUM_BYTES);
  if (!equalBytes(header.slice(0, MAGIC.length), MAGIC)) throw corrupt("not a wallet");
  if (header[MAGIC.length] !== VERSION && header[MAGIC.length] !== BEFORE)
    throw corrupt("written by another version");
  if (!equalBytes(await sumOf(sealed, turns), bytes.slice(HEADER_BYTES, HEADER_BYTES + SUM_BYTES)))
    throw corrupt("damaged");
  const nonce = sealed.slice(0, NONCE_BYTES);
  const plain = await decryptInTurns({ key, nonce, header }, sealed.subarray(NONCE_BYTES), turns);
  if (plain === undefined) throw new ClientError("STORAGE_FOREIGN", "sealed by another key");
  const jsonEnd = LENGTH_BYTES + Number(bytesToUint(plain.slice(0, LENGTH_BYTES)));
  // What opens was written by us, so from here on a surprise is a fault of ours; it is still no empty wallet.
  try {
    const stored = JSON.parse(new TextDecoder().decode(plain.subarray(LENGTH_BYTES, jsonEnd))) as Stored;
    if (stored.chainId !== String(home.chainId) || stored.pool !== home.pool) {
      throw new ClientError("STORAGE_FOREIGN", "of another chain or pool");
    }
    return restore(stored, await levelsOf(stored.rows, plain.subarray(jsonEnd), turns));
  } catch (cause) {
    throw cause instanceof ClientError ? cause : corrupt("unreadable", cause);
  }
}

async function levelsOf(rows: readonly number[], nodes: Uint8Array, turns: Turns): Promise<Field[][]> {
  let at = 0;
  const levels: Field[][] = [];
  for (const count of rows) {
    const level: Field[] = [];
    while (level.length < count) {
      if (level.length % PIECE_NODES === 0) await turns.pause();
      level.push(must(asField(bytesToUint(nodes.subarray(at, at + NODE_BYTES)))));
      at += NODE_BYTES;
    }
    levels.push(level);
  }
  if (at !== nodes.length) throw corrupt("its tree has another size");
  return levels;
}

function restore(stored: Stored, levels: readonly (readonly Field[])[]): WalletState {
  const state = new WalletState();
  state.tree = must(NoteTree.from(levels));
  for (const note of stored.notes) {
    state.addNote({
      ...note,
      asset: must(asAddress(note.asset)),
      value: BigInt(note.value),
      blinding: fieldOf(note.blinding),
      commitment: fieldOf(note.commitment),
      nullifier: fieldOf(note.nullifier),
    });
  }
  state.roots = stored.roots.map((mark) => ({ ...mark, root: fieldOf(mark.root) }));
  state.rootsDropped = stored.rootsDropped;
  state.blocks = [...stored.blocks];
  state.lastEventId = stored.lastEventId ?? undefined;
  state.origin = stored.origin ?? "service";
  state.voidedIn = stored.voidedIn ?? undefined;
  for (const reservation of stored.reservations) {
    state.reservations.set(must(asBytes32(reservation.statement)), {
      ...reservation,
      commitments: reservation.commitments.map(fieldOf),
      change: BigInt(reservation.change),
      asset: must(asAddress(reservation.asset)),
    });
  }
  for (const payment of stored.payments ?? []) {
    const record = must(restorePayment(payment));
    state.payments.set(record.statement, record);
  }
  for (const contact of stored.contacts ?? []) state.contacts.set(contact.address, contact);
  for (const kept of stored.bridges ?? []) {
    const record = restoreRecord(kept);
    state.bridges.set(recordKey(record), record);
  }
  return state;
}

function fieldOf(text: string): Field {
  return must(asField(BigInt(text)));
}

function must<T>(value: T | undefined): T {
  if (value === undefined) throw corrupt("a value is out of range");
  return value;
}

function corrupt(detail: string, cause?: unknown): ClientError {
  return new ClientError("STORAGE_CORRUPT", detail, { cause });
}
