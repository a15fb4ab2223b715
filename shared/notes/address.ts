/**
 * Shielded addresses: bech32m text of who owns a note and which key reads its ciphertext. Nothing in a
 * text from outside is trusted; one address has exactly one spelling (apart from bech32's all-capitals form).
 */
import { bech32m } from "@scure/base";
import { x25519 } from "@noble/curves/ed25519.js";
import { asField, type Field } from "../protocol/brands.ts";
import { bytesToUint, concatBytes, word } from "../protocol/bytes.ts";

export interface ShieldedAddress {
  /** H(authKey, nullifierKey): who may spend. */
  readonly owner: Field;
  /** X25519 public key, 32 bytes: who may read. */
  readonly viewingKey: Uint8Array;
}

/** First payload byte. Another note format gets another number, so old wallets refuse instead of guessing. */
const VERSION = 1;
const PAYLOAD_BYTES = 65;
const VIEWING_KEY_BYTES = 32;
/** Longest text looked at: 65 bytes are 104 characters, plus separator, checksum and a prefix of at most 32. */
const MAX_TEXT = 143;
/** Curve25519's prime (RFC 7748, section 4.1). */
const P25519 = (1n << 255n) - 19n;

/**
 * `prefix` + "1" + bech32m(version[1] = 1, owner[32] big-endian, X25519 public key[32]), per BIP-350
 * without its 90-character bound. The prefix names the network. Throws on a key that `isViewingKey` refuses.
 */
export function encodeShieldedAddress({ owner, viewingKey }: ShieldedAddress, prefix: string): string {
  if (!isViewingKey(viewingKey)) throw new RangeError("not a viewing key");
  const payload = concatBytes(Uint8Array.of(VERSION), word(owner), viewingKey);
  return bech32m.encode(prefix, bech32m.toWords(payload), false);
}

/** Undefined for another prefix (another network), version, length, checksum, or a key nobody could use. */
export function decodeShieldedAddress(text: string, prefix: string): ShieldedAddress | undefined {
  if (text.length > MAX_TEXT) return undefined;
  const decoded = bech32m.decodeUnsafe(text, false);
  if (decoded?.prefix !== prefix) return undefined;
  const payload = bech32m.fromWordsUnsafe(decoded.words);
  if (payload?.length !== PAYLOAD_BYTES || payload[0] !== VERSION) return undefined;
  const owner = asField(bytesToUint(payload.slice(1, 33)));
  const viewingKey = payload.slice(33);
  return owner === undefined || !isViewingKey(viewingKey) ? undefined : { owner, viewingKey };
}

/**
 * A canonical u-coordinate that is not of low order. With a low-order key every shared secret is zero,
 * so anyone could read the notes sent to such an "address".
 */
export function isViewingKey(key: Uint8Array): boolean {
  if (key.length !== VIEWING_KEY_BYTES || bytesToUint(key.slice().reverse()) >= P25519) return false;
  return !isOfLowOrder(key);
}

/** Of 32 bytes. */
export function isOfLowOrder(key: Uint8Array): boolean {
  try {
    // Any clamped scalar is a multiple of the cofactor: it maps exactly the low-order points to zero, which throws.
    x25519.getSharedSecret(new Uint8Array(VIEWING_KEY_BYTES).fill(1), key);
    return false;
  } catch {
    return true;
  }
}
