/**
 * Bytes, hex and big-endian integers: the small vocabulary of every layout in this folder. No input is trusted. What
 * noble has, the hashes need anyhow.
 */
import {
  bytesToHex,
  bytesToNumberBE as bytesToUint,
  concatBytes,
  equalBytes,
  hexToBytes,
  numberToBytesBE as uintToBytes,
} from "@noble/curves/utils.js";
import type { Address, Bytes32 } from "./brands.ts";

/**
 * `uintToBytes` gives exactly so many bytes, and throws when the value does not fit, which is a fault of ours. The time
 * of `equalBytes` depends on the length only, so a comparison tells nothing about where two secrets differ.
 */
export { bytesToUint, concatBytes, equalBytes, uintToBytes };

/** `0x` and two lower-case digits a byte. */
export function toHex(bytes: Uint8Array): string {
  return `0x${bytesToHex(bytes)}`;
}

/** For hex we made ourselves; a throw is a fault of ours. */
export function mustFromHex(text: string): Uint8Array {
  if (!text.startsWith("0x")) throw new TypeError("not a hex string");
  return hexToBytes(text.slice(2));
}

/** One ABI word. */
export function word(value: bigint): Uint8Array {
  return uintToBytes(value, 32);
}

export function toBytes32(bytes: Uint8Array): Bytes32 {
  if (bytes.length !== 32) throw new RangeError("not 32 bytes");
  return toHex(bytes) as Bytes32;
}

export function toAddress(bytes: Uint8Array): Address {
  if (bytes.length !== 20) throw new RangeError("not 20 bytes");
  return toHex(bytes) as Address;
}

/**
 * Reads fixed layouts from untrusted bytes. A short read turns every later answer into zeros and
 * `done()` into false, so a parser is a straight line with one check at its end.
 */
export class ByteReader {
  readonly #bytes: Uint8Array;
  #at = 0;
  #ok = true;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  take(length: number): Uint8Array {
    this.#ok &&= length <= this.#bytes.length - this.#at;
    if (!this.#ok) return new Uint8Array(0);
    this.#at += length;
    return this.#bytes.slice(this.#at - length, this.#at);
  }

  /** All that is left. */
  rest(): Uint8Array {
    return this.take(this.#bytes.length - this.#at);
  }

  uint(length: number): bigint {
    return bytesToUint(this.take(length));
  }

  /** At most 6 bytes, so the value is exact. */
  number(length: number): number {
    return Number(this.uint(length));
  }

  /** Refuses a count whose elements cannot all be there, before anything of that size is made. */
  list(count: number, size: number): Uint8Array[] {
    this.#ok &&= count * size <= this.#bytes.length - this.#at;
    return Array.from({ length: this.#ok ? count : 0 }, () => this.take(size));
  }

  /** Undefined is as bad as a short read: nothing that was read will be used. */
  accept<T>(value: T | undefined): T {
    this.#ok &&= value !== undefined;
    return value as T;
  }

  /** True when every read was satisfied and no byte is left over. */
  done(): boolean {
    return this.#ok && this.#at === this.#bytes.length;
  }
}
