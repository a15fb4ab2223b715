/**
 * Proofs, verified many at once. The equation of one is e(A, B) = e(α, β) · e(X, γ) · e(C, δ), X = IC[0] + Σ signals[i] · IC[i + 1].
 * Each is raised to a weight of its own, 128 bits that nobody could foretell, and all are multiplied. If one of them is false, the
 * product is 1 for at most one in 2^128 of its weights, as everything is in groups of prime order by then. So a batch that holds
 * is true; one that does not is judged proof by proof.
 */
import { interleavedMSMUnsafe } from "@noble/curves/abstract/curve.js";
import { bn254 } from "@noble/curves/bn254.js";
import { numberIn } from "./bytes.ts";
import { r } from "./field.ts";
import { linesOf, type Lines } from "./lines.ts";
import { Fp12, G1, type G1Point } from "./points.ts";
import type { Proof } from "./proof.ts";
import { KIND_NAMES, type KindName } from "./statement.ts";
import type { VerificationKey, VerificationKeys } from "./verification-key.ts";

export interface Claim {
  readonly kind: KindName;
  readonly proof: Proof;
  /** Field elements, as many as the kind has. */
  readonly signals: readonly bigint[];
}

export type ProofVerdict = "PROOF_HOLDS" | "PROOF_INVALID" | "PROOF_NOT_IN_SUBGROUP";

/** So many bytes that nobody outside can foretell. */
export type Random = (length: number) => Uint8Array;

const WEIGHT_BYTES = 16;
/** Width of the tables of multiples, in bits: of points that stay, and of points of one batch. */
const [LASTING, PASSING] = [6, 4];

type Term = readonly [Lines, G1Point];
interface Weighted {
  readonly claim: Claim;
  readonly lines: Lines;
  readonly weight: bigint;
}

export class Groth16 {
  readonly #kinds: Readonly<Record<KindName, PreparedKey>>;
  readonly #random: Random;

  constructor(keys: VerificationKeys, random: Random) {
    const prepared = KIND_NAMES.map((kind) => [kind, prepareKey(keys[kind])] as const);
    this.#kinds = Object.fromEntries(prepared) as Record<KindName, PreparedKey>;
    this.#random = random;
  }

  /** A verdict for each claim. */
  verify(claims: readonly Claim[]): readonly ProofVerdict[] {
    if (claims.length === 0) return [];
    const isAlone = claims.length === 1;
    const lines = linesOf(claims.map(({ proof }) => proof.b));
    const members = claims.map((claim, i) => {
      const weight = isAlone ? 1n : this.#drawWeight();
      return lines[i] === undefined ? undefined : { claim, lines: lines[i], weight };
    });
    const isEachTrue = this.#hold(members.filter((each) => each !== undefined));
    return members.map((each) => {
      if (each === undefined) return "PROOF_NOT_IN_SUBGROUP";
      const holds = isEachTrue || (!isAlone && this.#hold([{ ...each, weight: 1n }]));
      return holds ? "PROOF_HOLDS" : "PROOF_INVALID";
    });
  }

  /** Throws for what is no draw: were all weights 0, every batch would hold. */
  #drawWeight(): bigint {
    const drawn = this.#random(WEIGHT_BYTES);
    const weight = numberIn(drawn);
    if (drawn.length !== WEIGHT_BYTES || weight === 0n) throw new Error("the generator gives no randomness");
    return weight;
  }

  /** Whether all of them hold. */
  #hold(members: readonly Weighted[]): boolean {
    const proofs = members.map(({ claim, lines, weight }): Term => [lines, times(claim.proof.a, weight)]);
    const keys = KIND_NAMES.flatMap((kind) => {
      const own = members.filter(({ claim }) => claim.kind === kind);
      return own.length === 0 ? [] : termsOf(this.#kinds[kind], own);
    });
    return isProductOne([...proofs, ...keys]);
  }
}

/** A key as each batch needs it. */
interface PreparedKey {
  readonly alpha: G1Point;
  readonly beta: Lines;
  readonly gamma: Lines;
  readonly delta: Lines;
  /** Σ factors[i] · IC[i] */
  readonly sumOfIc: (factors: bigint[]) => G1Point;
}

function prepareKey({ alpha, beta, gamma, delta, ic }: VerificationKey): PreparedKey {
  return { alpha, beta, gamma, delta, sumOfIc: interleavedMSMUnsafe(G1, [...ic], LASTING) };
}

/** The right sides of the proofs of one kind: Σ weight · α with β, Σ weight · X with γ, Σ weight · C with δ, all negated. */
function termsOf({ alpha, beta, gamma, delta, sumOfIc }: PreparedKey, members: readonly Weighted[]): Term[] {
  const weights = members.map(({ weight }) => weight);
  const total = weights.reduce((sum, weight) => sum + weight) % r;
  const signals = members[0]!.claim.signals.map(
    (_, i) => members.reduce((sum, { claim, weight }) => sum + weight * claim.signals[i]!, 0n) % r,
  );
  const sumOfC = interleavedMSMUnsafe(
    G1,
    members.map(({ claim }) => claim.proof.c),
    PASSING,
  );
  return [
    [beta, times(alpha, total).negate()],
    [gamma, sumOfIc([total, ...signals]).negate()],
    [delta, sumOfC(weights).negate()],
  ];
}

const times = (point: G1Point, factor: bigint): G1Point =>
  factor === 1n ? point : point.multiplyUnsafe(factor);

/** Whether the product of all pairings is 1: one loop and one final exponentiation for them together. */
function isProductOne(terms: readonly Term[]): boolean {
  // What is paired with infinity gives 1, and has no coordinates.
  const pairs = terms
    .filter(([, point]) => !point.is0())
    .map(([lines, point]): [Lines, bigint, bigint] => {
      const { x, y } = point.toAffine();
      return [lines, x, y];
    });
  return Fp12.eql(Fp12.finalExponentiate(bn254.millerLoopBatch(pairs)), Fp12.ONE);
}
