/**
 * Ciphertexts that carry notes to their owners: X25519, HKDF-SHA-256, XChaCha20-Poly1305. A transaction has one
 * ephemeral key and, for each output, 53 bytes: viewTag[1] sealed[asset 20 ‖ value 16] tag[16].
 *
 * The blinding of a note is not sent: both sides derive it. So only who knows the shared secret can make a note that
 * its reader finds, and a note under any other blinding is to its reader as one with a garbled ciphertext.
 * Every byte of a ciphertext on chain may be hostile; what opens is still only a claim until the reader has recomputed
 * the commitment.
 */
import { xchacha20poly1305 } from "@noble/ciphers/chacha.js";
import { x25519 } from "@noble/curves/ed25519.js";
import { expand, extract } from "@noble/hashes/hkdf.js";
import { sha256 } from "@noble/hashes/sha2.js";
import { randomBytes } from "@noble/hashes/utils.js";
import { FIELD_ORDER, mustField, type Address, type Field } from "../protocol/brands.ts";
import {
  mustFromHex,
  ByteReader,
  bytesToUint,
  concatBytes,
  toAddress,
  uintToBytes,
} from "../protocol/bytes.ts";
import { CIPHERTEXT_BYTES, EPHEMERAL_KEY_BYTES } from "../protocol/statements.ts";
import type { ShieldedAddress } from "./address.ts";
import type { IncomingViewingKey } from "./keys.ts";
import { randomField, type Note } from "./note.ts";

const INFO = new TextEncoder().encode("cloister/note/v2");
/** key[32] nonce[24] viewTag[1], and behind them what an opened ciphertext needs besides. */
const KEYS_BYTES = 32 + 24 + 1;
const BLINDING_BYTES = 64;
const VIEW_TAG_AT = KEYS_BYTES - 1;

/** What all outputs of a transaction for one reader have in common. */
class TransactionKeys {
  readonly #secret: Uint8Array;
  readonly #info: Uint8Array;

  constructor(shared: Uint8Array, ephemeralKey: Uint8Array, viewingKey: Uint8Array) {
    this.#secret = extract(sha256, shared);
    this.#info = concatBytes(INFO, ephemeralKey, viewingKey);
  }

  output(place: number): OutputKeys {
    return new OutputKeys(this.#secret, concatBytes(this.#info, Uint8Array.of(place)));
  }
}

/**
 * Both public keys and the output's place are in the info: a ciphertext moved to another ephemeral key, reader or
 * place opens nothing, and two outputs to one reader share neither key nor blinding.
 */
class OutputKeys {
  readonly #secret: Uint8Array;
  readonly #info: Uint8Array;

  constructor(secret: Uint8Array, info: Uint8Array) {
    this.#secret = secret;
    this.#info = info;
  }

  /** By the tag an owner skips 255 of 256 foreign notes without opening them. */
  cipher() {
    const bytes = expand(sha256, this.#secret, this.#info, KEYS_BYTES);
    return { key: bytes.slice(0, 32), nonce: bytes.slice(32, VIEW_TAG_AT), viewTag: bytes[VIEW_TAG_AT]! };
  }

  /**
   * 512 bits reduced, so the bias is below 2^-256. Not drawn again until it fits: two sides that must agree for ever
   * should have one step and no loop.
   */
  blinding(): Field {
    const bytes = expand(sha256, this.#secret, this.#info, KEYS_BYTES + BLINDING_BYTES).slice(KEYS_BYTES);
    return mustField(bytesToUint(bytes) % FIELD_ORDER);
  }
}

/**
 * The outputs of one transaction, sealed one after the other. Places are given out here, each once: under one place
 * two notes would share key and nonce.
 */
export class OutputSealer {
  readonly ephemeralKey: Uint8Array;
  readonly #ephemeralSecret: Uint8Array;
  readonly #ciphertexts: Uint8Array[] = [];

  /** A given `ephemeralSecret` is one that is never used for other contents: twice it gives two notes of one reader one key. */
  constructor(ephemeralSecret: Uint8Array = randomBytes(32)) {
    this.#ephemeralSecret = ephemeralSecret;
    this.ephemeralKey = x25519.getPublicKey(ephemeralSecret);
  }

  /** The next output: a note that `to` finds with these very contents. */
  seal(to: ShieldedAddress, asset: Address, value: bigint): Note {
    const shared = x25519.getSharedSecret(this.#ephemeralSecret, to.viewingKey);
    const keys = new TransactionKeys(shared, this.ephemeralKey, to.viewingKey).output(
      this.#ciphertexts.length,
    );
    const { key, nonce, viewTag } = keys.cipher();
    const plain = concatBytes(mustFromHex(asset), uintToBytes(value, 16));
    const sealed = xchacha20poly1305(key, nonce).encrypt(plain);
    this.#ciphertexts.push(concatBytes(Uint8Array.of(viewTag), sealed));
    return { asset, value, blinding: keys.blinding() };
  }

  /** In order of sealing. */
  get ciphertexts(): readonly Uint8Array[] {
    return this.#ciphertexts;
  }
}

/** The blinding of the note at place `output` of whoever shares this X25519 secret with the sender: for who was told it. */
export function sharedBlinding(
  shared: Uint8Array,
  ephemeralKey: Uint8Array,
  viewingKey: Uint8Array,
  output: number,
): Field {
  return new TransactionKeys(shared, ephemeralKey, viewingKey).output(output).blinding();
}

/** One output as the chain shows it. */
export interface SealedOutput {
  readonly ephemeralKey: Uint8Array;
  /** Its place among the outputs of its transaction. */
  readonly output: number;
  readonly ciphertext: Uint8Array;
}

/** Undefined when it is not for this key, was changed, or holds no note. */
export function openOutput(
  reader: IncomingViewingKey,
  { ephemeralKey, output, ciphertext }: SealedOutput,
): Note | undefined {
  if (ephemeralKey.length !== EPHEMERAL_KEY_BYTES) return undefined;
  const shared = reader.sharedSecret(ephemeralKey);
  return shared && new TransactionReader(shared, ephemeralKey, reader.viewingKey).open(output, ciphertext);
}

/** Opens outputs of one transaction after the other, for who has its X25519 secret. */
export class TransactionReader {
  readonly #keys: TransactionKeys;

  constructor(shared: Uint8Array, ephemeralKey: Uint8Array, viewingKey: Uint8Array) {
    this.#keys = new TransactionKeys(shared, ephemeralKey, viewingKey);
  }

  /** As `openOutput`. */
  open(output: number, ciphertext: Uint8Array): Note | undefined {
    if (ciphertext.length !== CIPHERTEXT_BYTES) return undefined;
    // One byte of the info: 256 would be a second name of 0.
    if (!Number.isInteger(output) || output < 0 || output > 255) return undefined;
    const keys = this.#keys.output(output);
    const { key, nonce, viewTag } = keys.cipher();
    if (ciphertext[0] !== viewTag) return undefined;
    let plain: ByteReader;
    try {
      plain = new ByteReader(xchacha20poly1305(key, nonce).decrypt(ciphertext.slice(1)));
    } catch {
      // A false positive of the view tag (one foreign note in 256), or a changed ciphertext.
      return undefined;
    }
    return { asset: toAddress(plain.take(20)), value: plain.uint(16), blinding: keys.blinding() };
  }
}

/**
 * An address that nobody can spend from or read with: dummy outputs go to one, so that they look on
 * chain like any other output.
 */
export function nobody(): ShieldedAddress {
  return { owner: randomField(), viewingKey: x25519.getPublicKey(randomBytes(32)) };
}
