/**
 * What a chain has to be told to verify an attestation document: its certificates, one a transaction, then the document,
 * each with hints for its signature. Nothing here is believed there; wrong hints are refused and change nothing.
 */
import { sha384 } from "@noble/hashes/sha2.js";
import { p384 } from "@noble/curves/nist.js";
import { readAttestation } from "../../../protocol/attestation-document.ts";
import { ZERO_BYTES32, type Bytes32 } from "../../../protocol/brands.ts";
import { mustFromHex } from "../../../protocol/bytes.ts";
import { keccakHex } from "../../../protocol/hash.ts";
import { readCertificate } from "../../../protocol/x509.ts";
import { hintsFor } from "./p384-hints.ts";

/** `verifyCertificate` of INitroAttestations. */
export interface CertificateStep {
  readonly der: Uint8Array;
  /** Id of the chain down to its issuer, 0 for the root. */
  readonly parent: Bytes32;
  /** Id of the chain down to here. */
  readonly id: Bytes32;
  readonly hints: Uint8Array;
}

export interface AttestationSteps {
  /** Root first, leaf last. */
  readonly certificates: readonly CertificateStep[];
  readonly document: { readonly bytes: Uint8Array; readonly hints: Uint8Array };
}

const NO_HINTS = new Uint8Array(0);
/** 04 in front of x and y. */
const POINT_HEAD = 1;

/** Throws TypeError for what is no document, or carries what is no certificate. Says nothing about who made it. */
export function attestationSteps(document: Uint8Array): AttestationSteps {
  const read = readAttestation(document);
  if (read === undefined) throw new TypeError("not an attestation document");
  const chain = read.chain.map((der) => {
    const certificate = readCertificate(der);
    if (certificate === undefined) throw new TypeError("the document carries what is no certificate");
    return { der, ...certificate };
  });
  const certificates: CertificateStep[] = [];
  for (const [i, { der, toBeSigned, signature }] of chain.entries()) {
    const issuer = chain[i - 1];
    const parent = certificates.at(-1)?.id ?? ZERO_BYTES32;
    const hints =
      issuer === undefined ? NO_HINTS : hintsOf(toBeSigned, numbersOf(signature), issuer.publicKey);
    certificates.push({ der, parent, id: chainId(parent, der), hints });
  }
  const hints = hintsOf(read.signed, read.signature, chain.at(-1)!.publicKey);
  return { certificates, document: { bytes: document, hints } };
}

/** keccak256(parent ‖ keccak256(DER)). */
export function chainId(parent: Bytes32, der: Uint8Array): Bytes32 {
  return keccakHex(mustFromHex(parent), mustFromHex(keccakHex(der)));
}

function hintsOf(message: Uint8Array, signature: Uint8Array, publicKey: Uint8Array): Uint8Array {
  return hintsFor(sha384(message), signature, publicKey.subarray(POINT_HEAD));
}

/** r ‖ s. One that is no pair of numbers needs no hints: the contract refuses it unseen. */
function numbersOf(der: Uint8Array): Uint8Array {
  try {
    return p384.Signature.fromBytes(der, "der").toBytes("compact");
  } catch {
    return new Uint8Array(96);
  }
}
