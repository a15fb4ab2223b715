/**
 * Notes whose value the pool measures and hashes itself, such as the output of a swap: whoever makes the
 * statement knows owner and blinding, the chain adds asset and value later. The reader derives the blinding as of any
 * other note; asset and value come from the pool's event. An event is believed only as far as the leaf bears it out.
 */
import { VALUE_LIMIT, type Address, type Field } from "../protocol/brands.ts";
import type { ShieldedAddress } from "./address.ts";
import type { OutputSealer } from "./encryption.ts";
import { commitmentOf, npkOf, type Note } from "./note.ts";

/**
 * What goes into a statement for a note that the pool will complete. The ciphertext is one like any other, with
 * value 0 inside: nobody can tell from its length or form what it is for.
 */
export function sealUnmeasured(sealer: OutputSealer, to: ShieldedAddress, asset: Address) {
  const { blinding } = sealer.seal(to, asset, 0n);
  return { npk: npkOf(to.owner, blinding), blinding };
}

/** What an event says about a leaf that the pool hashed itself. */
export interface Measured {
  readonly npk: Field;
  readonly asset: Address;
  readonly value: bigint;
}

/**
 * The note, when its blinding and this owner give the event's npk and all of it gives the leaf. Asset and value
 * inside the ciphertext are its sender's claim and count for nothing. Undefined for a foreign note and for an event that lies.
 */
export function completeNote(
  owner: Field,
  blinding: Field,
  { npk, asset, value }: Measured,
  leaf: Field,
): Note | undefined {
  // To the hash, value and value + r are one: the same leaf would bear out a note worth more than there is.
  if (value < 0n || value >= VALUE_LIMIT) return undefined;
  if (npkOf(owner, blinding) !== npk || commitmentOf(npk, asset, value) !== leaf) return undefined;
  return { asset, value, blinding };
}
