/** What a case is drawn from: a stream of bytes that its label fixes, the same on every machine. No secrets. */
import { createHash } from "node:crypto";
import { FIELD_ORDER } from "../../../shared/protocol/brands.ts";
import { bytesToUint } from "../../../shared/protocol/bytes.ts";

const PIECE_BYTES = 512;

export class Draw {
  readonly #label: string;
  #piece = new Uint8Array();
  #pieces = 0;

  constructor(label: string) {
    this.#label = label;
  }

  bytes(length: number): Uint8Array {
    if (this.#piece.length < length) {
      const outputLength = Math.max(length, PIECE_BYTES);
      const stream = createHash("shake256", { outputLength }).update(
        `${this.#label}\0${String(this.#pieces++)}`,
      );
      this.#piece = new Uint8Array(stream.digest());
    }
    const drawn = this.#piece.slice(0, length);
    this.#piece = this.#piece.subarray(length);
    return drawn;
  }

  /** From 0 to `end` − 1. */
  below(end: number): number {
    return Number(bytesToUint(this.bytes(6)) % BigInt(end));
  }

  /** From 0 to `end` − 1, for an `end` of up to 256 bits. */
  number(end: bigint): bigint {
    return bytesToUint(this.bytes(40)) % end;
  }

  /** From 1 to r − 1. */
  scalar(): bigint {
    return this.number(FIELD_ORDER - 1n) + 1n;
  }

  oneOf<T>(items: readonly T[]): T {
    return items[this.below(items.length)]!;
  }
}
