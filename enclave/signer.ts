/** The only file that ever holds the private key. What is signed is decided elsewhere; who signs, here. */
import { secp256k1 } from "@noble/curves/secp256k1.js";
import { SIGNATURE_BYTES } from "../shared/protocol/attestation.ts";
import type { Address } from "../shared/protocol/brands.ts";
import { toAddress } from "../shared/protocol/bytes.ts";
import { keccak256 } from "../shared/protocol/hash.ts";
import type { Platform } from "./platform.ts";

const KEY_BYTES = 32;
/** A random string misses [1, n) once in 2^128; a source that misses twice is broken. */
const MAX_DRAWS = 2;

export class Signer {
  /** Of the key's public half, as the pool recovers it. */
  readonly address: Address;
  readonly #secret: Uint8Array;

  private constructor(secret: Uint8Array) {
    this.#secret = secret;
    this.address = toAddress(keccak256(secp256k1.getPublicKey(secret, false).slice(1)).slice(12));
  }

  /** Throws when the platform gives no randomness or no possible key: without a key there is nothing to serve. */
  static async draw(platform: Pick<Platform, "randomBytes">): Promise<Signer> {
    for (let draw = 0; draw < MAX_DRAWS; draw++) {
      const secret = await platform.randomBytes(KEY_BYTES);
      if (secret !== undefined && secp256k1.utils.isValidSecretKey(secret)) return new Signer(secret);
    }
    throw new Error("the platform gives no key");
  }

  /**
   * r ‖ s ‖ v, deterministic (RFC 6979), s in the lower half (EIP-2). A recovery id above 1 would need
   * r ≥ n, once in 2^127.
   */
  sign(digest: Uint8Array): Uint8Array {
    const recovered = secp256k1.sign(digest, this.#secret, {
      prehash: false,
      lowS: true,
      format: "recovered",
    });
    const signature = new Uint8Array(SIGNATURE_BYTES);
    signature.set(recovered.slice(1));
    signature[SIGNATURE_BYTES - 1] = 27 + (recovered[0] as number);
    return signature;
  }
}
