/**
 * Values as people and JSON write them. Nothing here trusts its input: what does not fit comes back as undefined. The
 * enclave reads bytes alone.
 */
import { asField, mustField, type Address, type Bytes32, type Field } from "../brands.ts";
import { mustFromHex } from "../bytes.ts";

const DECIMAL = /^(0|[1-9][0-9]{0,76})$/;

/** Undefined unless `text` is 0x and an even number of hex digits. */
export function fromHex(text: unknown): Uint8Array | undefined {
  return typeof text === "string" && /^0x([0-9a-fA-F]{2})*$/.test(text) ? mustFromHex(text) : undefined;
}

/** Reads a canonical decimal string, as snarkjs prints signals. */
export function parseField(text: unknown): Field | undefined {
  return typeof text === "string" && DECIMAL.test(text) ? asField(BigInt(text)) : undefined;
}

export function asBytes32(text: unknown): Bytes32 | undefined {
  return typeof text === "string" && /^0x[0-9a-f]{64}$/.test(text) ? (text as Bytes32) : undefined;
}

/** Any mixture of case; the result is lower case. Does not look at an EIP-55 checksum. */
export function asAddress(text: unknown): Address | undefined {
  return typeof text === "string" && /^0x[0-9a-fA-F]{40}$/.test(text)
    ? (text.toLowerCase() as Address)
    : undefined;
}

/** The inverse of `addressFromField`. */
export function addressToField(address: Address): Field {
  return mustField(BigInt(address));
}
