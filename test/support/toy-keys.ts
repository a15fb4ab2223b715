// Groth16 keys whose trapdoor is known: by them anything can be "proved". What broken circuits or a corrupt ceremony would
// be to the pool, and a quick way to real proofs that its verifiers accept. FOR TESTS.
import { bn254 } from "@noble/curves/bn254.js";
import { FIELD_ORDER } from "../../shared/protocol/brands.ts";
import { concatBytes, toHex, word } from "../../shared/protocol/bytes.ts";
import { KIND_NAMES, signalCount, type Kind } from "../../shared/protocol/statements.ts";
import type { VerificationKey } from "../../shared/protocol/verification-key.ts";
import type { Sealed } from "./drafts.ts";

type Pair = readonly [bigint, bigint];

const { G1, G2 } = bn254;

/** The trapdoor, the same for every kind. */
const [ALPHA, BETA, GAMMA, DELTA] = [3n, 5n, 7n, 11n];
/** IC[i], by i. */
const scalarOf = (i: number): bigint => BigInt(i) + 13n;
/** The forger's A and B. */
const [A, B] = [17n, 19n];

function g1(scalar: bigint): Pair {
  const { x, y } = G1.Point.BASE.multiply(scalar).toAffine();
  return [x, y];
}

function g2(scalar: bigint): readonly [Pair, Pair] {
  const { x, y } = G2.Point.BASE.multiply(scalar).toAffine();
  return [
    [x.c0, x.c1],
    [y.c0, y.c1],
  ];
}

export function toyKeys(): Record<Kind, VerificationKey> {
  const parts = { alpha: g1(ALPHA), beta: g2(BETA), gamma: g2(GAMMA), delta: g2(DELTA) };
  const keyOf = (kind: Kind): VerificationKey => ({
    ...parts,
    ic: Array.from({ length: signalCount(kind) + 1 }, (_, i) => g1(scalarOf(i))),
  });
  return Object.fromEntries(KIND_NAMES.map((kind) => [kind, keyOf(kind)])) as Record<Kind, VerificationKey>;
}

/** Of any signals: C makes up for whatever they are. In the order of EIP-197. */
export function toyProof(signals: readonly bigint[]): bigint[] {
  const shown = signals.reduce((sum, signal, i) => sum + signal * scalarOf(i + 1), scalarOf(0));
  const rest = (((A * B - ALPHA * BETA - shown * GAMMA) % FIELD_ORDER) + FIELD_ORDER) % FIELD_ORDER;
  const c = (rest * bn254.fields.Fr.inv(DELTA)) % FIELD_ORDER;
  const [bx, by] = g2(B);
  return [...g1(A), bx[1], bx[0], by[1], by[0], ...g1(c)];
}

/** Proved, whatever it says, and vouched for by nobody. */
export function toyProved(member: Sealed): Sealed {
  const proof = toHex(concatBytes(...toyProof(member.transaction.signals).map(word)));
  return { ...member, transaction: { ...member.transaction, proof, attestations: "0x" } };
}
