/**
 * CBOR (RFC 8949) as far as the security module speaks it: integers, byte and text strings, arrays,
 * maps, booleans, null. Arrays and maps may be of indefinite length, as the payloads of newer
 * documents are. A longer head than needed, a repeated key, bytes left over, and everything else, are
 * refused. Input is untrusted.
 */
import { concatBytes, equalBytes, uintToBytes } from "./bytes.ts";

export type Cbor = number | string | boolean | null | Uint8Array | readonly Cbor[] | CborMap;
export type CborMap = ReadonlyMap<string | number, Cbor>;

/** Deeper nesting than an attestation document has would only serve to exhaust the stack. */
const MAX_DEPTH = 8;

const FALSE = 0xf4;
const TRUE = 0xf5;
const NULL = 0xf6;
const INDEFINITE_LIST = 0x9f;
const INDEFINITE_MAP = 0xbf;
const BREAK = 0xff;

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
  const map = mapOf(value);
  const items = map ? [...map].flat(1) : itemsOf(value);
  return concatBytes(map ? head(5, map.size) : head(4, items.length), ...items.map(encodeCbor));
}

function head(major: number, value: number): Uint8Array {
  if (!Number.isSafeInteger(value)) throw new RangeError("not an integer that CBOR numbers here can carry");
  if (value < 24) return Uint8Array.of((major << 5) | value);
  const power = [0x100, 0x1_0000, 0x1_0000_0000].filter((limit) => value >= limit).length;
  return concatBytes(Uint8Array.of((major << 5) | (24 + power)), uintToBytes(BigInt(value), 1 << power));
}

export function mapOf(value: Cbor | undefined): CborMap | undefined {
  return value instanceof Map ? (value as CborMap) : undefined;
}

export function entryOf(value: Cbor | undefined, key: string | number): Cbor | undefined {
  return mapOf(value)?.get(key);
}

/** The items of an array, none of anything else. */
export function itemsOf(value: Cbor | undefined): readonly Cbor[] {
  return Array.isArray(value) ? (value as readonly Cbor[]) : [];
}

/** The one value in `bytes`, or undefined. A huge count costs no more than the bytes that are there. */
export function decodeCbor(bytes: Uint8Array): Cbor | undefined {
  let at = 0;
  const value = item(0);
  return at === bytes.length ? value : undefined;

  function item(depth: number): Cbor | undefined {
    const first = bytes[at++];
    if (first === undefined || depth > MAX_DEPTH) return undefined;
    if (first === NULL) return null;
    if (first === TRUE || first === FALSE) return first === TRUE;
    const isIndefinite = first === INDEFINITE_LIST || first === INDEFINITE_MAP;
    const count = isIndefinite ? Infinity : argument(first & 0x1f);
    if (count === undefined) return undefined;
    const major = first >> 5;
    if (major < 2) return major === 0 ? count : -1 - count;
    if (major === 2) return take(count);
    if (major === 3) return text(take(count));
    if (major === 4) return items(count, depth);
    return major === 5 ? map(items(2 * count, depth)) : undefined;
  }

  /** In the fewest bytes: nothing has two spellings. */
  function argument(info: number): number | undefined {
    if (info < 24) return info;
    const size = 1 << (info - 24);
    if (size > 8) return undefined;
    const value = take(size).reduce((sum, byte) => sum * 256 + byte, 0);
    const isShortest = value >= (size === 1 ? 24 : 256 ** (size / 2));
    return isShortest && Number.isSafeInteger(value) ? value : undefined;
  }

  /** Beyond the end there is nothing, and `at` stays beyond it: the whole is refused. */
  function take(length: number): Uint8Array {
    at += length;
    return bytes.slice(at - length, at);
  }

  function items(count: number, depth: number): Cbor[] | undefined {
    const found: Cbor[] = [];
    while (found.length < count) {
      if (count === Infinity && bytes[at] === BREAK) {
        at++;
        return found;
      }
      const next = item(depth + 1);
      if (next === undefined) return undefined;
      found.push(next);
    }
    return found;
  }
}

function text(bytes: Uint8Array): string | undefined {
  const value = new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
  // What is not UTF-8 was replaced, and comes back as other bytes.
  return equalBytes(new TextEncoder().encode(value), bytes) ? value : undefined;
}

/** From key, value, key, value; each key once. */
function map(flat: readonly Cbor[] | undefined): CborMap | undefined {
  const found = new Map<string | number, Cbor>();
  for (let i = 0; flat && i < flat.length; i += 2) {
    const [key, value] = [flat[i], flat[i + 1]];
    const isKey = typeof key === "string" || typeof key === "number";
    if (!isKey || found.has(key) || value === undefined) return undefined;
    found.set(key, value);
  }
  return flat && found;
}
