/**
 * A chunk of the pool's history as bytes: a fixed number of outputs in the order of their leaves, and with them what the
 * log says from behind the last output of the chunk before to its own last output. A chunk follows from the chain alone,
 * so every service and everybody with a node makes the same bytes. Nothing in it is authentic by itself: whoever
 * reads one hashes its leaves or confirms the root that its nodes lead to; ephemeral keys and nullifiers are
 * under no root.
 *
 * Integers are big-endian. A head, then sections without a gap, each as long as the head's counts say:
 *
 *     form u8 = 1 · number u32 · previous 32: SHA-256 of the chunk before, zero of the first
 *     end: block u48 · block hash 32 · log u32 · part u32, the place of the last output's event
 *     root 32 · its leaves u32 · its block u48: the pool's newest root there, zero while there is none
 *     counts, u32 each: outputs · transactions · runs · openings · nullifiers · voids · nullifiers of voids
 *
 *     nodes          32: roots of the chunk's subtrees of 256 leaves, each as it was queued: not emptied where one is void
 *     transactions   38: block u48 · hash 32
 *     runs           40: ephemeral key 32 · transaction u32 · place of its first output u8 · source u8 · outputs u16
 *     ciphertexts    53
 *     commitments    32
 *     openings       72: output u32 within the chunk · npk 32 · asset 20 · value 16
 *     nullifiers     36: transaction u32 · nullifier 32
 *     voids          16: transaction u32 · nullifiers of this chunk that come before u32 · first leaf u32 · leaves u16 · its nullifiers u16
 *     of voids       32: the nullifiers that are unspent again, one void after the other
 */
import { asField, type Address, type Bytes32, type Field } from "../protocol/brands.ts";
import { bytesToUint, mustFromHex, toAddress, toBytes32, uintToBytes, word } from "../protocol/bytes.ts";
import { CIPHERTEXT_BYTES, EPHEMERAL_KEY_BYTES } from "../protocol/statements.ts";

const FORM = 1;
/** A node of a chunk stands over so many leaves: four levels up. */
export const NODE_LEAVES = 256;
const NODE_BYTES = 32;
const TRANSACTION_BYTES = 6 + 32;
const RUN_BYTES = EPHEMERAL_KEY_BYTES + 4 + 1 + 1 + 2;
const OPENING_BYTES = 4 + 32 + 20 + 16;
const NULLIFIER_BYTES = 4 + 32;
const VOID_BYTES = 4 + 4 + 4 + 2 + 2;
const COUNTS = 7;
const COUNTS_AT = 1 + 4 + 32 + (6 + 32 + 4 + 4) + (32 + 4 + 6);
const HEAD_BYTES = COUNTS_AT + 4 * COUNTS;

/** Of outputs, by their code. */
export const OUTPUT_SOURCES = ["deposit", "spend", "swap", "forwarder"] as const;
export type OutputSource = (typeof OUTPUT_SOURCES)[number];

export interface ChunkEnd {
  readonly block: number;
  readonly blockHash: Bytes32;
  readonly logIndex: number;
  readonly part: number;
}

export interface ChunkRoot {
  readonly root: Field;
  readonly leafCount: number;
  readonly block: number;
}

export interface ChunkTransaction {
  readonly block: number;
  readonly hash: Bytes32;
}

/** Outputs under one ephemeral key, one after the other. */
export interface ChunkRun {
  readonly ephemeralKey: Uint8Array;
  /** Its place among the transactions. */
  readonly transaction: number;
  /** Place of the first one among the outputs of its statement: not 0 where the chunk before has the others. */
  readonly output: number;
  readonly source: OutputSource;
  readonly count: number;
}

/** What the pool itself said of a note that it hashed. */
export interface ChunkOpening {
  /** Place within the chunk. */
  readonly output: number;
  readonly npk: Field;
  readonly asset: Address;
  readonly value: bigint;
}

export interface ChunkNullifier {
  readonly transaction: number;
  readonly nullifier: Field;
}

export interface ChunkVoid {
  readonly transaction: number;
  /** So many of the chunk's nullifiers came before it. */
  readonly before: number;
  readonly firstLeafIndex: number;
  readonly leafCount: number;
  readonly nullifiers: readonly Field[];
}

export interface ChunkParts {
  readonly number: number;
  readonly previous: Uint8Array;
  readonly end: ChunkEnd;
  readonly root: ChunkRoot | undefined;
  readonly nodes: readonly Field[];
  readonly transactions: readonly ChunkTransaction[];
  readonly runs: readonly ChunkRun[];
  readonly ciphertexts: readonly Uint8Array[];
  readonly commitments: readonly Field[];
  readonly openings: readonly ChunkOpening[];
  readonly nullifiers: readonly ChunkNullifier[];
  readonly voids: readonly ChunkVoid[];
}

