/**
 * Groth16 over BN254. Trusts the verification keys it is built with and nothing about a proof: its
 * points are tested first, then one pairing equation decides.
 *
 * Accepted on purpose: other proofs of the same statement that anyone can make from a given one,
 * such as (−A, −B, C) or a re-randomised (A, B, C). Groth16 proofs are malleable in this way, so
 * proof bytes are no identity anywhere in the protocol: nullifiers and statementHash are, and the
 * latter leaves the proof out.
 */
import { buildBn128, type Bn128 } from "ffjavascript";
import { FIELD_ORDER, type Field } from "../shared/protocol/brands.ts";
import { word } from "../shared/protocol/bytes.ts";
import type { Proof } from "../shared/protocol/proof.ts";
import { KIND_NAMES, type Kind } from "../shared/protocol/statements.ts";
import type { VerificationKey } from "../shared/protocol/verification-key.ts";

export type ProofFault = "PROOF_AT_INFINITY" | "PROOF_NOT_ON_CURVE" | "PROOF_NOT_IN_SUBGROUP";

declare const tested: unique symbol;
/** The points of a proof, each in its prime-order group and none zero. Only `readPoints` makes one. */
export interface ProofPoints {
  readonly a: Uint8Array;
  readonly b: Uint8Array;
  readonly c: Uint8Array;
  readonly [tested]: true;
}

export interface Verifier {
  readPoints(proof: Proof): ProofPoints | ProofFault;
  holds(kind: Kind, points: ProofPoints, signals: readonly Field[]): boolean;
}

/** What does not depend on the proof, computed once. */
interface PreparedKey {
  /** Lines of the Miller loop for −γ and −δ. */
  readonly gamma: Uint8Array;
  readonly delta: Uint8Array;
  /** e(α, β). */
  readonly target: Uint8Array;
  readonly ic: readonly Uint8Array[];
}

/** Single-threaded: ffjavascript's threads are web workers, which run what they are sent. */
export async function buildVerifier(keys: Readonly<Record<Kind, VerificationKey>>): Promise<Verifier> {
  const curve = await buildBn128(true);
  const prepared = Object.fromEntries(
    KIND_NAMES.map((kind) => [kind, prepareKey(curve, keys[kind])]),
  ) as Readonly<Record<Kind, PreparedKey>>;
  return {
    readPoints: (proof) => readPoints(curve, proof),
    holds: (kind, points, signals) => holds(curve, prepared[kind], points, signals),
  };
}

function prepareKey(curve: Bn128, key: VerificationKey): PreparedKey {
  const { G1, G2 } = curve;
  const negatedLines = (point: VerificationKey["gamma"]): Uint8Array =>
    curve.prepareG2(G2.toJacobian(G2.neg(G2.fromObject(point))));
  return {
    gamma: negatedLines(key.gamma),
    delta: negatedLines(key.delta),
    target: curve.pairing(G1.fromObject(key.alpha), G2.fromObject(key.beta)),
    ic: key.ic.map((point) => G1.fromObject(point)),
  };
}

/**
 * Coordinates are canonical already (decodeProof). Zero comes first because (0, 0) is how it is
 * spelled (EIP-197) and no curve point; a zero A or B would make its pairing 1 whatever the other is.
 */
function readPoints({ G1, G2 }: Bn128, proof: Proof): ProofPoints | ProofFault {
  const a = G1.fromObject(proof.a);
  const b = G2.fromObject(proof.b);
  const c = G1.fromObject(proof.c);
  if (G1.isZero(a) || G2.isZero(b) || G1.isZero(c)) return "PROOF_AT_INFINITY";
  if (!G1.isValid(a) || !G2.isValid(b) || !G1.isValid(c)) return "PROOF_NOT_ON_CURVE";
  // The twist has a large cofactor, so being on it does not suffice; the curve itself has none. This is
  // the definition, r·B = 0, not one of the faster endomorphism tests.
  if (!G2.isZero(G2.timesScalar(b, ORDER))) return "PROOF_NOT_IN_SUBGROUP";
  return { a, b, c } as ProofPoints;
}

/** e(A, B) · e(X, −γ) · e(C, −δ) = e(α, β), where X = IC[0] + Σ signals[i]·IC[i + 1]. */
function holds(curve: Bn128, key: PreparedKey, { a, b, c }: ProofPoints, signals: readonly Field[]): boolean {
  const { G1, G2, Gt } = curve;
  if (signals.length + 1 !== key.ic.length) throw new Error("signals were not counted");
  const x = key.ic.reduce((sum, point, i) =>
    G1.add(sum, G1.timesScalar(point, littleEndian(signals[i - 1] as Field))),
  );
  const miller = (g1: Uint8Array, lines: Uint8Array): Uint8Array =>
    curve.millerLoop(curve.prepareG1(G1.toJacobian(g1)), lines);

  const proofPart = Gt.mul(miller(a, curve.prepareG2(G2.toJacobian(b))), miller(c, key.delta));
  // Zero has no affine form, so the Miller loop cannot take it; its pairing is 1.
  const product = G1.isZero(x) ? proofPart : Gt.mul(proofPart, miller(x, key.gamma));
  return Gt.eq(curve.finalExponentiation(product), key.target);
}

function littleEndian(value: bigint): Uint8Array {
  return word(value).reverse();
}

const ORDER = littleEndian(FIELD_ORDER);
