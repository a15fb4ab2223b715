/**
 * Groth16 over BN254, one proof or many at once. Trusts the verification keys it is built with and
 * nothing about a proof: its points are tested first, then one equation of pairings decides. Runs in the
 * verifier's own process, which holds no key.
 *
 * Accepted on purpose: other proofs of the same statement that anyone can make from a given one,
 * such as (−A, −B, C) or a re-randomised (A, B, C). Groth16 proofs are malleable in this way, so
 * proof bytes are no identity anywhere in the protocol: nullifiers and statementHash are, and the
 * latter leaves the proof out.
 */
import { FIELD_ORDER } from "../shared/protocol/brands.ts";
import { bytesToUint } from "../shared/protocol/bytes.ts";
import { KIND_NAMES, type Kind } from "../shared/protocol/statements.ts";
import type { VerificationKey } from "../shared/protocol/verification-key.ts";
import {
  AFFINE,
  AFFINE_TWIST,
  buildBn254,
  fixedPoint,
  FQ12,
  JACOBIAN,
  LINES,
  littleEndian,
  MAX_PAIRS,
  type At,
  type Bn254,
} from "./bn254.ts";
import type { Claim, ProofFault, Verdict, VerifyKeys } from "./claims.ts";
import { WEIGHT_BYTES } from "./stream.ts";

/** As many as fit the WebAssembly memory with their lines. */
export const MAX_CLAIMS = 64;
/** A weight can be 2^128, and 64 times as much when it is multiplied by its place; a sum of those 2,080 times. */
const SCALAR_BYTES = WEIGHT_BYTES + 1;
const SUM_BYTES = WEIGHT_BYTES + 2;

export interface Groth16 {
  /** One verdict a claim. With randomness they are verified together, and one by one only where several do not hold. */
  verdicts(claims: readonly Claim[], randomness?: Uint8Array): Verdict[];
}

/** Where the points of a claim lie. */
type Place = Readonly<Record<"a" | "linesOfB" | "c", At>>;

/** A claim whose points are good. */
type Member = Claim & Place;

