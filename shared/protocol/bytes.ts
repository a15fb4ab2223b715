/** Bytes, hex and big-endian integers: the small vocabulary of every layout in this folder. No input is trusted. */
import type { Address, Bytes32 } from "./brands.ts";

const HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));

/** `0x` and two lower-case digits a byte. */
export function toHex(bytes: Uint8Array): string {
  let text = "0x";
  for (const byte of bytes) text += HEX[byte]!;
  return text;
}

/** Undefined unless `text` is 0x and an even number of hex digits. */
export function fromHex(text: unknown): Uint8Array | undefined {
  if (typeof text !== "string" || !/^0x([0-9a-fA-F]{2})*$/.test(text)) return undefined;
  const bytes = new Uint8Array(text.length / 2 - 1);
  for (let i = 0; i < bytes.length; i++) bytes[i] = Number.parseInt(text.slice(2 + 2 * i, 4 + 2 * i), 16);
  return bytes;
}

/** For hex we made ourselves; a throw is a fault of ours. */
export function mustFromHex(text: string): Uint8Array {
  const bytes = fromHex(text);
  if (bytes === undefined) throw new TypeError("not a hex string");
  return bytes;
}

export function concatBytes(...parts: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/** Big-endian, exactly `length` bytes; throws when the value does not fit, which is a fault of ours. */
export function uintToBytes(value: bigint, length: number): Uint8Array {
  if (value < 0n || value >= 1n << BigInt(8 * length)) throw new RangeError("integer does not fit its field");
  const bytes = new Uint8Array(length);
  let rest = value;
  for (let i = length - 1; i >= 0; i--) {
    bytes[i] = Number(rest & 0xffn);
    rest >>= 8n;
  }
  return bytes;
}

export function bytesToUint(bytes: Uint8Array): bigint {
  return bytes.length === 0 ? 0n : BigInt(toHex(bytes));
}

/** One ABI word. */
export function word(value: bigint): Uint8Array {
  return uintToBytes(value, 32);
}

export function addressBytes(address: Address): Uint8Array {
  return mustFromHex(address);
}

export function toBytes32(bytes: Uint8Array): Bytes32 {
  if (bytes.length !== 32) throw new RangeError("not 32 bytes");
  return toHex(bytes) as Bytes32;
}

export function toAddress(bytes: Uint8Array): Address {
  if (bytes.length !== 20) throw new RangeError("not 20 bytes");
  return toHex(bytes) as Address;
}

/** Time depends on the length only, so a comparison tells nothing about where two secrets differ. */
export function equalBytes(a: Uint8Array, b: Uint8Array): boolean {
  if (a.length !== b.length) return false;
  let difference = 0;
  for (let i = 0; i < a.length; i++) difference |= (a[i] as number) ^ (b[i] as number);
  return difference === 0;
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
    if (!this.#ok || length > this.#bytes.length - this.#at) {
      this.#ok = false;
      return new Uint8Array(0);
    }
    this.#at += length;
    return this.#bytes.slice(this.#at - length, this.#at);
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
    if (!this.#ok || count * size > this.#bytes.length - this.#at) {
      this.#ok = false;
      return [];
    }
    return Array.from({ length: count }, () => this.take(size));
  }

  /** True when every read was satisfied and no byte is left over. */
  done(): boolean {
    return this.#ok && this.#at === this.#bytes.length;
  }
}
