/** What the main process and a verifying process say to each other. Both are this image; each trusts the other. */
import type { Field } from "../shared/protocol/brands.ts";
import type { Proof } from "../shared/protocol/proof.ts";
import type { Kind } from "../shared/protocol/statements.ts";
import type { VerificationKey } from "../shared/protocol/verification-key.ts";

/** Sent first and answered with `[]` when the tables are built. */
export type VerifyKeys = Readonly<Record<Kind, VerificationKey>>;

/** Sent after that, and answered with one verdict a claim. */
export interface VerifyBatch {
  readonly claims: readonly Claim[];
  /** 16 bytes a claim, drawn after the claims were fixed; without it they are verified one by one. */
  readonly randomness: Uint8Array | undefined;
}

export interface Claim {
  readonly kind: Kind;
  /** Coordinates are canonical already (decodeProof). */
  readonly proof: Proof;
  /** As many as the kind has; another number is a fault of ours. */
  readonly signals: readonly Field[];
}

export type ProofFault =
  "PROOF_AT_INFINITY" | "PROOF_NOT_ON_CURVE" | "PROOF_NOT_IN_SUBGROUP" | "PROOF_INVALID";
export type Verdict = ProofFault | "PROOF_HOLDS";

/** Of randomness for each claim of a batch. */
export const WEIGHT_BYTES = 16;
