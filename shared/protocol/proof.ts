/**
 * Groth16 proofs over BN254 as bytes: 256 uncompressed between proxy and enclave, 128 compressed in
 * calldata. Only canonical coordinates pass; curve and subgroup are the enclave's to check.
 */
import { BASE_FIELD_ORDER, type Bytes32 } from "./brands.ts";
import { ByteReader, concatBytes, word } from "./bytes.ts";
import { keccakHex } from "./hash.ts";

/** Affine coordinates, each in [0, q). An Fp2 element is [c0, c1] = c0 + c1·u with u² = −1, as snarkjs orders it. */
export interface Proof {
  readonly a: readonly [bigint, bigint];
  readonly b: readonly [readonly [bigint, bigint], readonly [bigint, bigint]];
  readonly c: readonly [bigint, bigint];
}

export const PROOF_BYTES = 256;
export const COMPRESSED_PROOF_BYTES = 128;

/** a.x a.y b.x.c1 b.x.c0 b.y.c1 b.y.c0 c.x c.y, 32 bytes each, big-endian: the order of EIP-197 (imaginary part first). */
export function encodeProof({ a, b, c }: Proof): Uint8Array {
  return concatBytes(...[a[0], a[1], b[0][1], b[0][0], b[1][1], b[1][0], c[0], c[1]].map(word));
}

/** Undefined for another length or a coordinate at or above q: x and x + q are the same point, and only one may pass. */
export function decodeProof(bytes: Uint8Array): Proof | undefined {
  const reader = new ByteReader(bytes);
  const numbers = reader.list(8, 32).map((part) => new ByteReader(part).uint(32));
  if (!reader.done() || numbers.some((coordinate) => coordinate >= BASE_FIELD_ORDER)) return undefined;
  const [ax, ay, bx1, bx0, by1, by0, cx, cy] = numbers as [
    bigint,
    bigint,
    bigint,
    bigint,
    bigint,
    bigint,
    bigint,
    bigint,
  ];
  return {
    a: [ax, ay],
    b: [
      [bx0, bx1],
      [by0, by1],
    ],
    c: [cx, cy],
  };
}

/**
 * a.x b.x.c1 b.x.c0 c.x; bit 255 of the first, second and fourth word is the parity of y (for B: of
 * y.c0, or of y.c1 when y.c0 is zero). q has 254 bits, so the bit is free.
 */
export function compressProof({ a, b, c }: Proof): Uint8Array {
  const flagged = (x: bigint, odd: boolean): Uint8Array => word(odd ? x | (1n << 255n) : x);
  const bParity = b[1][0] === 0n ? b[1][1] : b[1][0];
  return concatBytes(
    flagged(a[0], (a[1] & 1n) === 1n),
    flagged(b[0][1], (bParity & 1n) === 1n),
    word(b[0][0]),
    flagged(c[0], (c[1] & 1n) === 1n),
  );
}

export function proofHashOf(proof: Proof): Bytes32 {
  return keccakHex(compressProof(proof));
}

// At most 77 digits: a ten-million-digit number would hold the process for seconds before any check.
const COORDINATE = /^(0|[1-9][0-9]{0,76})$/;

/** Reads snarkjs's proof object (`pi_a`, `pi_b`, `pi_c`, affine with a trailing 1). Undefined for anything else. */
export function parseSnarkjsProof(untrusted: unknown): Proof | undefined {
  if (typeof untrusted !== "object" || untrusted === null) return undefined;
  const { pi_a, pi_b, pi_c, protocol, curve } = untrusted as Record<string, unknown>;
  if ((protocol !== undefined && protocol !== "groth16") || (curve !== undefined && curve !== "bn128"))
    return undefined;
  const a = g1(pi_a);
  const c = g1(pi_c);
  const b = triple(pi_b);
  const bx = pair(b?.[0]);
  const by = pair(b?.[1]);
  const bz = pair(b?.[2]);
  if (a === undefined || c === undefined || bx === undefined || by === undefined || bz === undefined)
    return undefined;
  if (bz[0] !== 1n || bz[1] !== 0n) return undefined;
  return { a, b: [bx, by], c };
}

/** The inverse of `parseSnarkjsProof`. */
export function toSnarkjsProof({ a, b, c }: Proof): SnarkjsProof {
  const text = (values: readonly bigint[]): string[] => values.map(String);
  return {
    pi_a: [...text(a), "1"],
    pi_b: [text(b[0]), text(b[1]), ["1", "0"]],
    pi_c: [...text(c), "1"],
    protocol: "groth16",
    curve: "bn128",
  };
}

export interface SnarkjsProof {
  pi_a: string[];
  pi_b: string[][];
  pi_c: string[];
  protocol: string;
  curve: string;
}

function coordinate(value: unknown): bigint | undefined {
  if (typeof value !== "string" || !COORDINATE.test(value)) return undefined;
  const number = BigInt(value);
  return number < BASE_FIELD_ORDER ? number : undefined;
}

function triple(value: unknown): [unknown, unknown, unknown] | undefined {
  return Array.isArray(value) && value.length === 3 ? (value as [unknown, unknown, unknown]) : undefined;
}

function g1(value: unknown): [bigint, bigint] | undefined {
  const parts = triple(value);
  const x = coordinate(parts?.[0]);
  const y = coordinate(parts?.[1]);
  return x === undefined || y === undefined || parts?.[2] !== "1" ? undefined : [x, y];
}

function pair(value: unknown): [bigint, bigint] | undefined {
  if (!Array.isArray(value) || value.length !== 2) return undefined;
  const c0 = coordinate(value[0]);
  const c1 = coordinate(value[1]);
  return c0 === undefined || c1 === undefined ? undefined : [c0, c1];
}
