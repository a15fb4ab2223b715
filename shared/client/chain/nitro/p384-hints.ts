/**
 * What the contract wants to be told of a P-384 signature (shared/contracts/nitro/P384.sol), true or false. Nothing here is
 * trusted: the contract checks every number. Twin of the order in which it uses them.
 */
import { bytesToUint, concatBytes, uintToBytes } from "../../../protocol/bytes.ts";
import {
  add,
  combine,
  double,
  FIELD,
  GENERATOR,
  HIGH_GENERATOR,
  isOnCurve,
  negate,
  SCALARS,
  type Point,
  type Sum,
} from "./p384-curve.ts";

/** Of every number on the wire. */
const BYTES = 48;
/** Digits of three bits in a number below 2^192. */
const STEPS = 64n;
const SHORT = 1n << 192n;
const SLOPES = 40 + 5 * Number(STEPS) + 2;
/** What the contract's field multiplies numbers with (Field384.sol); slopes are told so. */
const FACTOR = FIELD.create(1n << 256n);
/** z, x and y of R, and the slopes. */
export const HINTS_BYTES = BYTES * (3 + SLOPES);

/**
 * The hints for a 48-byte digest, r ‖ s and x ‖ y. Empty for what the contract calls false without looking at them:
 * r or s out of range, a key that is not on the curve, a wrong length.
 */
export function hintsFor(digest: Uint8Array, signature: Uint8Array, publicKey: Uint8Array): Uint8Array {
  if (digest.length !== BYTES) throw new RangeError("not a digest of SHA-384");
  if (signature.length !== 2 * BYTES || publicKey.length !== 2 * BYTES) return new Uint8Array();
  const [r, s] = halves(signature);
  const [x, y] = halves(publicKey);
  if (!SCALARS.isValidNot0(r) || !SCALARS.isValidNot0(s) || !isOnCurve(x, y)) return new Uint8Array();

  const key = { x, y };
  const e = SCALARS.create(bytesToUint(digest));
  const u2 = SCALARS.div(r, s);
  const v = shortMultiplier(u2);
  const z = SCALARS.div(v, s);
  const w = SCALARS.mul(z, r);
  const isWNegative = w >= SHORT;
  const point = combine(SCALARS.div(e, s), key, u2);
  // R at infinity is shown with G in its place, which adds v to the factor of G.
  const g = SCALARS.create(z * e + (point === undefined ? v : 0n));

  const slopes = equationSlopes({
    v,
    w: isWNegative ? SCALARS.neg(w) : w,
    g,
    key: isWNegative ? negate(key) : key,
    r: negate(point ?? GENERATOR),
  });
  return concatBytes(
    ...[z, point?.x ?? 0n, point?.y ?? 0n, ...slopes].map((number) => uintToBytes(number, BYTES)),
  );
}

/**
 * v of 1 to 2^192 − 1 such that v·u or −v·u is below 2^192 modulo n: Euclid's algorithm for n and u, stopped in the
 * middle. At its first remainder below 2^192 the one before is not, and a remainder's cofactor times the remainder
 * before it is at most n < 2^384.
 */
function shortMultiplier(u: bigint): bigint {
  let [before, rest] = [SCALARS.ORDER, u];
  let [cofactorBefore, cofactor] = [0n, 1n];
  while (rest >= SHORT) {
    const quotient = before / rest;
    [before, rest] = [rest, before - quotient * rest];
    [cofactorBefore, cofactor] = [cofactor, cofactorBefore - quotient * cofactor];
  }
  return cofactor < 0n ? -cofactor : cofactor;
}

/** The slopes of g·G + w·key + v·r in the contract's order; `key` and `r` come with their signs. */
function equationSlopes({
  v,
  w,
  g,
  key,
  r,
}: {
  readonly v: bigint;
  readonly w: bigint;
  readonly g: bigint;
  readonly key: Point;
  readonly r: Point;
}): bigint[] {
  const slopes: bigint[] = [];
  const follow = ({ sum, slope }: Sum): Point => {
    slopes.push(FIELD.mul(slope, FACTOR));
    return sum;
  };
  const sums = sumsOf(key, r, follow);
  const isGNegative = g % 2n === 0n;
  const oddG = isGNegative ? SCALARS.ORDER - g : g;
  const [low, high] = [oddG % (2n * SHORT), (oddG / SHORT) | SHORT];

  let sum: Point;
  for (let shift = 3n * STEPS - 3n; shift >= 0n; shift -= 3n) {
    for (let i = 0; i < 3; i++) sum = follow(double(sum));
    sum = follow(add(sum, chosen(sums, (w | SHORT) >> shift, (v | SHORT) >> shift)));
    const fixed = chosen(FIXED_SUMS, low >> shift, high >> shift);
    sum = follow(add(sum, isGNegative ? negate(fixed) : fixed));
  }
  sum = follow(w % 2n === 0n ? add(sum, negate(key)) : NO_SUM(sum));
  sum = follow(v % 2n === 0n ? add(sum, negate(r)) : NO_SUM(sum));
  if (sum !== undefined) throw new Error("the equation does not hold");
  return slopes;
}

const NO_SUM = (sum: Point): Sum => ({ sum, slope: 0n });

/** a·A + b·B for a of 1, 3, 5, 7 and b of −7, −5, …, 7, at 4(a − 1) + (b + 7)/2. */
function sumsOf(a: Point, b: Point, follow: (sum: Sum) => Point): Point[] {
  const multiplesOfA = oddMultiples(a, follow);
  const multiplesOfB = oddMultiples(b, follow);
  const sums = new Array<Point>(32);
  for (let j = 0; j < 8; j++) {
    const multiple = j < 4 ? multiplesOfB[j] : negate(multiplesOfB[j - 4]);
    for (let i = 0; i < 4; i++)
      sums[8 * i + (j < 4 ? 4 + j : 7 - j)] = follow(add(multiplesOfA[i], multiple));
  }
  return sums;
}

/** 1, 3, 5 and 7 times a. */
function oddMultiples(a: Point, follow: (sum: Sum) => Point): Point[] {
  const twice = follow(double(a));
  const multiples = [a];
  for (let i = 1; i < 4; i++) multiples.push(follow(add(multiples[i - 1], twice)));
  return multiples;
}

/** The multiples of G in shared/contracts/nitro/P384Table.sol. */
export const FIXED_SUMS = sumsOf(GENERATOR, HIGH_GENERATOR, ({ sum }) => sum);

/** The pair of digits 2m − 7, where m is bits 1 to 3; if the first is negative, the negated pair's entry, negated. */
function chosen(sums: readonly Point[], first: bigint, second: bigint): Point {
  const [m, other] = [Number((first >> 1n) & 7n), Number((second >> 1n) & 7n)];
  return m < 4 ? negate(sums[8 * (3 - m) + 7 - other]) : sums[8 * (m - 4) + other];
}

function halves(bytes: Uint8Array): [bigint, bigint] {
  return [bytesToUint(bytes.subarray(0, BYTES)), bytesToUint(bytes.subarray(BYTES))];
}
