/** EIP-55: the checksum that an address carries in the case of its letters. */
import type { Address } from "../protocol/brands.ts";
import { keccakHex } from "../protocol/hash.ts";

/** The spelling that answers use. */
export function checksumAddress(address: Address): string {
  const digits = address.slice(2).toLowerCase();
  const hash = keccakHex(new TextEncoder().encode(digits));
  let text = "0x";
  for (let i = 0; i < digits.length; i++) {
    text += Number.parseInt(hash.charAt(2 + i), 16) >= 8 ? digits.charAt(i).toUpperCase() : digits.charAt(i);
  }
  return text;
}

/** True without a checksum (one case only) and with the right one. A mistyped address is caught, not paid. */
export function hasGoodChecksum(text: string): boolean {
  const digits = text.slice(2);
  if (digits === digits.toLowerCase() || digits === digits.toUpperCase()) return true;
  return checksumAddress(text as Address) === text;
}
