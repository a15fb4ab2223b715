/** Bytes and numbers: one reader over a request's body, words of 32 bytes, Keccak-256. SPEC, sections 1 and 9. */
import { keccak_256 } from "@noble/hashes/sha3.js";
import { concatBytes, hexToBytes } from "@noble/hashes/utils.js";

export const keccak = (...parts: readonly Uint8Array[]): Uint8Array => keccak_256(concatBytes(...parts));
export { concatBytes };

export const WORD_BYTES = 32;

/** Big-endian. */
export function numberIn(bytes: Uint8Array): bigint {
  return bytes.reduce((number, byte) => (number << 8n) | BigInt(byte), 0n);
}

/** Big-endian, `length` bytes. What does not fit is our own fault, so it throws. */
export function bytesOf(number: bigint, length: number): Uint8Array {
  const digits = number.toString(16).padStart(2 * length, "0");
  if (number < 0n || digits.length !== 2 * length) throw new RangeError(`no number of ${length} bytes`);
  return hexToBytes(digits);
}

export const word = (number: bigint | number): Uint8Array => bytesOf(BigInt(number), WORD_BYTES);

/** Thrown by a `Reader` for a body that is not of its layout, and caught where requests are read; never leaves the judge. */
export class Malformed extends Error {}

/** Takes fields off the front of some bytes. Their end must be met exactly. */
export class Reader {
  readonly #bytes: Uint8Array;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  /** A copy, so that nothing changes behind the judge's back. */
  bytes(length: number): Uint8Array {
    if (length > this.#bytes.length - this.#at) throw new Malformed();
    this.#at += length;
    return this.#bytes.slice(this.#at - length, this.#at);
  }

  number(length: number): bigint {
    return numberIn(this.bytes(length));
  }

  /** A count, or a length: at most four bytes, so a JavaScript number has it exactly. */
  count(length: 1 | 2 | 4): number {
    return Number(this.number(length));
  }

  words(count: number): bigint[] {
    // Before anything is allocated for a count that a stranger chose.
    if (count * WORD_BYTES > this.#bytes.length - this.#at) throw new Malformed();
    return Array.from({ length: count }, () => this.number(WORD_BYTES));
  }

  end(): void {
    if (this.#at !== this.#bytes.length) throw new Malformed();
  }
}
