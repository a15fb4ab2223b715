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
  buildBn254,
  fixedPoint,
  FQ12,
  JACOBIAN,
  littleEndian,
  MAX_PAIRS,
  type At,
  type Bn254,
  type TimesFixedPoint,
} from "./bn254.ts";
import { WEIGHT_BYTES, type Claim, type ProofFault, type Verdict, type VerifyKeys } from "./claims.ts";

/** As many as fit the WebAssembly memory with their lines. */
export const MAX_CLAIMS = 64;
/** A weight can be 2^128, and 64 times as much when it is multiplied by its place; a sum of those 2,080 times. */
const SCALAR_BYTES = WEIGHT_BYTES + 1;
const SUM_BYTES = WEIGHT_BYTES + 2;

export interface Groth16 {
  /** One verdict a claim. With randomness they are verified together, and one by one only where several do not hold. */
  verdicts(claims: readonly Claim[], randomness?: Uint8Array): Verdict[];
}

/** What does not depend on a proof, computed once. */
interface PreparedKey {
  readonly alpha: Uint8Array;
  readonly ic: readonly TimesFixedPoint[];
  /** Lines of the Miller loop for −β, −γ and −δ. */
  readonly beta: At;
  readonly gamma: At;
  readonly delta: At;
  /** e(α, β). */
  readonly target: At;
}

/** A claim whose points are good. */
interface Member extends Claim {
  readonly a: Uint8Array;
  readonly linesOfB: At;
  readonly c: Uint8Array;
}

export async function buildGroth16(keys: VerifyKeys, curves?: Bn254): Promise<Groth16> {
  const bn254 = curves ?? (await buildBn254());
  const { curve, wasm } = bn254;
  const { G1, G2, tm } = curve;

  // Everything the WebAssembly memory holds is allotted here, once.
  const linesOfB = Array.from({ length: MAX_CLAIMS }, () => tm.alloc(curve.preQSize));
  const points = tm.alloc(JACOBIAN * MAX_PAIRS);
  const affine = tm.alloc(AFFINE * MAX_CLAIMS);
  const scalar = tm.alloc(SCALAR_BYTES * MAX_CLAIMS);
  const [product, placed, power] = [tm.alloc(FQ12), tm.alloc(FQ12), tm.alloc(FQ12)];
  const prepared = Object.fromEntries(
    KIND_NAMES.map((kind) => [kind, prepareKey(bn254, keys[kind], linesOfB[0]!)]),
  ) as Readonly<Record<Kind, PreparedKey>>;

  /** Draws the lines of B in passing: the subgroup test needs them, and so does the equation. */
  function readPoints(claim: Claim, lines: At): Member | ProofFault {
    const a = G1.fromObject(claim.proof.a);
    const b = G2.fromObject(claim.proof.b);
    const c = G1.fromObject(claim.proof.c);
    // First, because (0, 0) is how zero is spelled (EIP-197) and no curve point; a zero A or B would make
    // its pairing 1 whatever the other is.
    if (G1.isZero(a) || G2.isZero(b) || G1.isZero(c)) return "PROOF_AT_INFINITY";
    if (!G1.isValid(a) || !G2.isValid(b) || !G1.isValid(c)) return "PROOF_NOT_ON_CURVE";
    bn254.drawLines(b, lines);
    // The twist has a large cofactor, so being on it does not suffice; the curve itself has none.
    return bn254.isInSubgroup(lines) ? { ...claim, a, linesOfB: lines, c } : "PROOF_NOT_IN_SUBGROUP";
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
      tm.setBuff(affine, a);
      tm.setBuff(scalar, littleEndian(weight, weightBytes));
      wasm.g1m_timesScalarAffine(affine, scalar, weightBytes, next(linesOfB));
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
        tm.setBuff(affine + AFFINE * i, c);
        tm.setBuff(scalar + weightBytes * i, littleEndian(weight, weightBytes));
      });
      wasm.g1m_multiexpAffine(affine, scalar, weightBytes, same.length, next(key.delta));

      const sum = same.reduce((total, { weight }) => total + weight, 0n);
      if (!single) tm.setBuff(next(key.beta), G1.timesScalar(key.alpha, littleEndian(sum, SUM_BYTES)));
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
    combine(
      members,
      weights.map((weight, i) => weight * BigInt(i + 1)),
      placed,
    );
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
      const read = claims.map((claim, i) => readPoints(claim, linesOfB[i]!));
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
  return Array.from(
    { length: count },
    (_, i) => bytesToUint(randomness.subarray(WEIGHT_BYTES * i, WEIGHT_BYTES * (i + 1))) + 1n,
  );
}

function prepareKey(bn254: Bn254, key: VerificationKey, scratch: At): PreparedKey {
  const { curve, drawLines } = bn254;
  const { G1, G2, tm } = curve;
  const negated = (point: VerificationKey["gamma"]): Uint8Array => G2.neg(G2.fromObject(point));
  const alpha = G1.fromObject(key.alpha);
  return {
    alpha,
    ic: key.ic.map((point) => fixedPoint(bn254, G1.fromObject(point), scratch)),
    beta: drawLines(negated(key.beta)),
    gamma: drawLines(negated(key.gamma)),
    delta: drawLines(negated(key.delta)),
    target: tm.allocBuff(curve.pairing(alpha, G2.fromObject(key.beta))),
  };
}
