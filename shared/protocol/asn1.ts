/**
 * ASN.1 in DER, or in the BER that KMS sends: a tree of elements, no meaning. Tags of one byte, lengths
 * in the fewest bytes up to 65,535, and in BER also of indefinite length. Input is untrusted; the
 * caller bounds its size.
 */
import { bytesToUint } from "./bytes.ts";

export interface Element {
  readonly tag: number;
  /** With tag and length. */
  readonly whole: Uint8Array;
  readonly body: Uint8Array;
  /** Of a constructed element. */
  readonly children: readonly Element[];
}

export const TAG = {
  boolean: 0x01,
  integer: 0x02,
  bitString: 0x03,
  octetString: 0x04,
  objectId: 0x06,
  utcTime: 0x17,
  generalizedTime: 0x18,
  sequence: 0x30,
  set: 0x31,
} as const;

/** Certificates and envelopes are seven deep; more would only serve to exhaust the stack. */
const MAX_DEPTH = 10;
const CONSTRUCTED = 0x20;
const INDEFINITE = 0x80;
/** The least length that needs none, one or two bytes of its own. */
const LEAST = [0, 0x80, 0x100] as const;

/** The one element in `bytes`, or undefined. Goes through the bytes once. */
export function readAsn1(bytes: Uint8Array, rules: "DER" | "BER"): Element | undefined {
  let at = 0;
  const element = read(0);
  return at === bytes.length ? element : undefined;

  function read(depth: number): Element | undefined {
    const start = at;
    const [tag = 0, first = 0] = bytes.subarray(at, at + 2);
    const isConstructed = (tag & CONSTRUCTED) !== 0;
    const isOpen = first === INDEFINITE;
    const more = first > INDEFINITE ? first - INDEFINITE : 0;
    const least = LEAST[more];
    if (depth > MAX_DEPTH || tag === 0 || (tag & 0x1f) === 0x1f || least === undefined) return undefined;
    if (isOpen && (rules === "DER" || !isConstructed)) return undefined;
    at += 2 + more;
    const from = at;
    const length = more === 0 ? first : Number(bytesToUint(bytes.slice(at - more, at)));
    if (length < least) return undefined;
    const end = isOpen ? undefined : at + length;
    const children: Element[] = [];
    while (isConstructed && (end === undefined ? bytes[at] !== 0 || bytes[at + 1] !== 0 : at < end)) {
      const child = read(depth + 1);
      if (child === undefined) return undefined;
      children.push(child);
    }
    // A child may not reach beyond its parent; beyond the bytes, the whole is refused.
    if (end !== undefined && at > end) return undefined;
    const body = bytes.slice(from, end ?? at);
    at = end ?? at + 2;
    return { tag, whole: bytes.slice(start, at), body, children };
  }
}

/** The children of `element`, when it and they are of exactly these tags. */
export function childrenOf<const Tags extends readonly number[]>(
  element: Element | undefined,
  tag: number,
  ...tags: Tags
): { readonly [Index in keyof Tags]: Element } | undefined {
  const found: unknown =
    element?.tag === tag &&
    element.children.length === tags.length &&
    element.children.every((child, i) => child.tag === tags[i]) &&
    element.children;
  return found ? (found as { readonly [Index in keyof Tags]: Element }) : undefined;
}
