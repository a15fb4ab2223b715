/**
 * Groth16 over BN254, written against noble's curve arithmetic in plain JavaScript. The enclave uses another
 * library (ffjavascript), so one fault in a library cannot blind both. Trusts the verification keys it is
 * built with, and nothing about a proof.
 */
import { bn254 } from "@noble/curves/bn254.js";
import { BASE_FIELD_ORDER, type Field } from "../../shared/protocol/brands.ts";
import { ByteReader } from "../../shared/protocol/bytes.ts";
import { decodeProof, PROOF_BYTES, type Proof } from "../../shared/protocol/proof.ts";
import { COMPRESSED_PROOF_BYTES } from "../../shared/protocol/host/proofs.ts";
import type { Kind } from "../../shared/protocol/statements.ts";
import type { VerificationKey } from "../../shared/protocol/verification-key.ts";

const { Fp, Fp2, Fp12 } = bn254.fields;
const { calcPairingPrecomputes } = bn254.utils;
const G1 = bn254.G1.Point;
const G2 = bn254.G2.Point;
type G1Point = InstanceType<typeof G1>;
type G2Point = InstanceType<typeof G2>;
type Lines = ReturnType<typeof calcPairingPrecomputes>;

export type ProofFault =
  "PROOF_MALFORMED" | "PROOF_NOT_ON_CURVE" | "PROOF_NOT_IN_SUBGROUP" | "EQUATION_FAILS";

export interface ProofVerifier {
  /** Undefined when the bytes prove these signals: 128 compressed ones, or 256 in the order of EIP-197. */
  faultOf(kind: Kind, proof: Uint8Array, signals: readonly Field[]): ProofFault | undefined;
}

export function createProofVerifier(keys: Readonly<Record<Kind, VerificationKey>>): ProofVerifier {
  // Prepared at first use: a pool may never have seen some kind.
  const prepared = new Map<Kind, PreparedKey>();
  return {
    faultOf(kind, bytes, signals) {
      const key = prepared.get(kind) ?? prepareKey(keys[kind]);
      prepared.set(kind, key);
      const proof = bytes.length === PROOF_BYTES ? readPoints(bytes) : decompress(bytes);
      if (typeof proof === "string") return proof;
      // On the curve by construction or by a look; the twist has a large cofactor, so B needs a look of its own.
      if (!proof.b.isTorsionFree()) return "PROOF_NOT_IN_SUBGROUP";
      return holds(key, proof, signals) ? undefined : "EQUATION_FAILS";
    },
  };
}

interface PreparedKey {
  /** Lines of the Miller loop for −γ and −δ. */
  readonly gamma: Lines;
  readonly delta: Lines;
  /** e(α, β). */
  readonly target: ReturnType<typeof bn254.pairing>;
  readonly ic: readonly G1Point[];
}

/** Multiples of the fixed points are kept in windows of so many bits; wider ones took long to fill and gained little. */
const WINDOW_BITS = 4;

function prepareKey(key: VerificationKey): PreparedKey {
  const point1 = ([x, y]: VerificationKey["alpha"]): G1Point => {
    const point = G1.fromAffine({ x, y });
    point.assertValidity();
    return point;
  };
  const point2 = ([x, y]: VerificationKey["beta"]): G2Point => {
    const point = G2.fromAffine({ x: Fp2.fromBigTuple([...x]), y: Fp2.fromBigTuple([...y]) });
    point.assertValidity();
    return point;
  };
  return {
    gamma: calcPairingPrecomputes(point2(key.gamma).negate()),
    delta: calcPairingPrecomputes(point2(key.delta).negate()),
    target: bn254.pairing(point1(key.alpha), point2(key.beta)),
    ic: key.ic.map((point) => point1(point).precompute(WINDOW_BITS)),
  };
}

/** e(A, B) · e(X, −γ) · e(C, −δ) = e(α, β), where X = IC[0] + Σ signals[i]·IC[i + 1]. */
function holds(key: PreparedKey, { a, b, c }: Points, signals: readonly Field[]): boolean {
  if (signals.length + 1 !== key.ic.length) throw new RangeError("signals were not counted");
  const x = key.ic.reduce((sum, point, i) => sum.add(point.multiplyUnsafe(signals[i - 1] as Field)));
  const pairs: Parameters<typeof bn254.millerLoopBatch>[0] = [
    [calcPairingPrecomputes(b), a.x, a.y],
    [key.delta, c.x, c.y],
  ];
  // The point at infinity has no affine form, and its pairing is 1.
  if (!x.is0()) pairs.push([key.gamma, x.toAffine().x, x.toAffine().y]);
  return Fp12.eql(Fp12.finalExponentiate(bn254.millerLoopBatch(pairs)), key.target);
}

