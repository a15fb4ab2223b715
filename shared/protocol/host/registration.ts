/**
 * The names by which a pool knows an enclave: its image, and the configuration that the image was built with. The same
 * hashes as shared/contracts/SignerRegistry.sol and enclave/configuration.ts compute. SPEC 8.
 */
import type { Measurement } from "../attestation-document.ts";
import type { Bytes32 } from "../brands.ts";
import { mustFromHex } from "../bytes.ts";
import { keccakHex } from "../hash.ts";
import { KIND_NAMES, type Kind } from "../statements.ts";

/** keccak256(PCR0 ‖ PCR1 ‖ PCR2). */
export function imageOf({ pcr0, pcr1, pcr2 }: Measurement): Bytes32 {
  return keccakHex(mustFromHex(`0x${pcr0}${pcr1}${pcr2}`));
}

/** Over the verification-key hashes in order of kind id. */
export function circuitsHashOf(verifyingKeyHashes: Readonly<Record<Kind, Bytes32>>): Bytes32 {
  return keccakHex(...KIND_NAMES.map((kind) => mustFromHex(verifyingKeyHashes[kind])));
}

export interface ConfigurationNames {
  readonly circuitsHash: Bytes32;
  /** keccak256 of the SPKI DER. */
  readonly kmsKey: Bytes32;
  /** SHA-256 of the root certificate's DER. */
  readonly attestationRoot: Bytes32;
}

export function configurationHashOf(names: ConfigurationNames): Bytes32 {
  const { circuitsHash, kmsKey, attestationRoot } = names;
  return keccakHex(...[circuitsHash, kmsKey, attestationRoot].map(mustFromHex));
}

/** Kinds of verifier, as `proposeImage` takes them. */
export const VERIFIER_KINDS = { first: 1, second: 2 } as const;
