// A Groth16 key whose secrets we keep, so that a proof of any signals can be made without a circuit,
// and points that no honest prover sends. Points come from noble, which the verifier does not use.
import { bn254 } from "@noble/curves/bn254.js";
import { FIELD_ORDER, type Field } from "../../../../shared/protocol/brands.ts";
import type { Proof } from "../../../../shared/protocol/proof.ts";
import { toSnarkjsProof } from "../../../../shared/protocol/host/proofs.ts";
import type { VerificationKey } from "../../../../shared/protocol/verification-key.ts";

const { Fr, Fp2 } = bn254.fields;
type Pair = readonly [bigint, bigint];
type G2Point = Proof["b"];

const ALPHA = 1_001n;
const BETA = 2_002n;
const GAMMA = 3_003n;
const DELTA = 4_004n;

export function g1(scalar: bigint): Pair {
  const { x, y } = bn254.G1.Point.BASE.multiply(Fr.create(scalar)).toAffine();
  return [x, y];
}

export function g2(scalar: bigint): G2Point {
  const { x, y } = bn254.G2.Point.BASE.multiply(Fr.create(scalar)).toAffine();
  return [
    [x.c0, x.c1],
    [y.c0, y.c1],
  ];
}

export function negate(point: Pair): Pair {
  return [point[0], bn254.fields.Fp.neg(point[1])];
}

export function negateG2([x, [y0, y1]]: G2Point): G2Point {
  return [x, [bn254.fields.Fp.neg(y0), bn254.fields.Fp.neg(y1)]];
}

/** The first point of the twist whose x is an integer from `from` on. Its order is not r, as `isTorsionFree` says. */
export function onTwistOutsideSubgroup(from = 1n): G2Point {
  const b = bn254.G2.Point.CURVE().b;
  for (let c0 = from; ; c0++) {
    const x = Fp2.fromBigTuple([c0, 0n]);
    const square = Fp2.add(Fp2.mul(Fp2.sqr(x), x), b);
    let y: ReturnType<typeof Fp2.sqrt>;
    try {
      y = Fp2.sqrt(square);
    } catch {
      continue;
    }
    if (bn254.G2.Point.fromAffine({ x, y }).isTorsionFree()) continue;
    return [
      [x.c0, x.c1],
      [y.c0, y.c1],
    ];
  }
}

/** `icScalars[i]` is the discrete logarithm of IC[i]. */
export function toyKey(icScalars: readonly bigint[]): VerificationKey {
  return { alpha: g1(ALPHA), beta: g2(BETA), gamma: g2(GAMMA), delta: g2(DELTA), ic: icScalars.map(g1) };
}

/** C = (a·b − α·β − x·γ) / δ makes the equation hold for any a and b. */
export function forge(icScalars: readonly bigint[], signals: readonly Field[], a = 5n, b = 7n): Proof {
  const x = icScalars.reduce((sum, ic, i) => sum + ic * (i === 0 ? 1n : signals[i - 1]!), 0n);
  const c = Fr.div(Fr.create(a * b - ALPHA * BETA - x * GAMMA), DELTA);
  return { a: g1(a), b: g2(b), c: g1(c) };
}

export function toSnarkjsKey(key: VerificationKey): unknown {
  const text = (values: readonly bigint[]): string[] => values.map(String);
  const twist = (point: G2Point): string[][] => [text(point[0]), text(point[1]), ["1", "0"]];
  return {
    protocol: "groth16",
    curve: "bn128",
    nPublic: key.ic.length - 1,
    vk_alpha_1: [...text(key.alpha), "1"],
    vk_beta_2: twist(key.beta),
    vk_gamma_2: twist(key.gamma),
    vk_delta_2: twist(key.delta),
    IC: key.ic.map((point) => [...text(point), "1"]),
  };
}

/** The equation by noble's pairing, point checks left out. */
export function holdsByNoble(key: VerificationKey, proof: Proof, signals: readonly bigint[]): boolean {
  const point1 = ([x, y]: Pair) => bn254.G1.Point.fromAffine({ x, y });
  const point2 = ([x, y]: G2Point) =>
    bn254.G2.Point.fromAffine({ x: Fp2.fromBigTuple([...x]), y: Fp2.fromBigTuple([...y]) });
  const x = key.ic
    .slice(1)
    .reduce(
      (sum, ic, i) => sum.add(point1(ic).multiplyUnsafe(signals[i]! % FIELD_ORDER)),
      point1(key.ic[0]!),
    );
  const product = bn254.pairingBatch([
    { g1: point1(proof.a).negate(), g2: point2(proof.b) },
    { g1: point1(key.alpha), g2: point2(key.beta) },
    { g1: x, g2: point2(key.gamma) },
    { g1: point1(proof.c), g2: point2(key.delta) },
  ]);
  return bn254.fields.Fp12.eql(product, bn254.fields.Fp12.ONE);
}

export { toSnarkjsProof };
