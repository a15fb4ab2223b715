// Reads what a snarkjs proving key says about its own making, without snarkjs: the list of contributions and
// the points they consist of. snarkjs's verification neither looks at names and types of contributions
// nor checks that points lie on the curve; here both are read and checked.

import { bn254 } from "@noble/curves/bn254.js";
import { bytesToNumberLE } from "@noble/curves/utils.js";
import { blake2b } from "@noble/hashes/blake2.js";
import { bytesToHex } from "@noble/hashes/utils.js";
import { BASE_FIELD_ORDER } from "../../shared/protocol/brands.ts";
import { word } from "../../shared/protocol/bytes.ts";
import { CeremonyError } from "./transcript.ts";

export interface KeyContribution {
  readonly name: string;
  /** BLAKE2b-512 over the public part: what snarkjs calls the contribution hash. */
  readonly hash: string;
  /** Present exactly on a beacon. */
  readonly beacon: { readonly value: string; readonly iterationsExponent: number } | undefined;
}

const Q = BASE_FIELD_ORDER;
/** Coordinates are stored little-endian, times 2^256. */
const UNSHIFT = bn254.fields.Fp.inv((1n << 256n) % Q);
const CUBE_OF_SHIFT = (1n << 768n) % Q;
const G1_BYTES = 64;
const G2_BYTES = 128;

const SECTION = { header: 2, lastHalf: [8, 9], contributions: 10 } as const;
/** Both field orders with their lengths, then three counts of 4 bytes; points follow. */
const HEADER_POINTS_AT = 4 + 32 + 4 + 32 + 12;

/** Contributions in the order they were made. Throws KEY_INVALID for bytes that are no Groth16 key on BN254. */
export function contributionsOf(zkey: Buffer): KeyContribution[] {
  return rawContributions(zkey).map(readContribution);
}

/**
 * Every point that contributions changed lies on its curve, and those of G2 in the right subgroup. A point
 * elsewhere makes the pairing checks that follow mean nothing.
 */
export function checkPoints(zkey: Buffer): void {
  const header = section(zkey, SECTION.header);
  // alpha1, beta1, beta2, gamma2, delta1, delta2: contributions change the last two.
  const delta1 = HEADER_POINTS_AT + 2 * G1_BYTES + 2 * G2_BYTES;
  checkG1(header.subarray(delta1, delta1 + G1_BYTES));
  checkG2(header.subarray(delta1 + G1_BYTES, delta1 + G1_BYTES + G2_BYTES));

  for (const { g1, g2 } of rawContributions(zkey)) {
    g1.forEach(checkG1);
    checkG2(g2);
  }
  for (const type of SECTION.lastHalf) {
    const points = section(zkey, type);
    if (points.length % G1_BYTES !== 0) throw malformed("half a point");
    for (let at = 0; at < points.length; at += G1_BYTES) checkOnG1(points.subarray(at, at + G1_BYTES));
  }
}

interface RawContribution {
  readonly g1: readonly Buffer[];
  readonly g2: Buffer;
  /** Hash of what was contributed before. */
  readonly transcript: Buffer;
  readonly type: number;
  readonly parameters: Buffer;
}

function rawContributions(zkey: Buffer): RawContribution[] {
  const reader = new Reader(section(zkey, SECTION.contributions));
  reader.take(64); // hash of the circuit; snarkjs compares it
  const found: RawContribution[] = [];
  const count = reader.uint32();
  for (let i = 0; i < count; i++) {
    const g1 = [reader.take(G1_BYTES), reader.take(G1_BYTES), reader.take(G1_BYTES)];
    const [g2, transcript] = [reader.take(G2_BYTES), reader.take(64)];
    found.push({ g1, g2, transcript, type: reader.uint32(), parameters: reader.take(reader.uint32()) });
  }
  if (!reader.isDone()) throw malformed("bytes after the last contribution");
  return found;
}

