/**
 * Groth16 proofs over BN254 as bytes: 256 uncompressed between proxy and enclave (host/proofs.ts writes
 * them), 128 compressed in calldata. Only canonical coordinates pass; curve and subgroup are checked later.
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

/**
 * a.x a.y b.x.c1 b.x.c0 b.y.c1 b.y.c0 c.x c.y, 32 bytes each, big-endian: the order of EIP-197 (imaginary part first).
 * Undefined for another length or a coordinate at or above q: x and x + q are the same point, and only one may pass.
 */
export function decodeProof(bytes: Uint8Array): Proof | undefined {
  const reader = new ByteReader(bytes);
  const pair = (): [bigint, bigint] => [reader.uint(32), reader.uint(32)];
  const imaginaryFirst = (): [bigint, bigint] => pair().reverse() as [bigint, bigint];
  const [a, bx, by, c] = [pair(), imaginaryFirst(), imaginaryFirst(), pair()];
  const isCanonical = [a, bx, by, c].flat().every((coordinate) => coordinate < BASE_FIELD_ORDER);
  return reader.done() && isCanonical ? { a, b: [bx, by], c } : undefined;
}

/**
 * a.x b.x.c1 b.x.c0 c.x; bit 255 of the first, second and fourth word is the parity of y (for B: of
 * y.c0, or of y.c1 when y.c0 is zero). q has 254 bits, so the bit is free.
 */
export function compressProof({ a, b, c }: Proof): Uint8Array {
  const flagged = (x: bigint, y: bigint): Uint8Array => word(x | ((y & 1n) << 255n));
  const [[bx0, bx1], [by0, by1]] = b;
  return concatBytes(flagged(...a), flagged(bx1, by0 === 0n ? by1 : by0), word(bx0), flagged(...c));
}

export function proofHashOf(proof: Proof): Bytes32 {
  return keccakHex(compressProof(proof));
}