export function writeHistoryChunk(parts: ChunkParts): Uint8Array {
  const { transactions, runs, openings, nullifiers, voids, root } = parts;
  const unspent = voids.flatMap((one) => one.nullifiers);
  const lists = [parts.commitments, transactions, runs, openings, nullifiers, voids, unspent];
  const writer = new Writer(lengthOf(lists.map(({ length }) => length)));
  writer.number(FORM, 1).number(parts.number, 4).bytes(parts.previous);
  const { end } = parts;
  writer.number(end.block, 6).hash(end.blockHash).number(end.logIndex, 4).number(end.part, 4);
  writer.field(root?.root ?? (0n as Field)).number(root?.leafCount ?? 0, 4);
  writer.number(root?.block ?? 0, 6);
  for (const { length } of lists) writer.number(length, 4);
  for (const node of parts.nodes) writer.field(node);
  for (const { block, hash } of transactions) writer.number(block, 6).hash(hash);
  for (const { ephemeralKey, transaction, output, source, count } of runs) {
    writer.bytes(ephemeralKey).number(transaction, 4).number(output, 1);
    writer.number(OUTPUT_SOURCES.indexOf(source), 1).number(count, 2);
  }
  for (const ciphertext of parts.ciphertexts) writer.bytes(ciphertext);
  for (const commitment of parts.commitments) writer.field(commitment);
  for (const { output, npk, asset, value } of openings) {
    writer.number(output, 4).field(npk).bytes(mustFromHex(asset)).bytes(uintToBytes(value, 16));
  }
  for (const { transaction, nullifier } of nullifiers) writer.number(transaction, 4).field(nullifier);
  for (const one of voids) {
    writer.number(one.transaction, 4).number(one.before, 4).number(one.firstLeafIndex, 4);
    writer.number(one.leafCount, 2).number(one.nullifiers.length, 2);
  }
  for (const nullifier of unspent) writer.field(nullifier);
  return writer.done();
}

/** A chunk whose form is right: every count fits, every reference leads somewhere. Its fields are checked when they are asked for. */
export class HistoryChunk {
  readonly number: number;
  readonly previous: Uint8Array;
  readonly end: ChunkEnd;
  readonly outputs: number;
  readonly runCount: number;
  readonly nullifierCount: number;
  readonly #bytes: Uint8Array;
  readonly #view: DataView;
  readonly #counts: readonly number[];
  readonly #sections: readonly number[];

  /** Undefined for bytes that no `writeHistoryChunk` gives. */
  static read(bytes: Uint8Array): HistoryChunk | undefined {
    if (bytes.length < HEAD_BYTES || bytes[0] !== FORM) return undefined;
    const chunk = new HistoryChunk(bytes);
    return chunk.#isWhole() ? chunk : undefined;
  }

