/**
 * Ciphertexts that carry a note to its owner: X25519, HKDF-SHA-256, XChaCha20-Poly1305, always 117 bytes.
 * Every byte of a ciphertext on chain may be hostile; what opens is still only a claim until the reader
 * has recomputed the commitment.
 *
 * Layout: ephemeralKey[32] viewTag[1] sealed[asset 20 ‖ value 16 ‖ blinding 32] tag[16].
 */
import { xchacha20poly1305 } from "@noble/ciphers/chacha.js";
import { x25519 } from "@noble/curves/ed25519.js";
import { hkdf } from "@noble/hashes/hkdf.js";
import { sha256 } from "@noble/hashes/sha2.js";
import { randomBytes } from "@noble/hashes/utils.js";
import { asField } from "../protocol/brands.ts";
import { addressBytes, ByteReader, concatBytes, toAddress, uintToBytes, word } from "../protocol/bytes.ts";
import { CIPHERTEXT_BYTES } from "../protocol/statements.ts";
import type { ShieldedAddress } from "./address.ts";
import type { IncomingViewingKey } from "./keys.ts";
import { randomField, type Note } from "./note.ts";

const INFO = new TextEncoder().encode("cloister/note/v1");
const EPHEMERAL_BYTES = 32;
const SEALED_AT = EPHEMERAL_BYTES + 1;

/** Both public keys are in the info, so a ciphertext moved to another ephemeral key or reader opens nothing. */
function noteKeys(shared: Uint8Array, ephemeralKey: Uint8Array, viewingKey: Uint8Array) {
  const bytes = hkdf(sha256, shared, undefined, concatBytes(INFO, ephemeralKey, viewingKey), 32 + 24 + 1);
  // By the tag an owner skips 255 of 256 foreign notes without opening them.
  return { key: bytes.slice(0, 32), nonce: bytes.slice(32, 56), viewTag: bytes[56]! };
}

/** `ephemeralSecret` is given by fixed vectors only; used twice it would link two notes. */
export function encryptNote(
  to: ShieldedAddress,
  note: Note,
  ephemeralSecret: Uint8Array = randomBytes(32),
): Uint8Array {
  const ephemeralKey = x25519.getPublicKey(ephemeralSecret);
  const { key, nonce, viewTag } = noteKeys(
    x25519.getSharedSecret(ephemeralSecret, to.viewingKey),
    ephemeralKey,
    to.viewingKey,
  );
  const plain = concatBytes(addressBytes(note.asset), uintToBytes(note.value, 16), word(note.blinding));
  return concatBytes(ephemeralKey, Uint8Array.of(viewTag), xchacha20poly1305(key, nonce).encrypt(plain));
}

/** Undefined when it is not for this key, was changed, or holds no note. */
export function decryptNote(reader: IncomingViewingKey, ciphertext: Uint8Array): Note | undefined {
  if (ciphertext.length !== CIPHERTEXT_BYTES) return undefined;
  const ephemeralKey = ciphertext.slice(0, EPHEMERAL_BYTES);
  const shared = reader.sharedSecret(ephemeralKey);
  if (shared === undefined) return undefined;
  const { key, nonce, viewTag } = noteKeys(shared, ephemeralKey, reader.viewingKey);
  if (ciphertext[EPHEMERAL_BYTES] !== viewTag) return undefined;
  try {
    return parsePlain(xchacha20poly1305(key, nonce).decrypt(ciphertext.slice(SEALED_AT)));
  } catch {
    // A false positive of the view tag (one foreign note in 256), or a changed ciphertext.
    return undefined;
  }
}

function parsePlain(plain: Uint8Array): Note | undefined {
  const bytes = new ByteReader(plain);
  const asset = bytes.take(20);
  const value = bytes.uint(16);
  const blinding = asField(bytes.uint(32));
  return bytes.done() && blinding !== undefined ? { asset: toAddress(asset), value, blinding } : undefined;
}

/**
 * An address that nobody can spend from or read with: dummy outputs go to one, so that they look on
 * chain like any other output.
 */
export function nobody(): ShieldedAddress {
  return { owner: randomField(), viewingKey: x25519.getPublicKey(randomBytes(32)) };
}
