/**
 * What the addresses of bridges are made from: a secret for each kind of address and each number, so that a wallet finds
 * its addresses again from its key alone. Secrets stay bytes, and nothing here prints one.
 */
import { ed25519 } from "@noble/curves/ed25519.js";
import { secp256k1 } from "@noble/curves/secp256k1.js";
import { hkdf } from "@noble/hashes/hkdf.js";
import { sha256 } from "@noble/hashes/sha2.js";
import { base58 } from "@scure/base";
import type { Address, Field } from "../protocol/brands.ts";
import { bytesToUint, concatBytes, toAddress, toHex, uintToBytes, word } from "../protocol/bytes.ts";
import { keccak256 } from "../protocol/hash.ts";
import { OutputSealer } from "./encryption.ts";
import { Redacted, type IncomingViewingKey, type SpendingKey } from "./keys.ts";
import { sealUnmeasured } from "./measured-note.ts";

const INFO = new TextEncoder().encode("cloister/bridge/v1");

/** What an address is for. Each has numbers of its own; one number is used for one address. */
export const BRIDGE_KINDS = { in: 1, out: 2, altchain: 3 } as const;
export type BridgeKind = keyof typeof BRIDGE_KINDS;
/** The deposit key is no address note's secret: its place in the derivation is its own. */
const DEPOSIT_KEY = 4;

const REFUND_INFO = new TextEncoder().encode("cloister/refund-key/v1");
/** 384 bits, so that the reduction has a bias below 2^-127. */
const REFUND_BYTES = 48;

function derive(secret: Uint8Array, purpose: number, index: number): Uint8Array {
  return hkdf(sha256, secret, undefined, infoOf(INFO, purpose, index), 32);
}

function infoOf(info: Uint8Array, purpose: number, index: number): Uint8Array {
  return concatBytes(info, Uint8Array.of(purpose), uintToBytes(BigInt(index), 4));
}

/** Whose note the money of an address becomes, as it stands in the terms of the address. */
export interface AddressNote {
  readonly npk: Field;
  readonly blinding: Field;
  readonly ephemeralKey: Uint8Array;
  readonly ciphertext: Uint8Array;
}

/**
 * The note of an address: to oneself, of a value that the pool measures. From the viewing secret, so whoever may see all
 * income sees the addresses, too.
 */
export function addressNote(
  keys: IncomingViewingKey,
  kind: BridgeKind,
  index: number,
  asset: Address,
): AddressNote {
  const sealer = new OutputSealer(derive(keys.exportSecret(), BRIDGE_KINDS[kind], index));
  const { npk, blinding } = sealUnmeasured(sealer, keys.address, asset);
  return { npk, blinding, ephemeralKey: sealer.ephemeralKey, ciphertext: sealer.ciphertexts[0]! };
}

/**
 * The one-time key that owns a deposit address on the other blockchain. From the spending key: whoever may only look must
 * not be able to send what has arrived to another place.
 */
export class DepositKey extends Redacted {
  /** 32 bytes. */
  readonly publicKey: Uint8Array;
  readonly #seed: Uint8Array;

  constructor(keys: SpendingKey, index: number) {
    super();
    this.#seed = derive(word(keys.scalar()), DEPOSIT_KEY, index);
    this.publicKey = ed25519.getPublicKey(this.#seed);
  }

  /** As that blockchain spells it. */
  get text(): string {
    return base58.encode(this.publicKey);
  }

  /** 64 bytes. */
  sign(message: Uint8Array): Uint8Array {
    return ed25519.sign(message, this.#seed);
  }
}

/** Addresses that money may come back from to a public account. */
export type RefundKind = Exclude<BridgeKind, "out">;

/**
 * The EVM account that gets back what cannot become a note, where nobody names another. One for each address: a sweep shows
 * the refund address, and one that two addresses share would show that they are one person's. From the spending key, since
 * what was refunded is spent with it.
 */
export class RefundKey extends Redacted {
  readonly address: Address;
  readonly #secret: Uint8Array;

  constructor(keys: SpendingKey, kind: RefundKind, index: number) {
    super();
    const info = infoOf(REFUND_INFO, BRIDGE_KINDS[kind], index);
    const wide = bytesToUint(hkdf(sha256, word(keys.scalar()), undefined, info, REFUND_BYTES));
    // From 1 on: zero is no key.
    this.#secret = word((wide % (secp256k1.Point.Fn.ORDER - 1n)) + 1n);
    const point = secp256k1.getPublicKey(this.#secret, false);
    this.address = toAddress(keccak256(point.subarray(1)).subarray(12));
  }

  /** As other wallets take it in: 0x and 64 hex digits. For who is to spend what was refunded, and for nobody else. */
  exportPrivateKey(): string {
    return toHex(this.#secret);
  }
}
