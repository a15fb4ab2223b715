/** Proofs as eight words in the order of EIP-197, and what arithmetic makes of them; by noble, which neither judge uses. */
import { bn254 } from "@noble/curves/bn254.js";
import { invert } from "@noble/curves/abstract/modular.js";
import { BASE_FIELD_ORDER, FIELD_ORDER } from "../../../shared/protocol/brands.ts";
import { bytesToUint, concatBytes, word } from "../../../shared/protocol/bytes.ts";
import { compressProof, decodeProof, type Proof } from "../../../shared/protocol/proof.ts";
import type { VerificationKey } from "../../../shared/protocol/verification-key.ts";
import { Draw } from "./draw.ts";

const { Fp, Fp2 } = bn254.fields;
const G1 = bn254.G1.Point;
const G2 = bn254.G2.Point;
type G1Point = InstanceType<typeof G1>;
type G2Point = InstanceType<typeof G2>;

/** a.x a.y b.x.c1 b.x.c0 b.y.c1 b.y.c0 c.x c.y */
export type Words = readonly bigint[];

export const bytesOf = (words: readonly bigint[]): Uint8Array => concatBytes(...words.map(word));

export const wordsIn = (bytes: Uint8Array): bigint[] =>
  Array.from({ length: bytes.length / 32 }, (_, i) => bytesToUint(bytes.subarray(32 * i, 32 * i + 32)));

/** Undefined for coordinates at or above q: the enclave reads no proof in them, so it has no bytes to sign. */
export function compressed(words: Words): Uint8Array | undefined {
  const proof = decodeProof(bytesOf(words));
  return proof && compressProof(proof);
}

interface Points {
  readonly a: G1Point;
  readonly b: G2Point;
  readonly c: G1Point;
}

function pointsOf([ax, ay, bx1, bx0, by1, by0, cx, cy]: Words): Points {
  return {
    a: G1.fromAffine({ x: ax!, y: ay! }),
    b: G2.fromAffine({ x: Fp2.fromBigTuple([bx0!, bx1!]), y: Fp2.fromBigTuple([by0!, by1!]) }),
    c: G1.fromAffine({ x: cx!, y: cy! }),
  };
}

function wordsOfPoints({ a, b, c }: Points): Words {
  const [first, { x, y }, last] = [a.toAffine(), b.toAffine(), c.toAffine()];
  return [first.x, first.y, x.c1, x.c0, y.c1, y.c0, last.x, last.y];
}

export function wordsOfProof({ a, b, c }: Proof): Words {
  return [a[0], a[1], b[0][1], b[0][0], b[1][1], b[1][0], c[0], c[1]];
}

/** Another proof of the same statement, as anybody makes one from a first: (A/s, s·(B + t·δ), C + t·A). */
export function madeAgain(words: Words, delta: VerificationKey["delta"], draw: Draw): Words {
  const { a, b, c } = pointsOf(words);
  const d = G2.fromAffine({ x: Fp2.fromBigTuple([...delta[0]]), y: Fp2.fromBigTuple([...delta[1]]) });
  const [s, t] = [draw.scalar(), draw.scalar()];
  return wordsOfPoints({
    a: a.multiplyUnsafe(invert(s, FIELD_ORDER)),
    b: b.add(d.multiplyUnsafe(t)).multiplyUnsafe(s),
    c: c.add(a.multiplyUnsafe(t)),
  });
}

/** The same B and a point of the cofactor's group: on the twist, and for a pairing without a look at the group still B. */
export function withPartOutside(words: Words, draw: Draw): Words {
  const points = pointsOf(words);
  return wordsOfPoints({ ...points, b: points.b.add(draw.oneOf(outside())) });
}

/** A few, since each is dear: r times any point of the twist. */
const OUTSIDE_POINTS = 16;
let outsidePoints: readonly G2Point[] | undefined;
function outside(): readonly G2Point[] {
  // The same for every seed, or a case would depend on which came before it.
  const draw = new Draw("outside");
  return (outsidePoints ??= Array.from({ length: OUTSIDE_POINTS }, () => {
    const { x0, x1, y0, y1 } = pointOfTwist(draw);
    const point = G2.fromAffine({ x: Fp2.fromBigTuple([x0, x1]), y: Fp2.fromBigTuple([y0, y1]) });
    return point.multiplyUnsafe(FIELD_ORDER - 1n).add(point);
  }));
}

const drawCoordinate = (draw: Draw): bigint => draw.number(BASE_FIELD_ORDER);

/** Y for an x, or undefined where the curve has no point. */
function yOnCurve(x: bigint): bigint | undefined {
  try {
    return Fp.sqrt(Fp.add(Fp.mul(Fp.sqr(x), x), G1.CURVE().b));
  } catch {
    return undefined;
  }
}

function yOnTwist(x0: bigint, x1: bigint): readonly [bigint, bigint] | undefined {
  const x = Fp2.fromBigTuple([x0, x1]);
  try {
    const { c0, c1 } = Fp2.sqrt(Fp2.add(Fp2.mul(Fp2.sqr(x), x), G2.CURVE().b));
    return [c0, c1];
  } catch {
    return undefined;
  }
}

/** Any point of the curve. */
export function pointOfCurve(draw: Draw): { readonly x: bigint; readonly y: bigint } {
  for (;;) {
    const x = drawCoordinate(draw);
    const y = yOnCurve(x);
    if (y !== undefined) return { x, y };
  }
}

/** Any point of the twist: by its cofactor hardly ever of the group. */
export function pointOfTwist(draw: Draw): Readonly<Record<"x0" | "x1" | "y0" | "y1", bigint>> {
  for (;;) {
    const [x0, x1] = [drawCoordinate(draw), drawCoordinate(draw)];
    const y = yOnTwist(x0, x1);
    if (y !== undefined) return { x0, x1, y0: y[0], y1: y[1] };
  }
}

/** An x of no point of the curve. */
export function xOfNothing(draw: Draw): bigint {
  for (;;) {
    const x = drawCoordinate(draw);
    if (yOnCurve(x) === undefined) return x;
  }
}

/** One half of an x of no point of the twist, where the other is `x1`. */
export function xOfNothingOnTwist(x1: bigint, draw: Draw): bigint {
  for (;;) {
    const x0 = drawCoordinate(draw);
    if (yOnTwist(x0, x1) === undefined) return x0;
  }
}
