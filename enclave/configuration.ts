/**
 * The one file of the image that a deployment chooses, read once and measured with the rest: the circuits it
 * knows, the KMS key it seals to, the root of the platforms it believes. A fault in it is ours: it throws.
 */
import { createPublicKey, type KeyObject } from "node:crypto";
import type { Bytes32 } from "../shared/protocol/brands.ts";
import { equalBytes, mustFromHex } from "../shared/protocol/bytes.ts";
import { keccak256, keccakHex, sha256Hex } from "../shared/protocol/hash.ts";
import { KIND_NAMES, signalCount, type Kind } from "../shared/protocol/statements.ts";
import {
  parseVerificationKey,
  verificationKeyHash,
  type VerificationKey,
} from "../shared/protocol/verification-key.ts";

export interface Configuration {
  readonly verificationKeys: Readonly<Record<Kind, VerificationKey>>;
  readonly verifyingKeyHashes: Readonly<Record<Kind, Bytes32>>;
  /** RSA-2048. Signing keys are sealed to it, and only KMS can open them. */
  readonly kmsPublicKey: KeyObject;
  /** SHA-256 of its SPKI DER. */
  readonly kmsKeyHash: Bytes32;
  /** SHA-256 of the root certificate's DER, 64 hex digits. */
  readonly attestationRoot: string;
  /** keccak256 over the verification-key hashes in order of kind id. */
  readonly circuitsHash: Bytes32;
  /** keccak256 over circuitsHash, keccak256 of the KMS key's SPKI DER, attestationRoot: all of the above. */
  readonly hash: Bytes32;
}

/** Throws for any text but `scripts/product/image/configuration.ts`'s. */
export function parseConfiguration(text: string): Configuration {
  const file = members(JSON.parse(text), ["attestationRoot", "kmsPublicKey", "verificationKeys"]);
  const { attestationRoot, kmsPublicKey: kmsText } = file;
  if (typeof attestationRoot !== "string" || !/^[0-9a-f]{64}$/.test(attestationRoot))
    throw new TypeError("not the hash of an attestation root");
  const spki = Buffer.from(kmsText as string, "base64");
  const kmsPublicKey = readKmsKey(spki);

  const keys = members(file["verificationKeys"], KIND_NAMES);
  const verificationKeys = eachKind((kind) => readVerificationKey(kind, keys[kind]));
  const verifyingKeyHashes = eachKind((kind) => verificationKeyHash(verificationKeys[kind]));
  const circuitsHash = keccakHex(...KIND_NAMES.map((kind) => mustFromHex(verifyingKeyHashes[kind])));
  return {
    verificationKeys,
    verifyingKeyHashes,
    kmsPublicKey,
    kmsKeyHash: sha256Hex(spki),
    attestationRoot,
    circuitsHash,
    hash: keccakHex(mustFromHex(circuitsHash), keccak256(spki), mustFromHex(`0x${attestationRoot}`)),
  };
}

/** Exactly these: a member that nobody reads would make two measurements of one configuration. */
function members(value: unknown, names: readonly string[]): Record<string, unknown> {
  const found = Object.keys(value as object).sort();
  if (found.join() !== [...names].sort().join())
    throw new TypeError("other members than a configuration has");
  return value as Record<string, unknown>;
}

function readKmsKey(spki: Buffer): KeyObject {
  const key = createPublicKey({ key: spki, format: "der", type: "spki" });
  const { modulusLength, publicExponent } = key.asymmetricKeyDetails ?? {};
  if (key.asymmetricKeyType !== "rsa" || modulusLength !== 2048 || publicExponent !== 65_537n)
    throw new TypeError("the KMS key is not KMS's kind of RSA-2048");
  // The hash above names bytes; they must be the only ones that spell this key.
  if (!equalBytes(key.export({ format: "der", type: "spki" }), spki))
    throw new TypeError("the KMS key is not in DER");
  return key;
}

function readVerificationKey(kind: Kind, json: unknown): VerificationKey {
  const key = parseVerificationKey(json);
  if (key.ic.length !== signalCount(kind) + 1) throw new TypeError(`not a key of the ${kind} circuit`);
  return key;
}

function eachKind<T>(make: (kind: Kind) => T): Record<Kind, T> {
  return Object.fromEntries(KIND_NAMES.map((kind) => [kind, make(kind)])) as Record<Kind, T>;
}
