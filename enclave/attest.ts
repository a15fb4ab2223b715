/**
 * Checks a statement and its proof and signs exactly that. The order of the checks is the contract
 * with callers (which code a doubly wrong request gets) and puts what is cheap first.
 */
import { attestationDigest } from "../shared/protocol/attestation.ts";
import type { AttestRequest, EnclaveReply, Refusal } from "../shared/protocol/enclave-messages.ts";
import { decodeProof, proofHashOf } from "../shared/protocol/proof.ts";
import { checkStatement, kindById, readSignals } from "../shared/protocol/statements.ts";
import type { Tools } from "./phase.ts";
import { VERIFYING_KEY_HASHES } from "./verification-keys.ts";

export function attest(
  { signer, verifier }: Pick<Tools, "signer" | "verifier">,
  request: AttestRequest,
): EnclaveReply {
  const home = { chainId: request.chainId, pool: request.pool };
  const kind = kindById(request.kindId);
  if (kind === undefined) return refused("UNKNOWN_KIND");

  const facts = readSignals(kind, request.signals);
  if (typeof facts === "string") return refused(facts);

  const proof = decodeProof(request.proof);
  if (proof === undefined) return refused("PROOF_NOT_CANONICAL");
  const points = verifier.readPoints(proof);
  if (typeof points === "string") return refused(points);

  const statement = checkStatement(home, kind, request.deadline, request.signals, request.ext);
  if (typeof statement === "string") return refused(statement);

  if (!verifier.holds(kind, points, statement.signals)) return refused("PROOF_INVALID");

  const statementHash = statement.hash;
  const proofHash = proofHashOf(proof);
  const verifyingKeyHash = VERIFYING_KEY_HASHES[kind];
  const deadline = statement.deadline;
  const digest = attestationDigest(home, { kind, verifyingKeyHash, statementHash, proofHash, deadline });
  return { type: "attest", statementHash, proofHash, signature: signer.sign(digest) };
}

function refused(code: Refusal): EnclaveReply {
  return { type: "refused", code };
}
