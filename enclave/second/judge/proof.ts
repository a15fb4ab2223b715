/** A proof's 256 bytes, their points and the hash that is signed. SPEC, section 7. */
import { keccak, Reader, word } from "./bytes.ts";
import {
  isCanonical,
  isInfinity,
  pointOnCurve,
  pointOnTwist,
  type G1Point,
  type G2Point,
  type Pair,
  type Quad,
} from "./points.ts";

/** Coordinates below q; whether they are points is not looked at yet. */
export interface Coordinates {
  readonly a: Pair;
  readonly b: Quad;
  readonly c: Pair;
}

/** Points on their curves, none at infinity. */
export interface Proof {
  readonly a: G1Point;
  readonly b: G2Point;
  readonly c: G1Point;
}

/** Undefined when a coordinate is not below q: the second spelling of another one. */
export function readCoordinates(bytes: Uint8Array): Coordinates | undefined {
  const words = new Reader(bytes).words(8);
  const [ax, ay, bx1, bx0, by1, by0, cx, cy] = words as [...Quad, ...Quad];
  return isCanonical(words) ? { a: [ax, ay], b: [bx1, bx0, by1, by0], c: [cx, cy] } : undefined;
}

const PARITY = 1n << 255n;
const flagged = (x: bigint, y: bigint): Uint8Array => word((y & 1n) === 1n ? x | PARITY : x);

/** Keccak of the 128 bytes that stand in calldata: of each y its parity alone, in the highest bit. */
export function proofHashOf({ a, b, c }: Coordinates): Uint8Array {
  const [x1, x0, y1, y0] = b;
  return keccak(flagged(...a), flagged(x1, y0 === 0n ? y1 : y0), word(x0), flagged(...c));
}

/** The points, or why there are none. Whether B is of the group shows when its lines are computed. */
export function readPoints({ a, b, c }: Coordinates): Proof | "PROOF_AT_INFINITY" | "PROOF_NOT_ON_CURVE" {
  if ([a, b, c].some(isInfinity)) return "PROOF_AT_INFINITY";
  const points = { a: pointOnCurve(a), b: pointOnTwist(b), c: pointOnCurve(c) };
  const isOn = points.a !== undefined && points.b !== undefined && points.c !== undefined;
  return isOn ? (points as Proof) : "PROOF_NOT_ON_CURVE";
}
