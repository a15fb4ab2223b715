/**
 * Reads the PCRs out of an attestation document for display. Verifies nothing: no signature, no chain, no
 * nonce. Whoever relies on a measurement verifies the document itself.
 */
import { toHex } from "../../shared/protocol/bytes.ts";

/** PCRs of the payload as `PCR0`… in hex without 0x; empty for a document that cannot be read. All-zero registers are left out. */
export function readMeasurements(document: Uint8Array): Record<string, string> {
  const outer = read(document);
  // COSE_Sign1: [protected, unprotected, payload, signature], with or without its tag.
  const payload = Array.isArray(outer) ? (outer as unknown[])[2] : undefined;
  const content = payload instanceof Uint8Array ? read(payload) : undefined;
  const registers = content instanceof Map ? (content.get("pcrs") as unknown) : undefined;
  if (!(registers instanceof Map)) return {};
  const measurements: Record<string, string> = {};
  for (const [index, value] of registers as Map<unknown, unknown>) {
    if (typeof index !== "number" || !(value instanceof Uint8Array) || value.every((byte) => byte === 0))
      continue;
    measurements[`PCR${String(index)}`] = toHex(value).slice(2);
  }
  return measurements;
}

function read(bytes: Uint8Array): unknown {
  try {
    const reader = new CborReader(bytes);
    return reader.item(0);
  } catch {
    return undefined;
  }
}

const BREAK = Symbol("break");
const MAX_DEPTH = 16;

/** As much of CBOR (RFC 8949) as a Nitro document uses. Throws on everything else. */
class CborReader {
  readonly #bytes: Uint8Array;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  item(depth: number): unknown {
    if (depth > MAX_DEPTH) throw new RangeError("nested too deep");
    const first = this.#take(1)[0]!;
    const major = first >> 5;
    const minor = first & 31;
    if (first === 0xff) return BREAK;
    const isIndefinite = minor === 31;
    const value = isIndefinite ? 0 : this.#argument(minor);
    switch (major) {
      case 0:
        return value;
      case 1:
        return -1 - value;
      case 2:
        return this.#take(isIndefinite ? Number.NaN : value);
      case 3:
        return new TextDecoder("utf-8", { fatal: true }).decode(
          this.#take(isIndefinite ? Number.NaN : value),
        );
      case 4:
        return this.#items(isIndefinite ? undefined : value, depth);
      case 5: {
        const flat = this.#items(isIndefinite ? undefined : 2 * value, depth);
        const map = new Map<unknown, unknown>();
        for (let i = 0; i + 1 < flat.length; i += 2) map.set(flat[i], flat[i + 1]);
        return map;
      }
      case 6:
        return this.item(depth + 1);
      default:
        return minor === 20 ? false : minor === 21 ? true : undefined;
    }
  }

  #items(count: number | undefined, depth: number): unknown[] {
    const items: unknown[] = [];
    while (count === undefined || items.length < count) {
      const item = this.item(depth + 1);
      if (item === BREAK) {
        if (count !== undefined) throw new RangeError("break in a definite item");
        break;
      }
      items.push(item);
    }
    return items;
  }

  #argument(minor: number): number {
    if (minor < 24) return minor;
    if (minor > 27) throw new RangeError("reserved length");
    return [...this.#take(2 ** (minor - 24))].reduce((value, byte) => value * 256 + byte, 0);
  }

  #take(length: number): Uint8Array {
    if (!(length <= this.#bytes.length - this.#at)) throw new RangeError("short item");
    this.#at += length;
    return this.#bytes.slice(this.#at - length, this.#at);
  }
}
