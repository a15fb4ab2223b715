// The parties of a key's life, all real and all in this process: a platform that signs documents, the
// configuration of development, KMS, and keys that were opened as the enclave opens them.
import { constants, privateDecrypt, publicEncrypt } from "node:crypto";
import { parseConfiguration, type Configuration } from "../../../../enclave/configuration.ts";
import { genesis } from "../../../../enclave/genesis.ts";
import {
  decodeAttestationReply,
  decodeRandomReply,
  encodeAttestationRequest,
  encodeRandomRequest,
} from "../../../../enclave/nsm.ts";
import type { Platform } from "../../../../enclave/platform.ts";
import { Signer } from "../../../../enclave/signer.ts";
import type { Authority } from "../../../../scripts/image/certificates.ts";
import { developmentKmsKey, developmentRoot } from "../../../../scripts/image/development-keys.ts";
import { sealEnvelope } from "../../../../scripts/stand-ins/kms/envelope.ts";
import { simulatedModule } from "../../../../scripts/stand-ins/platform/nsm.ts";
import { developmentConfiguration } from "../../../../scripts/image/configuration.ts";
import {
  readAttestation,
  verifyAttestation,
  type AttestationPolicy,
  type Measurement,
  type VerifiedAttestation,
} from "../../../../shared/protocol/attestation-document.ts";
import type { Address, Bytes32 } from "../../../../shared/protocol/brands.ts";
import { concatBytes, mustFromHex } from "../../../../shared/protocol/bytes.ts";
import { computeAddress, hexlify } from "ethers";
import { DEAD_PLATFORM, MEASUREMENT } from "./platforms.ts";

export const CONFIGURATION: Configuration = parseConfiguration(await developmentConfiguration());
export const CHALLENGE = new Uint8Array(32).fill(0xc4);

/** The simulated module without its socket. */
export function platformInMemory(
  root: Authority = developmentRoot(),
  measurement: Measurement = MEASUREMENT,
): Platform {
  const module = simulatedModule(root, measurement);
  return {
    ...DEAD_PLATFORM,
    randomBytes: async (length) => decodeRandomReply(module.answer(encodeRandomRequest()), length),
    attestationDocument: async (request) =>
      decodeAttestationReply(module.answer(encodeAttestationRequest(request))),
  };
}

/** Fails the test with the fault of a document that does not hold. */
export function verified(
  document: Uint8Array,
  policy: Omit<AttestationPolicy, "roots">,
): VerifiedAttestation {
  const read = verifyAttestation(document, { roots: [CONFIGURATION.attestationRoot], ...policy });
  if (typeof read === "string") throw new Error(read);
  return read;
}

export interface Pair {
  readonly sealedKey: Uint8Array;
  readonly birthCertificate: Uint8Array;
}

export async function aPair(platform: Platform, configuration = CONFIGURATION): Promise<Pair> {
  const reply = await genesis({ platform, configuration }, CHALLENGE);
  if (reply.type !== "genesis") throw new Error("no key was born");
  return { sealedKey: reply.sealedKey, birthCertificate: reply.birthCertificate };
}

export function addressOf(secret: Uint8Array): Address {
  return computeAddress(hexlify(secret)).toLowerCase() as Address;
}

export interface Plaintext {
  readonly domain?: string;
  readonly version?: number;
  readonly signer?: Address;
  readonly configurationHash?: Bytes32;
}

/** What a sealed key holds, written out here once more: anybody can make it. */
export function plaintextOf(secret: Uint8Array, changes: Plaintext = {}): Uint8Array {
  return concatBytes(
    new TextEncoder().encode(changes.domain ?? "cloister-signing-key"),
    Uint8Array.of(changes.version ?? 1),
    mustFromHex(changes.signer ?? addressOf(secret)),
    mustFromHex(changes.configurationHash ?? CONFIGURATION.hash),
    secret,
  );
}

/** For tests that need some signer: as if KMS had released this key. */
export function aSigner(secret: Uint8Array = new Uint8Array(32).fill(1)): Signer {
  return Signer.open(plaintextOf(secret), CONFIGURATION)!;
}

const OAEP = { padding: constants.RSA_PKCS1_OAEP_PADDING, oaepHash: "sha256" };

/** A stranger's: the KMS key is public. */
export function sealToKms(plaintext: Uint8Array): Uint8Array {
  return new Uint8Array(publicEncrypt({ key: CONFIGURATION.kmsPublicKey, ...OAEP }, plaintext));
}

export function openWithKms(sealedKey: Uint8Array): Uint8Array {
  return new Uint8Array(privateDecrypt({ key: developmentKmsKey().privateKey, ...OAEP }, sealedKey));
}

/** `Decrypt` with `Recipient`, its policy met. */
export function releaseTo(document: Uint8Array, sealedKey: Uint8Array): Uint8Array {
  return sealEnvelope(openWithKms(sealedKey), readAttestation(document)!.publicKey!);
}
