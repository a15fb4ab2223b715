/**
 * CBOR (RFC 8949) as far as the security module speaks it: integers, byte and text strings, arrays,
 * maps, booleans, null, all of definite length. One value has one spelling: a longer head than
 * needed, a repeated key, bytes left over, and everything else, are refused. Input is untrusted.
 */
import { concatBytes, uintToBytes } from "../shared/protocol/bytes.ts";

export type Cbor = number | string | boolean | null | Uint8Array | readonly Cbor[] | CborMap;
export type CborMap = ReadonlyMap<string | number, Cbor>;

/** Deeper nesting than an attestation document has would only serve to exhaust the stack. */
const MAX_DEPTH = 8;

const FALSE = 0xf4;
const TRUE = 0xf5;
const NULL = 0xf6;

/** Throws for a number that is no safe integer, which is a fault of ours. */
export function encodeCbor(value: Cbor): Uint8Array {
  if (value === null) return Uint8Array.of(NULL);
  if (typeof value === "boolean") return Uint8Array.of(value ? TRUE : FALSE);
  if (typeof value === "number") return value < 0 ? head(1, -1 - value) : head(0, value);
  if (value instanceof Uint8Array) return concatBytes(head(2, value.length), value);
  if (typeof value === "string") {
    const text = new TextEncoder().encode(value);
    return concatBytes(head(3, text.length), text);
  }
  if (value instanceof Map) {
    const entries = [...(value as CborMap)].flatMap(([key, item]) => [encodeCbor(key), encodeCbor(item)]);
    return concatBytes(head(5, value.size), ...entries);
  }
  const items = value as readonly Cbor[];
  return concatBytes(head(4, items.length), ...items.map(encodeCbor));
}

/** The one value in `bytes`, or undefined. */
export function decodeCbor(bytes: Uint8Array): Cbor | undefined {
  const reader = new CborReader(bytes);
  const value = reader.item(0);
  return reader.done() ? value : undefined;
}

/** For reading maps without a cast at every step. */
export function entryOf(value: Cbor | undefined, key: string | number): Cbor | undefined {
  return value instanceof Map ? (value as CborMap).get(key) : undefined;
}

function head(major: number, value: number): Uint8Array {
  if (!Number.isSafeInteger(value)) throw new RangeError("not an integer that CBOR numbers here can carry");
  if (value < 24) return Uint8Array.of((major << 5) | value);
  const size = HEAD_SIZES.find(({ limit }) => value < limit)!;
  return concatBytes(Uint8Array.of((major << 5) | size.info), uintToBytes(BigInt(value), size.bytes));
}

/** Additional information of a head, the bytes that follow it, and the values it is for. */
const HEAD_SIZES = [
  { info: 24, bytes: 1, least: 24, limit: 0x100 },
  { info: 25, bytes: 2, least: 0x100, limit: 0x1_0000 },
  { info: 26, bytes: 4, least: 0x1_0000, limit: 0x1_0000_0000 },
  { info: 27, bytes: 8, least: 0x1_0000_0000, limit: Infinity },
] as const;

/** The first fault turns `done()` false for good; every answer after it is null. */
class CborReader {
  readonly #bytes: Uint8Array;
  #at = 0;
  #ok = true;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  done(): boolean {
    return this.#ok && this.#at === this.#bytes.length;
  }

  item(depth: number): Cbor {
    const first = this.#take(1)[0] ?? 0;
    if (depth > MAX_DEPTH) return this.#fail();
    if (first === NULL) return null;
    if (first === TRUE || first === FALSE) return first === TRUE;
    const count = this.#count(first & 0x1f);
    switch (first >> 5) {
      case 0:
        return count;
      case 1:
        return -1 - count;
      case 2:
        return this.#take(count);
      case 3:
        return this.#text(count);
      case 4:
        return this.#list(count, depth);
      case 5:
        return this.#map(count, depth);
      default:
        return this.#fail();
    }
  }

  #count(info: number): number {
    if (info < 24) return info;
    const size = HEAD_SIZES.find((candidate) => candidate.info === info);
    if (size === undefined) return this.#zero();
    const value = this.#take(size.bytes).reduce((sum, byte) => sum * 256 + byte, 0);
    return value >= size.least && Number.isSafeInteger(value) ? value : this.#zero();
  }

  #text(length: number): string {
    const bytes = this.#take(length);
    try {
      return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
    } catch {
      this.#fail();
      return "";
    }
  }

  /** Stops at the first fault, so a huge count costs no more than the bytes that are there. */
  #list(count: number, depth: number): Cbor[] {
    const items: Cbor[] = [];
    while (this.#ok && items.length < count) items.push(this.item(depth + 1));
    return items;
  }

  #map(count: number, depth: number): CborMap {
    const map = new Map<string | number, Cbor>();
    while (this.#ok && map.size < count) {
      const key = this.item(depth + 1);
      if ((typeof key !== "string" && typeof key !== "number") || map.has(key)) this.#fail();
      else map.set(key, this.item(depth + 1));
    }
    return map;
  }

  #take(length: number): Uint8Array {
    if (!this.#ok || length > this.#bytes.length - this.#at) {
      this.#fail();
      return new Uint8Array(0);
    }
    this.#at += length;
    return this.#bytes.slice(this.#at - length, this.#at);
  }

  #fail(): null {
    this.#ok = false;
    return null;
  }

  #zero(): 0 {
    this.#ok = false;
    return 0;
  }
}
