/**
 * The only file that ever holds the private key: draws it, seals it, opens what KMS released, and signs. What is
 * signed, and whether an opened key is believed, is decided elsewhere.
 *
 * Wiped are the bytes that this file makes or is given, on every path, as are the security module's answer (nitro.ts)
 * and what an envelope was opened with (kms-envelope.ts). Copies out of reach live until their memory is used again:
 * noble's integers and the text and bytes it makes them from, the kernel's socket buffers, whatever OpenSSL and the
 * garbage collector moved. They are in this enclave's memory, which nobody else reads.
 */
import { constants, publicEncrypt } from "node:crypto";
import { secp256k1 } from "@noble/curves/secp256k1.js";
import type { Address } from "../shared/protocol/brands.ts";
import { mustFromHex, ByteReader, concatBytes, equalBytes, toAddress } from "../shared/protocol/bytes.ts";
import { keccak256 } from "../shared/protocol/hash.ts";
import type { Configuration } from "./configuration.ts";
import type { Platform } from "./platform.ts";

const KEY_BYTES = 32;
const DOMAIN = new TextEncoder().encode("cloister-signing-key");
const LAYOUT_VERSION = 1;
/** What is sealed: domain, version, signer, configuration hash, secret. */
export const SEALED_BYTES = DOMAIN.length + 1 + 20 + 32 + KEY_BYTES;

export interface SealedKey {
  readonly signer: Address;
  /** RSAES-OAEP with SHA-256 over domain[20] version[1] = 1 signer[20] configurationHash[32] secret[32]. */
  readonly sealedKey: Uint8Array;
}

/**
 * Draws a key, seals it to the configuration's KMS key and forgets it: nothing ever signs with a key that KMS did
 * not release. Undefined when the platform gives no randomness, or bytes that are no key (once in 2^128).
 */
export async function makeSealedKey(
  platform: Pick<Platform, "randomBytes">,
  { kmsPublicKey, hash }: Pick<Configuration, "kmsPublicKey" | "hash">,
): Promise<SealedKey | undefined> {
  const secret = await platform.randomBytes(KEY_BYTES);
  if (secret === undefined) return undefined;
  try {
    if (!secp256k1.utils.isValidSecretKey(secret)) return undefined;
    const signer = addressOf(secret);
    const head = [DOMAIN, Uint8Array.of(LAYOUT_VERSION), mustFromHex(signer), mustFromHex(hash)];
    const plaintext = concatBytes(...head, secret);
    try {
      const oaep = { key: kmsPublicKey, padding: constants.RSA_PKCS1_OAEP_PADDING, oaepHash: "sha256" };
      return { signer, sealedKey: publicEncrypt(oaep, plaintext) };
    } finally {
      plaintext.fill(0);
    }
  } finally {
    secret.fill(0);
  }
}

export class Signer {
  /** Of the key's public half, as the pool recovers it. */
  readonly address: Address;
  readonly #secret: Uint8Array;

  private constructor(address: Address, secret: Uint8Array) {
    this.address = address;
    this.#secret = secret;
  }

  /**
   * The only way to a signer. Wipes `plaintext`; undefined unless it is what `makeSealedKey` sealed under this
   * configuration. Anybody can seal such a plaintext: whose key it is, the birth certificate says (restore.ts).
   */
  static open(plaintext: Uint8Array, { hash }: Pick<Configuration, "hash">): Signer | undefined {
    const reader = new ByteReader(plaintext);
    const isOurs = equalBytes(reader.take(DOMAIN.length), DOMAIN) && reader.number(1) === LAYOUT_VERSION;
    const signer = reader.take(20);
    const configurationHash = reader.take(32);
    const secret = reader.take(KEY_BYTES);
    plaintext.fill(0);
    const isSealedHere = isOurs && reader.done() && equalBytes(configurationHash, mustFromHex(hash));
    if (isSealedHere && secp256k1.utils.isValidSecretKey(secret) && toAddress(signer) === addressOf(secret))
      return new Signer(addressOf(secret), secret);
    secret.fill(0);
    return undefined;
  }

  /**
   * r ‖ s ‖ v, deterministic (RFC 6979), s in the lower half (EIP-2). A recovery id above 1 would need
   * r ≥ n, once in 2^127. Throws after `wipe`.
   */
  sign(digest: Uint8Array): Uint8Array {
    const how = { prehash: false, lowS: true, format: "recovered" } as const;
    const [recovery, ...rAndS] = secp256k1.sign(digest, this.#secret, how);
    return Uint8Array.of(...rAndS, 27 + recovery!);
  }

  /** For good: a key of zeros signs nothing. */
  wipe(): void {
    this.#secret.fill(0);
  }
}

function addressOf(secret: Uint8Array): Address {
  return toAddress(keccak256(secp256k1.getPublicKey(secret, false).slice(1)).slice(12));
}
