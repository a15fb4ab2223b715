/**
 * Births of signers: asks an enclave for a key, and judges a birth certificate before anybody relies on it. The
 * same judgement at genesis, before a signer is registered, and by whoever reads a proposal from the chain.
 * Trusts the configuration and the measurements it is given, and no enclave, host or file.
 */
import { createHash } from "node:crypto";
import type { Configuration } from "../../enclave/configuration.ts";
import type { EnclaveLink } from "../../proxy/api/enclave-link/link.ts";
import type { SignerPair } from "../../proxy/api/enclave-link/signer-pair.ts";
import {
  verifyAttestation,
  type AttestationFault,
  type Measurement,
} from "../../shared/protocol/attestation-document.ts";
import type { UserData } from "../../shared/protocol/user-data.ts";

export interface BirthPolicy {
  readonly configuration: Pick<Configuration, "hash" | "kmsKeyHash" | "attestationRoot">;
  /** Of the images whose keys are wanted. */
  readonly measurements: readonly Measurement[];
  /** What the registrar drew: then the key was born after it. Without it, any. */
  readonly challenge?: Uint8Array | undefined;
}

export type BirthFault =
  | AttestationFault
  | "CONFIGURATION_MISMATCH"
  | "KMS_KEY_MISMATCH"
  | "SIGNER_MISMATCH"
  | "SEALED_KEY_MISMATCH";

/** What each fault means, for the person who decides. */
export const BIRTH_FAULTS: Readonly<Record<BirthFault, string>> = {
  MALFORMED: "it is no attestation document",
  ROOT_UNKNOWN: "its certificates lead to another root than the configuration's",
  CHAIN_INVALID: "its certificates do not make a chain",
  CERTIFICATE_EXPIRED: "a certificate had expired at its time",
  CERTIFICATE_NOT_YET_VALID: "a certificate did not hold yet at its time",
  SIGNATURE_INVALID: "it is not signed by its certificate",
  DEBUG_MODE: "it is of an enclave in debug mode, whose memory its host can read",
  STALE: "it is too old",
  FROM_FUTURE: "it is from the future",
  MEASUREMENT_MISMATCH: "it is of another image than the measurement given",
  NONCE_MISMATCH: "it answers another challenge",
  TYPE_MISMATCH: "it is no birth certificate",
  CONFIGURATION_MISMATCH: "it is of an image with another configuration",
  KMS_KEY_MISMATCH: "its key is sealed to another KMS key than the configuration's",
  SIGNER_MISMATCH: "it names another signer",
  SEALED_KEY_MISMATCH: "it names another sealed key",
};

type Birth = Extract<UserData, { readonly type: "genesis" }>;

/** A whole pair: its certificate is good and is that of this sealed key. Undefined means nothing is wrong. */
export function pairFault(
  pair: Pick<SignerPair, "signer" | "sealedKey" | "birthCertificate">,
  policy: BirthPolicy,
): BirthFault | undefined {
  const birth = readBirth(pair.birthCertificate, policy, "its own time");
  if (typeof birth === "string") return birth;
  if (birth.signer !== pair.signer) return "SIGNER_MISMATCH";
  return birth.sealedKeyHash === sha256(pair.sealedKey) ? undefined : "SEALED_KEY_MISMATCH";
}

/** A birth certificate alone, as a proposal on the chain shows it. */
export function birthFault(
  birthCertificate: Uint8Array,
  signer: string,
  policy: BirthPolicy,
): BirthFault | undefined {
  const birth = readBirth(birthCertificate, policy, "its own time");
  if (typeof birth === "string") return birth;
  return birth.signer === signer ? undefined : "SIGNER_MISMATCH";
}

/** A fresh document is a minute old at most. */
const MAX_AGE_MS = 60_000;

/** Asks an enclave that is booting for a new signer. Throws BirthRefused unless everything about it verifies now. */
export async function makePair(
  enclave: Pick<EnclaveLink, "ask">,
  policy: BirthPolicy & { readonly challenge: Uint8Array },
  kmsKeyId: string,
  nowMs = Date.now,
): Promise<SignerPair> {
  const reply = await enclave.ask({ type: "genesis", challenge: policy.challenge });
  if (reply.type !== "genesis")
    throw new BirthRefused(reply.type === "refused" ? reply.code : "MALFORMED", "the enclave makes no key");
  const { sealedKey, birthCertificate } = reply;
  const birth = readBirth(birthCertificate, policy, nowMs());
  if (typeof birth === "string") throw new BirthRefused(birth, BIRTH_FAULTS[birth]);
  const { signer, configurationHash } = birth;
  const pair = { signer, sealedKey, birthCertificate, kmsKeyId, configurationHash };
  const fault = pairFault(pair, policy);
  if (fault !== undefined) throw new BirthRefused(fault, BIRTH_FAULTS[fault]);
  return pair;
}

export class BirthRefused extends Error {
  readonly code: string;
  constructor(code: string, reason: string) {
    super(`the birth certificate is refused (${code}): ${reason}`);
    this.code = code;
  }
}

function readBirth(
  document: Uint8Array,
  { configuration, measurements, challenge }: BirthPolicy,
  at: number | "its own time",
): Birth | BirthFault {
  const verified = verifyAttestation(document, {
    roots: [configuration.attestationRoot],
    at,
    ...(at === "its own time" ? {} : { maxAgeMs: MAX_AGE_MS }),
    measurements,
    ...(challenge === undefined ? {} : { nonce: challenge }),
    type: "genesis",
  });
  if (typeof verified === "string") return verified;
  const birth = verified.claims;
  if (birth?.type !== "genesis") return "TYPE_MISMATCH";
  if (birth.configurationHash !== configuration.hash) return "CONFIGURATION_MISMATCH";
  return birth.kmsKeyHash === configuration.kmsKeyHash ? birth : "KMS_KEY_MISMATCH";
}

function sha256(bytes: Uint8Array): string {
  return `0x${createHash("sha256").update(bytes).digest("hex")}`;
}
