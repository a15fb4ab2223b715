/**
 * The one file of the image that a deployment chooses, read once and measured with the rest: the circuits it
 * knows, the KMS key it seals to, the root of the platforms it believes. A fault in it is ours: it throws.
 */
import { createPublicKey, type KeyObject } from "node:crypto";
import { equalBytes } from "../shared/protocol/bytes.ts";
import { hashWords, keccakHex, sha256Hex } from "../shared/protocol/hash.ts";
import { KIND_NAMES, signalCount, type Kind } from "../shared/protocol/statements.ts";
import {
  parseVerificationKey,
  verificationKeyHash,
  type VerificationKey,
} from "../shared/protocol/verification-key.ts";

export type Configuration = Readonly<ReturnType<typeof parseConfiguration>>;

/** Throws for any text but `scripts/image/configuration.ts`'s. */
export function parseConfiguration(text: string) {
  const file = members(JSON.parse(text), MEMBERS);
  const { attestationRoot, kmsPublicKey: kmsText } = file;
  if (typeof attestationRoot !== "string" || !/^[0-9a-f]{64}$/.test(attestationRoot))
    throw new TypeError("not the hash of an attestation root");
  const spki = Buffer.from(kmsText as string, "base64");
  const kmsPublicKey = readKmsKey(spki);

  const keys = members(file["verificationKeys"], KIND_NAMES);
  const verificationKeys = eachKind((kind) => readVerificationKey(kind, keys[kind]));
  const verifyingKeyHashes = eachKind((kind) => verificationKeyHash(verificationKeys[kind]));
  const circuitsHash = hashWords(...KIND_NAMES.map((kind) => verifyingKeyHashes[kind]));
  return {
    verificationKeys,
    verifyingKeyHashes,
    /** RSA-2048. Signing keys are sealed to it, and only KMS can open them. */
    kmsPublicKey,
    /** SHA-256 of its SPKI DER. */
    kmsKeyHash: sha256Hex(spki),
    /** SHA-256 of the root certificate's DER, 64 hex digits. */
    attestationRoot,
    /**
     * keccak256 over the verification-key hashes in order of kind id: deposit-shield, spend, spend9, private-swap,
     * 32 bytes each. The pool holds the same hashes, so it computes this by itself.
     */
    circuitsHash,
    /** All of the above: keccak256(circuitsHash ‖ keccak256(SPKI DER) ‖ attestationRoot), 96 bytes. */
    hash: hashWords(circuitsHash, keccakHex(spki), BigInt(`0x${attestationRoot}`)),
  };
}

const MEMBERS = ["attestationRoot", "kmsPublicKey", "verificationKeys"];

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

function eachKind<T>(make: (kind: Kind) => T): Readonly<Record<Kind, T>> {
  return Object.fromEntries(KIND_NAMES.map((kind) => [kind, make(kind)])) as Record<Kind, T>;
}
