/** Points of BN254's two curves, by noble's arithmetic. Coordinates are checked here; the group of order r is in lines.ts. */
import { bn254 } from "@noble/curves/bn254.js";
import { q } from "./field.ts";

export const { Fp, Fp2, Fp12 } = bn254.fields;
export const G1 = bn254.G1.Point;
export const G2 = bn254.G2.Point;
export type G1Point = InstanceType<typeof G1>;
export type G2Point = InstanceType<typeof G2>;

/** x, y. */
export type Pair = readonly [bigint, bigint];
/** x.c1, x.c0, y.c1, y.c0: the imaginary part first, as EIP-197 has it. */
export type Quad = readonly [bigint, bigint, bigint, bigint];

/** At or above q a coordinate is the second spelling of another one. */
export const isCanonical = (coordinates: readonly bigint[]): boolean =>
  coordinates.every((coordinate) => coordinate >= 0n && coordinate < q);

export const isInfinity = (coordinates: readonly bigint[]): boolean =>
  coordinates.every((coordinate) => coordinate === 0n);

/** Undefined for what is not on y² = x³ + 3, whose points are all of order r. Canonical, not infinity. */
export function pointOnCurve([x, y]: Pair): G1Point | undefined {
  const isOn = Fp.eql(Fp.sqr(y), Fp.add(Fp.mul(Fp.sqr(x), x), G1.CURVE().b));
  return isOn ? G1.fromAffine({ x, y }) : undefined;
}

/** Undefined for what is not on the twist y² = x³ + 3 / (9 + i), few of whose points are of order r. Canonical, not infinity. */
export function pointOnTwist([x1, x0, y1, y0]: Quad): G2Point | undefined {
  const [x, y] = [Fp2.fromBigTuple([x0, x1]), Fp2.fromBigTuple([y0, y1])];
  const isOn = Fp2.eql(Fp2.sqr(y), Fp2.add(Fp2.mul(Fp2.sqr(x), x), G2.CURVE().b));
  return isOn ? G2.fromAffine({ x, y }) : undefined;
}