function readContribution({ g1, g2, transcript, type, ...raw }: RawContribution): KeyContribution {
  const hash = blake2b.create({ dkLen: 64 });
  for (const point of [...g1, g2]) hash.update(uncompressed(point));
  hash.update(transcript);
  const parameters = new Reader(raw.parameters);
  let name = "";
  let iterationsExponent: number | undefined;
  let value: string | undefined;
  while (!parameters.isDone()) {
    const kind = parameters.byte();
    if (kind === 1) name = parameters.take(parameters.byte()).toString("utf8");
    else if (kind === 2) iterationsExponent = parameters.byte();
    else if (kind === 3) value = parameters.take(parameters.byte()).toString("hex");
    else throw malformed("an unknown parameter of a contribution");
  }
  const isBeacon = type === 1 && iterationsExponent !== undefined && value !== undefined;
  if (!isBeacon && (type !== 0 || value !== undefined)) throw malformed("an unknown type of contribution");
  const beacon = isBeacon ? { value: value ?? "", iterationsExponent: iterationsExponent ?? 0 } : undefined;
  return { name, hash: bytesToHex(hash.digest()), beacon };
}

/** The one section of that type. */
function section(zkey: Buffer, type: number): Buffer {
  const reader = new Reader(zkey);
  if (reader.take(4).toString("latin1") !== "zkey") throw malformed("not a proving key of snarkjs");
  reader.uint32();
  const found: Buffer[] = [];
  const count = reader.uint32();
  for (let i = 0; i < count; i++) {
    const itsType = reader.uint32();
    const bytes = reader.take(reader.uint64());
    if (itsType === type) found.push(bytes);
  }
  if (found.length !== 1 || found[0] === undefined)
    throw malformed(`not exactly one section ${String(type)}`);
  return found[0];
}

function checkG1(bytes: Buffer): void {
  const [x, y] = coordinates(bytes) as [bigint, bigint];
  valid(() => bn254.G1.Point.fromAffine({ x, y }).assertValidity());
}

function checkG2(bytes: Buffer): void {
  const [x0, x1, y0, y1] = coordinates(bytes) as [bigint, bigint, bigint, bigint];
  // assertValidity includes the subgroup: the cofactor of G2 is not 1.
  valid(() => bn254.G2.Point.fromAffine({ x: { c0: x0, c1: x1 }, y: { c0: y0, c1: y1 } }).assertValidity());
}

function valid(check: () => void): void {
  try {
    check();
  } catch {
    throw malformed("a point that a contribution made is not in its group");
  }
}

/**
 * y² = x³ + 3 on coordinates as stored, both sides times 2^768, which spares tens of thousands of
 * conversions. G1 has no other subgroup. All zeros stand for the point at infinity, which unused wires have.
 */
function checkOnG1(bytes: Buffer): void {
  const x = bytesToNumberLE(bytes.subarray(0, 32));
  const y = bytesToNumberLE(bytes.subarray(32));
  if (x === 0n && y === 0n) return;
  const isCanonical = x < Q && y < Q;
  if (!isCanonical || ((((y * y) % Q) << 256n) - x * x * x - 3n * CUBE_OF_SHIFT) % Q !== 0n)
    throw malformed("a point of the proving key is not on the curve");
}

/** Big-endian coordinates, the imaginary part of Fp2 first: the form in which snarkjs hashes points. */
function uncompressed(bytes: Buffer): Buffer {
  const [a, b, ...ofG2] = coordinates(bytes).map(word) as [Uint8Array, Uint8Array, Uint8Array?, Uint8Array?];
  const [c, d] = ofG2;
  return Buffer.concat(c && d ? [b, a, d, c] : [a, b]);
}

function coordinates(bytes: Buffer): bigint[] {
  const found: bigint[] = [];
  for (let at = 0; at < bytes.length; at += 32) {
    const stored = bytesToNumberLE(bytes.subarray(at, at + 32));
    if (stored >= Q) throw malformed("a coordinate above the field's order");
    found.push((stored * UNSHIFT) % Q);
  }
  return found;
}

function malformed(what: string): CeremonyError {
  return new CeremonyError("KEY_INVALID", what);
}

class Reader {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  take(length: number): Buffer {
    const end = this.#at + length;
    if (end > this.#bytes.length) throw malformed("the key ends too early");
    const part = this.#bytes.subarray(this.#at, end);
    this.#at = end;
    return part;
  }

  byte(): number {
    return this.take(1).readUInt8();
  }

  uint32(): number {
    return this.take(4).readUInt32LE();
  }

  uint64(): number {
    return Number(this.take(8).readBigUInt64LE());
  }

  isDone(): boolean {
    return this.#at === this.#bytes.length;
  }
}
