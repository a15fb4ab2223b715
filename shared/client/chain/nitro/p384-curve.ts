/**
 * P-384 in affine coordinates with the slope of each line, which is what the contract cannot find out by itself
 * (shared/contracts/nitro/P384.sol). Not in constant time: everything here is public.
 */
import { p384 } from "@noble/curves/nist.js";

/** A point below, or undefined at infinity. */
export type Point = { readonly x: bigint; readonly y: bigint } | undefined;

/** A sum and the slope of the line that gave it; 0 where there is no such line. */
export interface Sum {
  readonly sum: Point;
  readonly slope: bigint;
}

export const FIELD = p384.Point.Fp;
export const SCALARS = p384.Point.Fn;
export const GENERATOR: Point = p384.Point.BASE.toAffine();
/** 2^192·G: the contract reads the long factor as two halves over G and this. */
export const HIGH_GENERATOR: Point = p384.Point.BASE.multiply(1n << 192n).toAffine();

const { a: A, b: B } = p384.Point.CURVE();

export function add(a: Point, b: Point): Sum {
  if (a === undefined || b === undefined) return { sum: a ?? b, slope: 0n };
  if (a.x === b.x) return a.y === b.y ? double(a) : { sum: undefined, slope: 0n };
  return third(a, b, FIELD.div(FIELD.sub(b.y, a.y), FIELD.sub(b.x, a.x)));
}

/** No point has y = 0: the group's order is odd. */
export function double(a: Point): Sum {
  if (a === undefined) return { sum: undefined, slope: 0n };
  return third(a, a, FIELD.div(FIELD.create(3n * a.x * a.x + A), FIELD.create(2n * a.y)));
}

export function isOnCurve(x: bigint, y: bigint): boolean {
  if (!FIELD.isValid(x) || !FIELD.isValid(y)) return false;
  return FIELD.sqr(y) === FIELD.create(x * x * x + A * x + B);
}

export function negate(a: Point): Point {
  return a === undefined ? undefined : { x: a.x, y: FIELD.neg(a.y) };
}

/** first·G + second·q. */
export function combine(first: bigint, q: Point, second: bigint): Point {
  const whole = projective(GENERATOR).multiplyUnsafe(first).add(projective(q).multiplyUnsafe(second));
  return whole.is0() ? undefined : whole.toAffine();
}

function projective(a: Point): InstanceType<typeof p384.Point> {
  return a === undefined ? p384.Point.ZERO : p384.Point.fromAffine(a);
}

function third(a: NonNullable<Point>, b: NonNullable<Point>, slope: bigint): Sum {
  const x = FIELD.create(slope * slope - a.x - b.x);
  return { sum: { x, y: FIELD.create(slope * (a.x - x) - a.y) }, slope };
}