interface Affine {
  readonly x: bigint;
  readonly y: bigint;
}

interface Points {
  readonly a: Affine;
  readonly b: G2Point;
  readonly c: Affine;
}

const PARITY_BIT = 1n << 255n;
/** y² = x³ + 3 on the curve, y² = x³ + 3/(9 + u) on the twist. */
const G1_B = G1.CURVE().b;
const G2_B = G2.CURVE().b;

/** `a.x b.x.c1 b.x.c0 c.x`, 32 bytes each; bit 255 of the first, second and fourth is the parity of y (SPEC, section 7). */
export function decompress(compressed: Uint8Array): Points | ProofFault {
  if (compressed.length !== COMPRESSED_PROOF_BYTES) return "PROOF_MALFORMED";
  const words = new ByteReader(compressed).list(4, 32).map((part) => new ByteReader(part).uint(32));
  const [a, b1, b0, c] = words as [bigint, bigint, bigint, bigint];
  const canonical = [a & ~PARITY_BIT, b1 & ~PARITY_BIT, b0, c & ~PARITY_BIT];
  if (canonical.some((coordinate) => coordinate >= BASE_FIELD_ORDER)) return "PROOF_MALFORMED";
  const [ax, bx1, bx0, cx] = canonical as [bigint, bigint, bigint, bigint];
  try {
    return {
      a: liftG1(ax, a >= PARITY_BIT),
      b: liftG2(bx0, bx1, b1 >= PARITY_BIT),
      c: liftG1(cx, c >= PARITY_BIT),
    };
  } catch {
    // No square root: no point has this x.
    return "PROOF_NOT_ON_CURVE";
  }
}

/** As `decompress`, of coordinates that are all there. */
function readPoints(bytes: Uint8Array): Points | ProofFault {
  const proof = decodeProof(bytes);
  if (proof === undefined) return "PROOF_MALFORMED";
  const [a, b, c] = [toG1(proof.a), toG2(proof.b), toG1(proof.c)];
  return a === undefined || b === undefined || c === undefined ? "PROOF_NOT_ON_CURVE" : { a, b, c };
}

function toG1([x, y]: Proof["a"]): Affine | undefined {
  return Fp.eql(Fp.sqr(y), Fp.add(Fp.mul(Fp.sqr(x), x), G1_B)) ? { x, y } : undefined;
}

function toG2([x, y]: Proof["b"]): G2Point | undefined {
  const point = { x: Fp2.fromBigTuple([...x]), y: Fp2.fromBigTuple([...y]) };
  const right = Fp2.add(Fp2.mul(Fp2.sqr(point.x), point.x), G2_B);
  return Fp2.eql(Fp2.sqr(point.y), right) ? G2.fromAffine(point) : undefined;
}

/**
 * The eight words that 128 compressed bytes stand for, in the order of EIP-197: what a refutation shows beside
 * them. Undefined where they stand for none.
 */
export function wordsOf(compressed: Uint8Array): readonly bigint[] | undefined {
  const points = decompress(compressed);
  if (typeof points === "string") return undefined;
  const { a, c } = points;
  const { x, y } = points.b.toAffine();
  return [a.x, a.y, x.c1, x.c0, y.c1, y.c0, c.x, c.y];
}

function liftG1(x: bigint, isOdd: boolean): Affine {
  const y = Fp.sqrt(Fp.add(Fp.mul(Fp.sqr(x), x), G1_B));
  return { x, y: (y & 1n) === (isOdd ? 1n : 0n) ? y : Fp.neg(y) };
}

function liftG2(c0: bigint, c1: bigint, isOdd: boolean): G2Point {
  const x = Fp2.fromBigTuple([c0, c1]);
  const y = Fp2.sqrt(Fp2.add(Fp2.mul(Fp2.sqr(x), x), G2_B));
  const deciding = y.c0 === 0n ? y.c1 : y.c0;
  return G2.fromAffine({ x, y: (deciding & 1n) === (isOdd ? 1n : 0n) ? y : Fp2.neg(y) });
}
