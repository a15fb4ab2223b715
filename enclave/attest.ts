/**
 * Checks a statement and its proof and signs exactly that. The order of the checks is the contract
 * with callers (which code a doubly wrong request gets): all that is cheap comes first, so that only a proof
 * that could be a good one costs a verification.
 */
import { attestationDigest } from "../shared/protocol/attestation.ts";
import { refused, type AttestRequest, type EnclaveReply } from "../shared/protocol/enclave-messages.ts";
import { decodeProof, proofHashOf } from "../shared/protocol/proof.ts";
import { canonicalSignals, checkStatement, kindById } from "../shared/protocol/statements.ts";
import type { Claim, Verdict } from "./claims.ts";
import type { Configuration } from "./configuration.ts";
import type { Signer } from "./signer.ts";
import type { Verify } from "./verifier-pool.ts";

export interface Attesting extends Pick<Configuration, "verifyingKeyHashes"> {
  readonly signer: Signer;
  readonly verify: Verify<Claim, Verdict>;
}

export async function attest(
  { signer, verify, verifyingKeyHashes }: Attesting,
  request: AttestRequest,
): Promise<EnclaveReply> {
  const home = { chainId: request.chainId, pool: request.pool };
  const kind = kindById(request.kindId);
  if (kind === undefined) return refused("UNKNOWN_KIND");

  const signals = canonicalSignals(kind, request.signals);
  if (typeof signals === "string") return refused(signals);

  const proof = decodeProof(request.proof);
  if (proof === undefined) return refused("PROOF_NOT_CANONICAL");

  const statement = checkStatement(home, kind, request.deadline, signals, request.ext);
  if (typeof statement === "string") return refused(statement);

  const verdict = await verify({ kind, proof, signals });
  if (verdict !== "PROOF_HOLDS") return refused(verdict);

  const { hash: statementHash, deadline } = statement;
  const proofHash = proofHashOf(proof);
  const verifyingKeyHash = verifyingKeyHashes[kind];
  const digest = attestationDigest(home, { kind, verifyingKeyHash, statementHash, proofHash, deadline });
  return { type: "attest", statementHash, proofHash, signature: signer.sign(digest) };
}
