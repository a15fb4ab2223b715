/**
 * Decides whether a released key becomes this enclave's. The host carries all three parts and may have made any
 * of them: the KMS key is public, so a stranger's key can be sealed to it, and an envelope has no sender. What
 * nobody can make is a birth certificate of this very image that names this sealed key and this signer.
 */
import { verifyAttestation, type VerifiedAttestation } from "../shared/protocol/attestation-document.ts";
import { equalBytes } from "../shared/protocol/bytes.ts";
import type { RestoreRequest } from "../shared/protocol/enclave-messages.ts";
import { sha256Hex } from "../shared/protocol/hash.ts";
import type { Configuration } from "./configuration.ts";
import { openEnvelope } from "./kms-envelope.ts";
import type { Release } from "./release.ts";
import { SEALED_BYTES, Signer } from "./signer.ts";

/** Undefined for every fault alike. Does not wait, so nothing comes between these checks and the phase they open. */
export function restore(
  configuration: Configuration,
  release: Release,
  { sealedKey, birthCertificate, envelope }: RestoreRequest,
): Signer | undefined {
  const own = ownDocument(configuration, release);
  if (own === undefined) return undefined;

  // At its own time: it is as old as the key, and its leaf lived for three hours.
  const birth = verifyAttestation(birthCertificate, {
    roots: [configuration.attestationRoot],
    at: "its own time",
    measurements: [own.measurement],
    type: "genesis",
  });
  if (typeof birth === "string" || birth.claims?.type !== "genesis") return undefined;
  const { signer: born, sealedKeyHash, kmsKeyHash, configurationHash } = birth.claims;
  if (
    sealedKeyHash !== sha256Hex(sealedKey) ||
    kmsKeyHash !== configuration.kmsKeyHash ||
    configurationHash !== configuration.hash
  ) {
    return undefined;
  }

  const plaintext = openEnvelope(envelope, release.privateKey, release.publicKey, SEALED_BYTES);
  const signer = plaintext && Signer.open(plaintext, configuration);
  if (signer?.address === born) return signer;
  signer?.wipe();
  return undefined;
}

/** What the platform measured of ourselves: a document over our own ephemeral key, under the pinned root. */
function ownDocument(
  { attestationRoot, hash }: Configuration,
  { document, publicKey }: Release,
): VerifiedAttestation | undefined {
  const own = verifyAttestation(document, { roots: [attestationRoot], at: "its own time", type: "release" });
  if (typeof own === "string" || own.claims?.configurationHash !== hash) return undefined;
  return own.publicKey !== undefined && equalBytes(own.publicKey, publicKey) ? own : undefined;
}