  private constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    this.number = this.#view.getUint32(1);
    this.previous = bytes.subarray(5, 37);
    this.end = {
      block: this.#uint48(37),
      blockHash: toBytes32(bytes.subarray(43, 75)),
      logIndex: this.#view.getUint32(75),
      part: this.#view.getUint32(79),
    };
    this.#counts = Array.from({ length: COUNTS }, (_, i) => this.#view.getUint32(COUNTS_AT + 4 * i));
    this.#sections = sectionsOf(this.#counts);
    this.outputs = this.#counts[0]!;
    this.runCount = this.#counts[2]!;
    this.nullifierCount = this.#counts[4]!;
  }

  /** Undefined while the pool has none. Throws RangeError for a number that is no field element. */
  get root(): ChunkRoot | undefined {
    const root = this.#field(83);
    if (root === 0n) return undefined;
    return { root, leafCount: this.#view.getUint32(115), block: this.#uint48(119) };
  }

  /** 32 bytes each. */
  get nodes(): Uint8Array {
    return this.#section(0);
  }

  transaction(place: number): ChunkTransaction {
    const at = this.#sections[1]! + place * TRANSACTION_BYTES;
    return { block: this.#uint48(at), hash: toBytes32(this.#bytes.subarray(at + 6, at + 38)) };
  }

  run(place: number): ChunkRun {
    const at = this.#sections[2]! + place * RUN_BYTES;
    return {
      ephemeralKey: this.#bytes.subarray(at, at + EPHEMERAL_KEY_BYTES),
      transaction: this.#view.getUint32(at + 32),
      output: this.#view.getUint8(at + 36),
      source: OUTPUT_SOURCES[this.#view.getUint8(at + 37)]!,
      count: this.#view.getUint16(at + 38),
    };
  }

  ciphertext(output: number): Uint8Array {
    const at = this.#sections[3]! + output * CIPHERTEXT_BYTES;
    return this.#bytes.subarray(at, at + CIPHERTEXT_BYTES);
  }

  /** 32 bytes each. */
  get commitments(): Uint8Array {
    return this.#section(4);
  }

  /** Throws RangeError for a number that is no field element; so do all below. */
  commitment(output: number): Field {
    return this.#field(this.#sections[4]! + output * 32);
  }

  openings(): ChunkOpening[] {
    return this.#list(3, (place) => {
      const at = this.#sections[5]! + place * OPENING_BYTES;
      return {
        output: this.#view.getUint32(at),
        npk: this.#field(at + 4),
        asset: toAddress(this.#bytes.subarray(at + 36, at + 56)),
        value: bytesToUint(this.#bytes.subarray(at + 56, at + 72)),
      };
    });
  }

  nullifier(place: number): ChunkNullifier {
    const at = this.#sections[6]! + place * NULLIFIER_BYTES;
    return { transaction: this.#view.getUint32(at), nullifier: this.#field(at + 4) };
  }

  /** The last 32 bits of one, to tell most nullifiers from one's own without reading them. */
  nullifierLow(place: number): number {
    return this.#view.getUint32(this.#sections[6]! + (place + 1) * NULLIFIER_BYTES - 4);
  }

  voids(): ChunkVoid[] {
    let next = this.#sections[8]!;
    return this.#list(5, (place) => {
      const { nullifiers: count, ...about } = this.#aboutVoid(place);
      const nullifiers = Array.from({ length: count }, () => this.#field((next += 32) - 32));
      return { ...about, nullifiers };
    });
  }

  #aboutVoid(place: number) {
    const at = this.#sections[7]! + place * VOID_BYTES;
    return {
      transaction: this.#view.getUint32(at),
      before: this.#view.getUint32(at + 4),
      firstLeafIndex: this.#view.getUint32(at + 8),
      leafCount: this.#view.getUint16(at + 12),
      nullifiers: this.#view.getUint16(at + 14),
    };
  }

  /** Every length and reference; what is a number of the field is looked at when it is used. */
  #isWhole(): boolean {
    const [outputs = 0, transactions = 0, , , nullifiers = 0, , unspent = 0] = this.#counts;
    if (outputs === 0 || outputs % NODE_LEAVES !== 0) return false;
    if (this.#bytes.length !== lengthOf(this.#counts)) return false;
    const isKnown = (transaction: number): boolean => transaction < transactions;
    let inRuns = 0;
    for (let i = 0; i < this.runCount; i++) {
      const { transaction, output, source, count } = this.run(i);
      // One byte names a place: 256 would be a second name of 0.
      const isGood = count > 0 && output + count <= 256 && (source as string | undefined) !== undefined;
      if (!isGood || !isKnown(transaction)) return false;
      inRuns += count;
    }
    if (inRuns !== outputs) return false;
    let last = -1;
    for (let i = 0; i < this.#counts[3]!; i++) {
      const output = this.#view.getUint32(this.#sections[5]! + i * OPENING_BYTES);
      if (output <= last || output >= outputs) return false;
      last = output;
    }
    for (let i = 0; i < nullifiers; i++) {
      if (!isKnown(this.#view.getUint32(this.#sections[6]! + i * NULLIFIER_BYTES))) return false;
    }
    let ofVoids = 0;
    let before = 0;
    for (let i = 0; i < this.#counts[5]!; i++) {
      const one = this.#aboutVoid(i);
      if (!isKnown(one.transaction) || one.before < before || one.before > nullifiers) return false;
      before = one.before;
      ofVoids += one.nullifiers;
    }
    return ofVoids === unspent;
  }

  #list<T>(count: number, read: (place: number) => T): T[] {
    return Array.from({ length: this.#counts[count]! }, (_, place) => read(place));
  }

  #section(place: number): Uint8Array {
    return this.#bytes.subarray(this.#sections[place], this.#sections[place + 1]);
  }

  #uint48(at: number): number {
    return this.#view.getUint16(at) * 2 ** 32 + this.#view.getUint32(at + 2);
  }

  #field(at: number): Field {
    const value = asField(bytesToUint(this.#bytes.subarray(at, at + 32)));
    if (value === undefined) throw new RangeError("a number is not below the field order");
    return value;
  }
}

/** Where each section begins, and where the last one ends. */
function sectionsOf(counts: readonly number[]): number[] {
  const [outputs = 0, transactions = 0, runs = 0, openings = 0, nullifiers = 0, voids = 0, unspent = 0] =
    counts;
  const sizes = [
    Math.floor(outputs / NODE_LEAVES) * NODE_BYTES,
    transactions * TRANSACTION_BYTES,
    runs * RUN_BYTES,
    outputs * CIPHERTEXT_BYTES,
    outputs * 32,
    openings * OPENING_BYTES,
    nullifiers * NULLIFIER_BYTES,
    voids * VOID_BYTES,
    unspent * 32,
  ];
  const starts = [HEAD_BYTES];
  for (const size of sizes) starts.push(starts.at(-1)! + size);
  return starts;
}

function lengthOf(counts: readonly number[]): number {
  return sectionsOf(counts).at(-1)!;
}

/** What does not fit is a fault of ours. */
class Writer {
  readonly #bytes: Uint8Array;
  #at = 0;

  constructor(length: number) {
    this.#bytes = new Uint8Array(length);
  }

  bytes(bytes: Uint8Array): this {
    this.#bytes.set(bytes, this.#at);
    this.#at += bytes.length;
    return this;
  }

  number(value: number, length: number): this {
    return this.bytes(uintToBytes(value, length));
  }

  field(value: Field): this {
    return this.bytes(word(value));
  }

  hash(hash: Bytes32): this {
    return this.bytes(mustFromHex(hash));
  }

  done(): Uint8Array {
    if (this.#at !== this.#bytes.length) throw new RangeError("a chunk's parts do not fit together");
    return this.#bytes;
  }
}
