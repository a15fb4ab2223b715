/**
 * Every key of a wallet, from 32 random bytes or a BIP-39 phrase. Secrets stay bytes or bigints, in
 * private fields: nothing here prints, serialises or throws one.
 */
import { x25519 } from "@noble/curves/ed25519.js";
import { hkdf } from "@noble/hashes/hkdf.js";
import { sha256 } from "@noble/hashes/sha2.js";
import { randomBytes } from "@noble/hashes/utils.js";
import {
  generateMnemonic,
  mnemonicToSeedSync,
  mnemonicToSeedWebcrypto,
  validateMnemonic,
} from "@scure/bip39";
import { wordlist } from "@scure/bip39/wordlists/english.js";
import { FIELD_ORDER, mustField, type Field } from "../protocol/brands.ts";
import { bytesToUint, equalBytes, word } from "../protocol/bytes.ts";
import { poseidon2 } from "../protocol/host/poseidon.ts";
import { encodeShieldedAddress, type ShieldedAddress } from "./address.ts";
import { platformX25519, type PlatformX25519 } from "./platform-x25519.ts";

export const SEED_BYTES = 32;
const SPENDING_INFO = "cloister/spending-key/v1";
const VIEWING_INFO = "cloister/viewing-key/v1";
const STORAGE_INFO = "cloister/storage-key/v1";

const derive = (secret: Uint8Array, info: string, length: number): Uint8Array =>
  hkdf(sha256, secret, undefined, new TextEncoder().encode(info), length);

/** Template strings, JSON and `console.log` show a placeholder instead of a key. */
export class Redacted {
  toString(): string {
    return "[keys]";
  }
  toJSON(): string {
    return this.toString();
  }
  [Symbol.for("nodejs.util.inspect.custom")](): string {
    return this.toString();
  }
}

/** Sees what an owner receives: enough to find notes, not to see them spent, and never to spend. */
export class IncomingViewingKey extends Redacted {
  readonly owner: Field;
  /** X25519 public key, 32 bytes. */
  readonly viewingKey: Uint8Array;
  readonly #secret: Uint8Array;
  /** The outputs of a transaction come one after the other under one ephemeral key, and the curve is nearly all of the work. */
  #last: { readonly ephemeralKey: Uint8Array; readonly shared: Uint8Array | undefined } | undefined;

  readonly #platform: PlatformX25519;

  constructor(owner: Field, viewingSecret: Uint8Array) {
    super();
    if (viewingSecret.length !== 32) throw new RangeError("a viewing secret has 32 bytes");
    this.owner = owner;
    this.#secret = viewingSecret.slice();
    this.viewingKey = x25519.getPublicKey(this.#secret);
    this.#platform = platformX25519(this.#secret);
  }

  /** Lets the platform compute what `sharedSecret` is asked for next. Where it cannot, that computes it itself. */
  async prepare(ephemeralKey: Uint8Array): Promise<void> {
    if (this.#isLast(ephemeralKey)) return;
    const asked = ephemeralKey.slice();
    const shared = await this.#platform(asked);
    if (shared !== undefined) this.#last = { ephemeralKey: asked, shared };
  }

  /** X25519 with a sender's ephemeral key; undefined for a low-order key, whose shared secret everyone knows. */
  sharedSecret(ephemeralKey: Uint8Array): Uint8Array | undefined {
    if (!this.#isLast(ephemeralKey))
      this.#last = { ephemeralKey: ephemeralKey.slice(), shared: this.#computeShared(ephemeralKey) };
    return this.#last?.shared?.slice();
  }

  #isLast(ephemeralKey: Uint8Array): boolean {
    return this.#last !== undefined && equalBytes(this.#last.ephemeralKey, ephemeralKey);
  }

  #computeShared(ephemeralKey: Uint8Array): Uint8Array | undefined {
    try {
      return x25519.getSharedSecret(this.#secret, ephemeralKey);
    } catch {
      return undefined;
    }
  }

  get address(): ShieldedAddress {
    return { owner: this.owner, viewingKey: this.viewingKey.slice() };
  }

  /** The shielded address as text; `prefix` is the network's. */
  addressText(prefix: string): string {
    return encodeShieldedAddress(this.address, prefix);
  }

  /** For handing to an auditor on purpose. Whoever has it and `owner` sees all income. */
  exportSecret(): Uint8Array {
    return this.#secret.slice();
  }
}

/** Sees all income, change and spends, and spends nothing: the spending key cannot be had from it. */
export class FullViewingKey extends IncomingViewingKey {
  readonly #authKey: Field;
  readonly #nullifierKey: Field;

  constructor(authKey: Field, nullifierKey: Field, viewingSecret: Uint8Array) {
    super(poseidon2(authKey, nullifierKey), viewingSecret);
    this.#authKey = authKey;
    this.#nullifierKey = nullifierKey;
  }

  get nullifierKey(): Field {
    return this.#nullifierKey;
  }

  /** For handing to an auditor on purpose. */
  exportKeys(): { authKey: Field; nullifierKey: Field; viewingSecret: Uint8Array } {
    return {
      authKey: this.#authKey,
      nullifierKey: this.#nullifierKey,
      viewingSecret: this.exportSecret(),
    };
  }
}

/** The one key that spends. */
export class SpendingKey extends Redacted {
  readonly viewing: FullViewingKey;
  readonly #scalar: Field;

  private constructor(master: Uint8Array) {
    super();
    // 384 bits, so that the reduction has a bias below 2^-129.
    this.#scalar = mustField(bytesToUint(derive(master, SPENDING_INFO, 48)) % FIELD_ORDER);
    const authKey = poseidon2(this.#scalar, 0n);
    const nullifierKey = poseidon2(this.#scalar, 1n);
    this.viewing = new FullViewingKey(authKey, nullifierKey, derive(word(this.#scalar), VIEWING_INFO, 32));
  }

  /** From 32 bytes of a cryptographic random source. */
  static fromSeed(seed: Uint8Array): SpendingKey {
    if (seed.length !== SEED_BYTES) throw new RangeError("a seed has 32 bytes");
    return new SpendingKey(seed);
  }

  /**
   * From a BIP-39 phrase (English list, 12 to 24 words, checksum checked) through BIP-39's own 64-byte
   * seed. A wrong word rejects without naming any word: the text may end in a log.
   */
  static async fromPhrase(phrase: string, passphrase = ""): Promise<SpendingKey> {
    const normal = phrase.trim().toLowerCase().split(/\s+/).join(" ");
    if (!validateMnemonic(normal, wordlist)) throw new RangeError("not a valid BIP-39 phrase");
    // 2,048 rounds hold a page for a tenth of a second. The browser's own code computes them beside the page's thread;
    // pages that did not come over TLS have none.
    const toSeed =
      (globalThis.crypto as Partial<Crypto> | undefined)?.subtle === undefined
        ? mnemonicToSeedSync
        : mnemonicToSeedWebcrypto;
    return new SpendingKey(await toSeed(normal, passphrase));
  }

  get owner(): Field {
    return this.viewing.owner;
  }

  /** For the prover alone. */
  scalar(): Field {
    return this.#scalar;
  }

  /** Seals this wallet's stored state. From the spending key, so an auditor's viewing key does not open it. */
  storageKey(): Uint8Array {
    return derive(word(this.#scalar), STORAGE_INFO, 32);
  }
}

export function newSeed(): Uint8Array {
  return randomBytes(SEED_BYTES);
}

/** 24 words over 256 random bits. */
export function newPhrase(): string {
  return generateMnemonic(wordlist, 256);
}
