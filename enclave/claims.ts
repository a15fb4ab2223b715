/**
 * What the program and a verifying process of the first verifier say to each other. The process reads hostile bytes, so
 * only what is said to it is in a form that rebuilds objects; what it answers is one byte a claim.
 */
import { deserialize, serialize } from "node:v8";
import type { Field } from "../shared/protocol/brands.ts";
import type { Proof } from "../shared/protocol/proof.ts";
import type { Kind } from "../shared/protocol/statements.ts";
import type { VerificationKey } from "../shared/protocol/verification-key.ts";
import type { VerifierKind } from "./stream.ts";

/** Said first. */
export type VerifyKeys = Readonly<Record<Kind, VerificationKey>>;

/** Said after that, and answered with one verdict a claim. */
export interface VerifyBatch {
  readonly claims: readonly Claim[];
  readonly randomness: Uint8Array | undefined;
}

export interface Claim {
  readonly kind: Kind;
  /** Coordinates are canonical already (decodeProof). */
  readonly proof: Proof;
  /** As many as the kind has; another number is a fault of ours. */
  readonly signals: readonly Field[];
}

/** The position is what a process answers. */
const VERDICTS = [
  "PROOF_HOLDS",
  "PROOF_INVALID",
  "PROOF_AT_INFINITY",
  "PROOF_NOT_ON_CURVE",
  "PROOF_NOT_IN_SUBGROUP",
] as const;
export type Verdict = (typeof VERDICTS)[number];
export type ProofFault = Exclude<Verdict, "PROOF_HOLDS">;

/** The program's half. */
export function verifierOf(keys: VerifyKeys): VerifierKind<Claim, Verdict> {
  return {
    setUp: serialize(keys),
    encode: (claims, randomness) => serialize({ claims, randomness } satisfies VerifyBatch),
    decode(answer, claims) {
      const verdicts = Array.from(answer, (byte) => VERDICTS[byte]);
      const isWhole = verdicts.length === claims.length && verdicts.every((verdict) => verdict !== undefined);
      return isWhole ? verdicts : undefined;
    },
  };
}

/** The process's half: what the program said, and what is answered. */
export const readKeys = (message: Uint8Array): VerifyKeys => deserialize(message) as VerifyKeys;
export const readBatch = (message: Uint8Array): VerifyBatch => deserialize(message) as VerifyBatch;
export const answerOf = (verdicts: readonly Verdict[]): Uint8Array =>
  Uint8Array.from(verdicts, (verdict) => VERDICTS.indexOf(verdict));
