/**
 * At which step an enclave refused the key that was released to it, for the operator's log. The enclave answers
 * RESTORE_REFUSED whatever the reason, and tells nobody more: its only way out is to its host, and a host that learnt
 * how an envelope fails inside could read the key, since KMS releases the same one again and again. So the steps that
 * need no secret are worked through again here, from parts that the host holds anyway. All others are one.
 */
import { sha256 } from "@noble/hashes/sha2.js";
import {
  readAttestation,
  verifyAttestation,
  type AttestationFault,
} from "../../../shared/protocol/attestation-document.ts";
import { equalBytes, toHex } from "../../../shared/protocol/bytes.ts";
import { sha256Hex } from "../../../shared/protocol/hash.ts";
import { readEnvelope, type EnvelopeFault } from "../../../shared/protocol/kms-envelope.ts";
import type { SignerPair } from "./signer-pair.ts";

/** What KMS released, and for whom: the enclave's own document of its release-request. */
export interface Released {
  readonly document: Uint8Array;
  readonly envelope: Uint8Array;
}

export type ReleaseStep =
  | `own document: ${AttestationFault}`
  | `birth certificate: ${AttestationFault | "CONFIGURATION_MISMATCH" | "SEALED_KEY_MISMATCH"}`
  | `envelope: ${EnvelopeFault | "RECIPIENT_MISMATCH"}`
  | "opening";

/** In the enclave's order. Its pinned root and KMS key are not known here: its own document speaks for the first. */
export function releaseStep(
  { sealedKey, birthCertificate }: Pick<SignerPair, "sealedKey" | "birthCertificate">,
  { document, envelope }: Released,
): ReleaseStep {
  const root = readAttestation(document)?.chain[0];
  const roots = root === undefined ? [] : [toHex(sha256(root)).slice(2)];
  const own = verifyAttestation(document, { roots, at: "its own time", type: "release" });
  if (typeof own === "string") return `own document: ${own}`;

  const measurements = [own.measurement];
  const birth = verifyAttestation(birthCertificate, {
    roots,
    at: "its own time",
    measurements,
    type: "genesis",
  });
  if (typeof birth === "string") return `birth certificate: ${birth}`;
  if (birth.claims?.configurationHash !== own.claims?.configurationHash)
    return "birth certificate: CONFIGURATION_MISMATCH";
  if (birth.claims?.type !== "genesis" || birth.claims.sealedKeyHash !== sha256Hex(sealedKey))
    return "birth certificate: SEALED_KEY_MISMATCH";

  const read = readEnvelope(envelope);
  if (typeof read === "string") return `envelope: ${read}`;
  const recipient = own.publicKey && sha256(own.publicKey);
  const isForIt = recipient !== undefined && equalBytes(read.recipient, recipient);
  return isForIt ? "opening" : "envelope: RECIPIENT_MISMATCH";
}
