/**
 * The ephemeral secret of a private transfer, derived and not drawn: so its sender can open its own payment later, from the
 * spending key and the terms alone, and prove that it was the sender. Nobody with less than the spending key can.
 *
 * Under one ephemeral secret, reader and place there must never be two contents. All that the outputs hold is a part of
 * the derivation, so two secrets are the same only where the contents are, whatever state was lost in between.
 */
import { hkdf } from "@noble/hashes/hkdf.js";
import { sha256 } from "@noble/hashes/sha2.js";
import type { Address, Field } from "../protocol/brands.ts";
import { mustFromHex, concatBytes, uintToBytes, word } from "../protocol/bytes.ts";
import type { ShieldedAddress } from "./address.ts";
import type { SpendingKey } from "./keys.ts";

const INFO = new TextEncoder().encode("cloister/ephemeral/v1");

/**
 * The salt makes a payment that is made again another one, with other leaves. So few that a wallet without its state can
 * try them all.
 */
export const SENDER_SALTS = 1_024;

export interface TransferTerms {
  /** Of the notes spent, unused places not counted: each transfer that the pool executes has its own. */
  readonly nullifiers: readonly Field[];
  readonly to: ShieldedAddress;
  readonly asset: Address;
  readonly value: bigint;
  /** What comes back to the sender; 0 for none. */
  readonly change: bigint;
  /** All fee notes together. */
  readonly fees: bigint;
  /** Below SENDER_SALTS. */
  readonly salt: number;
}

/** 32 bytes; SPEC, section 12.1. */
export function senderSecret(keys: SpendingKey, terms: TransferTerms): Uint8Array {
  const { nullifiers, to, asset, value, change, fees, salt } = terms;
  const least = nullifiers.reduce((least, one) => (one < least ? one : least));
  const info = concatBytes(
    ...[INFO, word(least), word(to.owner), to.viewingKey, mustFromHex(asset)],
    ...[value, change, fees].map((amount) => uintToBytes(amount, 16)),
    uintToBytes(BigInt(salt), 2),
  );
  return hkdf(sha256, word(keys.scalar()), undefined, info, 32);
}
