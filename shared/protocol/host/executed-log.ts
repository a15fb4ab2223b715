/**
 * The pool's `Executed` log, for everybody who follows the pool. Its data is packed and not ABI-encoded; the layout
 * stands at the event in IPool.sol. The pool is what was deployed, the node is not: exact length or refusal.
 */
import { asField, type Address, type Bytes32, type Field } from "../brands.ts";
import { asBytes32, fromHex } from "./text.ts";
import { ByteReader, toAddress, toBytes32 } from "../bytes.ts";
import { keccakHex } from "../hash.ts";
import { CIPHERTEXT_BYTES, EPHEMERAL_KEY_BYTES, kindById, KINDS, type Kind } from "../statements.ts";
import type { Ciphertexts } from "./statements.ts";

/** A statement that the pool executed. */
export interface Executed extends Ciphertexts {
  readonly statement: Bytes32;
  readonly kind: Kind;
  readonly firstLeafIndex: number;
  /** keccak256 of the proof as it stood in calldata: whoever hid that behind another contract has named it. */
  readonly proofHash: Bytes32;
  readonly nullifiers: readonly Field[];
  /** Of a swap one less than ciphertexts. */
  readonly commitments: readonly Field[];
  /** Undefined for a private transfer, and for a statement that comes again: what it moved has moved. */
  readonly moved: Moved | undefined;
}

/** What a statement moved in public. */
export interface Moved {
  readonly asset: Address;
  readonly amount: bigint;
  /** Depositor or recipient; undefined for a swap. */
  readonly party: Address | undefined;
}

/** The parts of a log that are read; nothing of them is believed. */
export interface UntrustedLog {
  readonly topics: readonly unknown[];
  readonly data: unknown;
}

export const EXECUTED_TOPIC = keccakHex(new TextEncoder().encode("Executed(bytes32)"));

const HEAD_BYTES = 1 + 8 + 32;
const HASH_BYTES = 32;
const MOVED_BYTES = 20 + 16;
const PARTY_BYTES = 20;
/** Before anything is made of it. */
const MAX_DATA_CHARS = 2 + 2 * 1024;

/** Undefined for anything but what the pool writes. Takes whatever a node answers; never throws. */
export function readExecuted({ topics, data }: UntrustedLog): Executed | undefined {
  if (topics.length !== 2 || topics[0] !== EXECUTED_TOPIC) return undefined;
  if (typeof data !== "string" || data.length > MAX_DATA_CHARS) return undefined;
  const statement = asBytes32(topics[1]);
  const bytes = fromHex(data);
  const kind = kindById(bytes?.[0] ?? 0);
  if (statement === undefined || bytes === undefined || kind === undefined) return undefined;
  const tailBytes = bytes.length - bytesWithoutMoved(kind);
  if (!tailsOf(kind).includes(tailBytes)) return undefined;

  const { inputs, outputs, leaves } = KINDS[kind];
  const reader = new ByteReader(bytes.subarray(1));
  const firstLeafIndex = Number(reader.uint(8));
  const proofHash = toBytes32(reader.take(HASH_BYTES));
  const nullifiers = fields(reader, inputs);
  const commitments = fields(reader, outputs);
  const ephemeralKey = reader.take(EPHEMERAL_KEY_BYTES);
  const ciphertexts = reader.list(leaves, CIPHERTEXT_BYTES);
  const moved = tailBytes === 0 ? undefined : readMoved(kind, reader);
  if (!Number.isSafeInteger(firstLeafIndex) || nullifiers === undefined || commitments === undefined)
    return undefined;
  // Of nothing the pool says nothing.
  if (moved?.amount === 0n) return undefined;
  return {
    ...{ statement, kind, firstLeafIndex, proofHash, nullifiers, commitments },
    ...{ ephemeralKey, ciphertexts, moved },
  };
}

function bytesWithoutMoved(kind: Kind): number {
  const { inputs, outputs, leaves } = KINDS[kind];
  return HEAD_BYTES + (inputs + outputs) * HASH_BYTES + EPHEMERAL_KEY_BYTES + leaves * CIPHERTEXT_BYTES;
}

/** How many bytes may follow: a deposit always moves something. */
function tailsOf(kind: Kind): readonly number[] {
  switch (kind) {
    case "deposit-shield":
      return [MOVED_BYTES + PARTY_BYTES];
    case "spend":
    case "spend9":
      return [0, MOVED_BYTES + PARTY_BYTES];
    case "private-swap":
      return [0, MOVED_BYTES];
  }
}

function readMoved(kind: Kind, reader: ByteReader): Moved {
  const asset = toAddress(reader.take(20));
  const amount = reader.uint(16);
  return { asset, amount, party: kind === "private-swap" ? undefined : toAddress(reader.take(PARTY_BYTES)) };
}

/** Undefined when one is not below the field order. */
function fields(reader: ByteReader, count: number): Field[] | undefined {
  const values = Array.from({ length: count }, () => asField(reader.uint(HASH_BYTES)));
  return values.every((value) => value !== undefined) ? values : undefined;
}
