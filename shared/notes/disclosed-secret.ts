/**
 * Shows the shared secret of one sender and one reader to a third party, with a proof that it is theirs: knowledge of the
 * secret x with own = x·B and shared = x·other (Chaum and Pedersen, made non-interactive over SHA-512). Only who made the
 * ephemeral key, or who has the viewing key, knows such an x; who was merely told the shared secret does not.
 *
 * X25519 keys are u-coordinates. The proof is over edwards25519, the same curve in another form (RFC 7748, section 4.1): a
 * key is the point with that u and an even x. All points must lie in the subgroup of prime order: outside of it a
 * discrete logarithm is not one number, and a proof would say less than it seems to.
 */
import { ed25519 } from "@noble/curves/ed25519.js";
import { sha512 } from "@noble/hashes/sha2.js";
import { randomBytes } from "@noble/hashes/utils.js";
import { bytesToUint, concatBytes, equalBytes } from "../protocol/bytes.ts";

const { Point } = ed25519;
const { Fp, Fn } = Point;
type Point = typeof Point.BASE;

const CHALLENGE = new TextEncoder().encode("cloister/disclosure/challenge/v1");
const NONCE = new TextEncoder().encode("cloister/disclosure/nonce/v1");

/** 96 bytes on the wire: shared ‖ challenge ‖ response, numbers little-endian as the curve's are. */
export interface SecretProof {
  /** The shared point, compressed as in RFC 8032. */
  readonly shared: Uint8Array;
  readonly challenge: Uint8Array;
  readonly response: Uint8Array;
}

/**
 * @param secret an X25519 secret, clamped or not
 * @param other the other side's X25519 public key
 * @param message what the proof is bound to: changed in any bit, it fails
 * Undefined where the other key is no point of the group: nobody has a secret for it.
 */
export function discloseSecret(
  secret: Uint8Array,
  other: Uint8Array,
  message: Uint8Array,
): SecretProof | undefined {
  const otherPoint = asPoint(other);
  if (otherPoint === undefined) return undefined;
  const clamped = clampedScalar(secret);
  const positive = Point.BASE.multiply(clamped);
  // The key names the point with the even x.
  const scalar = positive.toAffine().x & 1n ? Fn.neg(clamped) : clamped;
  const own = Point.BASE.multiply(scalar);
  const shared = otherPoint.multiply(scalar);
  // Hedged: neither a poor random source nor a repeated message alone gives the secret away.
  const nonce = reduced(sha512(concatBytes(NONCE, secret, randomBytes(32), message)));
  const commitments = [Point.BASE.multiply(nonce), otherPoint.multiply(nonce)] as const;
  const challenge = challengeOf(message, [own, otherPoint, shared, ...commitments]);
  const response = Fn.add(nonce, Fn.mul(challenge, scalar));
  return { shared: shared.toBytes(), challenge: scalarBytes(challenge), response: scalarBytes(response) };
}

/**
 * The X25519 shared secret of both keys, or undefined where the proof does not show that it is.
 * @param own the key of the one who made the proof
 */
export function readDisclosedSecret(
  own: Uint8Array,
  other: Uint8Array,
  { shared, challenge, response }: SecretProof,
  message: Uint8Array,
): Uint8Array | undefined {
  const [ownPoint, otherPoint, sharedPoint] = [asPoint(own), asPoint(other), inGroup(shared)];
  const [c, z] = [scalarOf(challenge), scalarOf(response)];
  if (ownPoint === undefined || otherPoint === undefined || sharedPoint === undefined) return undefined;
  if (c === undefined || z === undefined) return undefined;
  const first = Point.BASE.multiplyUnsafe(z).subtract(ownPoint.multiplyUnsafe(c));
  const second = otherPoint.multiplyUnsafe(z).subtract(sharedPoint.multiplyUnsafe(c));
  const expected = challengeOf(message, [ownPoint, otherPoint, sharedPoint, first, second]);
  if (!equalBytes(scalarBytes(expected), challenge)) return undefined;
  return keyOf(sharedPoint);
}

/** As `x25519.getPublicKey`, several times as fast: the curve's tables of the base point are on this side of it. */
export function publicKeyOf(secret: Uint8Array): Uint8Array {
  return keyOf(Point.BASE.multiply(clampedScalar(secret)));
}

function keyOf(point: Point): Uint8Array {
  const { y } = point.toAffine();
  return Fp.toBytes(Fp.div(Fp.add(Fp.ONE, y), Fp.sub(Fp.ONE, y)));
}

/** The point of a u-coordinate: y = (u − 1) / (u + 1), x even. Undefined on the twist, and outside of the group. */
function asPoint(key: Uint8Array): Point | undefined {
  if (key.length !== 32) return undefined;
  const u = littleEndian(key);
  if (u >= Fp.ORDER || u === Fp.ORDER - 1n) return undefined;
  return inGroup(Fp.toBytes(Fp.div(Fp.sub(u, Fp.ONE), Fp.add(u, Fp.ONE))));
}

function inGroup(bytes: Uint8Array): Point | undefined {
  try {
    const point = Point.fromBytes(bytes);
    return point.is0() || !point.isTorsionFree() ? undefined : point;
  } catch {
    return undefined;
  }
}

function challengeOf(message: Uint8Array, points: readonly Point[]): bigint {
  const bytes = points.map((point) => point.toBytes());
  return reduced(sha512(concatBytes(CHALLENGE, sha512(message), ...bytes)));
}

/** RFC 7748, section 5, then modulo the group's order: the points are of that order. */
function clampedScalar(secret: Uint8Array): bigint {
  const bytes = Uint8Array.from(secret);
  bytes[0]! &= 248;
  bytes[31] = (bytes[31]! & 127) | 64;
  return Fn.create(littleEndian(bytes));
}

/** 512 bits, so the bias is below 2^-255. Zero has no chance worth a branch, and would throw in the multiplication. */
function reduced(wide: Uint8Array): bigint {
  return Fn.create(littleEndian(wide));
}

function littleEndian(bytes: Uint8Array): bigint {
  return bytesToUint(Uint8Array.from(bytes).reverse());
}

function scalarBytes(scalar: bigint): Uint8Array {
  return Fn.toBytes(scalar);
}

/** One spelling: below the order. */
function scalarOf(bytes: Uint8Array): bigint | undefined {
  if (bytes.length !== 32) return undefined;
  const scalar = littleEndian(bytes);
  return scalar < Fn.ORDER ? scalar : undefined;
}
