/**
 * Wallet state as bytes for a storage: sealed under a key of the wallet, so that a stolen file tells
 * nothing and a changed one is noticed. Damage, another wallet's file and another pool's file are told
 * apart, and none of them is ever taken for an empty wallet.
 *
 * Layout: magic[8] version[1] sha256[32] of the rest, nonce[24], sealed: length[4] of the JSON part, JSON, nodes[32 each].
 */
import { xchacha20poly1305 } from "@noble/ciphers/chacha.js";
import { sha256 } from "@noble/hashes/sha2.js";
import { randomBytes } from "@noble/hashes/utils.js";
import { asAddress, asBytes32, asField, type Field } from "../protocol/brands.ts";
import { bytesToUint, concatBytes, equalBytes, uintToBytes } from "../protocol/bytes.ts";
import type { Home } from "../protocol/statements.ts";
import { NoteTree } from "../notes/merkle.ts";
import { recordKey, restoreRecord, storedRecord, type StoredRecord } from "./bridges/record.ts";
import type { StoredContact } from "./contact-record.ts";
import { ClientError } from "./errors.ts";
import { restorePayment, type StoredPayment } from "./payment-record.ts";
import { WalletState, type Origin, type OwnedNote, type Reservation, type RootMark } from "./state.ts";
import type { Text } from "./stored-text.ts";

const MAGIC = new TextEncoder().encode("CLSTRWLT");
const VERSION = 4;
/** Written by an earlier release: without payments and contacts, which nobody else knows either. */
const BEFORE = 3;
const HEADER_BYTES = MAGIC.length + 1;
const SUM_BYTES = 32;
const NONCE_BYTES = 24;
const NODE_BYTES = 32;

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

export function sealState(state: WalletState, home: Home, key: Uint8Array): Uint8Array {
  const levels = state.tree.levels();
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
    rows: levels.map((row) => row.length),
  } satisfies Record<keyof Stored, unknown>;
  const json = new TextEncoder().encode(
    JSON.stringify(stored, (_name, value: unknown) => (typeof value === "bigint" ? String(value) : value)),
  );
  const nodes = new Uint8Array(levels.reduce((sum, row) => sum + row.length, 0) * NODE_BYTES);
  let at = 0;
  for (const node of levels.flat()) {
    nodes.set(uintToBytes(node, NODE_BYTES), at);
    at += NODE_BYTES;
  }
  const nonce = randomBytes(NONCE_BYTES);
  const header = concatBytes(MAGIC, Uint8Array.of(VERSION));
  const plain = concatBytes(uintToBytes(BigInt(json.length), 4), json, nodes);
  const sealed = concatBytes(nonce, xchacha20poly1305(key, nonce, header).encrypt(plain));
  return concatBytes(header, sha256(sealed), sealed);
}

export function openState(bytes: Uint8Array, home: Home, key: Uint8Array): WalletState {
  const header = bytes.slice(0, HEADER_BYTES);
  const sealed = bytes.slice(HEADER_BYTES + SUM_BYTES);
  if (!equalBytes(header.slice(0, MAGIC.length), MAGIC)) throw corrupt("not a wallet");
  if (header[MAGIC.length] !== VERSION && header[MAGIC.length] !== BEFORE)
    throw corrupt("written by another version");
  if (!equalBytes(sha256(sealed), bytes.slice(HEADER_BYTES, HEADER_BYTES + SUM_BYTES)))
    throw corrupt("damaged");
  let plain: Uint8Array;
  try {
    plain = xchacha20poly1305(key, sealed.slice(0, NONCE_BYTES), header).decrypt(sealed.slice(NONCE_BYTES));
  } catch {
    throw new ClientError("STORAGE_FOREIGN", "sealed by another key");
  }
  const jsonEnd = 4 + Number(bytesToUint(plain.slice(0, 4)));
  // What opens was written by us, so from here on a surprise is a fault of ours; it is still no empty wallet.
  try {
    const stored = JSON.parse(new TextDecoder().decode(plain.slice(4, jsonEnd))) as Stored;
    if (stored.chainId !== String(home.chainId) || stored.pool !== home.pool) {
      throw new ClientError("STORAGE_FOREIGN", "of another chain or pool");
    }
    return restore(stored, plain.slice(jsonEnd));
  } catch (cause) {
    throw cause instanceof ClientError ? cause : corrupt("unreadable", cause);
  }
}

function restore(stored: Stored, nodes: Uint8Array): WalletState {
  const state = new WalletState();
  let at = 0;
  const levels = stored.rows.map((count) =>
    Array.from({ length: count }, () => {
      at += NODE_BYTES;
      return must(asField(bytesToUint(nodes.subarray(at - NODE_BYTES, at))));
    }),
  );
  if (at !== nodes.length) throw corrupt("its tree has another size");
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