export async function buildGroth16(keys: VerifyKeys, curves?: Bn254): Promise<Groth16> {
  const bn254 = curves ?? (await buildBn254());
  const { wasm, bytes, alloc, set, setNumbers } = bn254;

  // Everything the WebAssembly memory holds is allotted here, once.
  const places = Array.from({ length: MAX_CLAIMS }, () => ({
    a: alloc(AFFINE),
    linesOfB: alloc(LINES),
    c: alloc(AFFINE),
  }));
  const b = alloc(AFFINE_TWIST);
  const points = alloc(JACOBIAN * MAX_PAIRS);
  const affine = alloc(AFFINE * MAX_CLAIMS);
  const scalar = alloc(SCALAR_BYTES * MAX_CLAIMS);
  const [product, placed, power] = [alloc(FQ12), alloc(FQ12), alloc(FQ12)];
  const prepared = Object.fromEntries(
    KIND_NAMES.map((kind) => [kind, prepareKey(bn254, keys[kind], places[0]!.linesOfB)]),
  ) as Readonly<Record<Kind, ReturnType<typeof prepareKey>>>;

  /** Draws the lines of B in passing: the subgroup test needs them, and so does the equation. */
  function readPoints(claim: Claim, place: Place): Member | ProofFault {
    const { a, linesOfB, c } = place;
    setNumbers(a, claim.proof.a);
    setNumbers(b, claim.proof.b.flat());
    setNumbers(c, claim.proof.c);
    // First, because (0, 0) is how zero is spelled (EIP-197) and no curve point; a zero A or B would make
    // its pairing 1 whatever the other is.
    if (wasm.g1m_isZeroAffine(a) || wasm.g2m_isZeroAffine(b) || wasm.g1m_isZeroAffine(c))
      return "PROOF_AT_INFINITY";
    if (!wasm.g1m_inCurveAffine(a) || !wasm.g2m_inCurveAffine(b) || !wasm.g1m_inCurveAffine(c))
      return "PROOF_NOT_ON_CURVE";
    bn254.drawLines(b, linesOfB);
    // The twist has a large cofactor, so being on it does not suffice; the curve itself has none.
    return bn254.isInSubgroup(linesOfB) ? { ...claim, ...place } : "PROOF_NOT_IN_SUBGROUP";
  }

  /**
   * Π (e(A, B) · e(X, −γ) · e(C, −δ) · e(α, −β))^w over the members, to `out`, where X = IC[0] + Σ
   * signals[i]·IC[i + 1]. What members of a kind have in common is paired once: the sums of w·X, of w·C and of w
   * stand for all. Of one member alone e(α, −β) is left out, since e(α, β) is known.
   */
  function combine(members: readonly Member[], weights: readonly bigint[], out: At): void {
    const lines: At[] = [];
    const next = (linesOfQ: At): At => points + JACOBIAN * (lines.push(linesOfQ) - 1);
    const single = members.length === 1;
    const weightBytes = single ? 1 : SCALAR_BYTES;

    const weighted = members.map((member, i) => ({ ...member, weight: weights[i]! }));
    for (const { a, weight, linesOfB } of weighted) {
      set(scalar, littleEndian(weight, weightBytes));
      wasm.g1m_timesScalarAffine(a, scalar, weightBytes, next(linesOfB));
    }
    for (const kind of KIND_NAMES) {
      const key = prepared[kind];
      const same = weighted.filter((member) => member.kind === kind);
      if (same.length === 0) continue;

      const x = next(key.gamma);
      wasm.g1m_zero(x);
      key.ic.forEach((times, j) => {
        const terms = same.map(({ signals, weight }) => weight * (j === 0 ? 1n : signals[j - 1]!));
        times(terms.reduce((sum, term) => sum + term) % FIELD_ORDER, x);
      });

      same.forEach(({ c, weight }, i) => {
        set(affine + AFFINE * i, bytes.subarray(c, c + AFFINE));
        set(scalar + weightBytes * i, littleEndian(weight, weightBytes));
      });
      wasm.g1m_multiexpAffine(affine, scalar, weightBytes, same.length, next(key.delta));

      const sum = same.reduce((total, { weight }) => total + weight, 0n);
      if (single) continue;
      set(scalar, littleEndian(sum, SUM_BYTES));
      wasm.g1m_timesScalarAffine(key.alpha, scalar, SUM_BYTES, next(key.beta));
    }
    bn254.product(points, lines, out);
  }

  function holdsAlone(member: Member): boolean {
    combine([member], [1n], product);
    return wasm.ftm_eq(product, prepared[member.kind].target) === 1;
  }

  /**
   * Those of several members that do not hold, if it is one at most. With a factor e for each member, which is 1 if it
   * holds, let T be the product of all e^w. If a factor is not 1, at most one in 2^128 weights makes T = 1. Then one
   * product more tells which: with U of all e^(i·w), U = T^j says that the product of all e^((i − j)·w) is 1, so by the
   * same argument that every factor but the j-th is. Undefined when no j fits: several do not hold.
   */
  function faulty(members: readonly Member[], weights: readonly bigint[]): readonly Member[] | undefined {
    combine(members, weights, product);
    if (wasm.ftm_eq(product, bn254.one) === 1) return [];
    const placedWeights = weights.map((weight, i) => weight * BigInt(i + 1));
    combine(members, placedWeights, placed);
    wasm.ftm_one(power);
    const culprit = members.find(() => {
      wasm.ftm_mul(power, product, power);
      return wasm.ftm_eq(placed, power) === 1;
    });
    return culprit && [culprit];
  }

  return {
    verdicts(claims, randomness) {
      if (claims.length > MAX_CLAIMS) throw new RangeError("too many claims");
      if (claims.some(({ kind, signals }) => signals.length + 1 !== prepared[kind].ic.length))
        throw new Error("signals were not counted");
      const read = claims.map((claim, i) => readPoints(claim, places[i]!));
      const sound = read.filter((result) => typeof result !== "string");
      const found =
        randomness !== undefined && sound.length > 1
          ? faulty(sound, weightsOf(randomness, sound.length))
          : undefined;
      return read.map((result) => {
        if (typeof result === "string") return result;
        const holds = found === undefined ? holdsAlone(result) : !found.includes(result);
        return holds ? "PROOF_HOLDS" : "PROOF_INVALID";
      });
    },
  };
}

/** From 1 to 2^128, each as likely: a weight of zero would leave its claim out. */
function weightsOf(randomness: Uint8Array, count: number): bigint[] {
  if (randomness.length < WEIGHT_BYTES * count) throw new Error("too little randomness");
  const weight = (at: number): bigint => bytesToUint(randomness.subarray(at, at + WEIGHT_BYTES)) + 1n;
  return Array.from({ length: count }, (_, i) => weight(WEIGHT_BYTES * i));
}

/** What does not depend on a proof, computed once. */
function prepareKey(bn254: Bn254, key: VerificationKey, scratch: At) {
  const { wasm, alloc, setNumbers, drawLines } = bn254;
  const point = alloc(AFFINE_TWIST);
  const linesOf = (twisted: VerificationKey["gamma"], negated: boolean, at?: At): At => {
    setNumbers(point, twisted.flat());
    if (negated) wasm.g2m_negAffine(point, point);
    return drawLines(point, at);
  };
  const alpha = setNumbers(alloc(AFFINE), key.alpha);
  const [jacobian, target] = [alloc(JACOBIAN), alloc(FQ12)];
  wasm.g1m_toJacobian(alpha, jacobian);
  bn254.product(jacobian, [linesOf(key.beta, false, scratch)], target);
  return {
    alpha,
    ic: key.ic.map((each) => fixedPoint(bn254, setNumbers(point, each), scratch)),
    /** Lines of the Miller loop for −β, −γ and −δ. */
    beta: linesOf(key.beta, true),
    gamma: linesOf(key.gamma, true),
    delta: linesOf(key.delta, true),
    /** e(α, β). */
    target,
  };
}
