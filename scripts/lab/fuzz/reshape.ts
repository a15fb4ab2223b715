/**
 * Changes inside CBOR and ASN.1 that keep the lengths around them true: blind mutation seldom gets past
 * the first length that no longer fits.
 */
import { childrenOf, readAsn1, type Element } from "../../../shared/protocol/asn1.ts";
import { bytesToUint, concatBytes, uintToBytes } from "../../../shared/protocol/bytes.ts";
import { decodeCbor, encodeCbor, type Cbor, type CborMap } from "../../../shared/protocol/cbor.ts";
import { FRAME_HEADER_BYTES, FRAME_VERSION } from "../../../shared/protocol/enclave-messages.ts";
import { flipped, overwritten } from "./mutate.ts";
import type { Random } from "../../base/random.ts";

/** Sizes at and around the limits that documents have. */
const SIZES = [0, 1, 31, 32, 33, 47, 48, 49, 64, 95, 96, 97, 512, 513, 1024, 1025];
const NUMBERS = [0, 1, 2, 15, 16, 31, 32, -1, -35, 255, 256, 2 ** 31, 2 ** 32, Number.MAX_SAFE_INTEGER];

/** Byte strings that hold CBOR themselves are opened too. */
export function reshapeCbor(bytes: Uint8Array, random: Random): Uint8Array {
  const value = decodeCbor(bytes);
  return value === undefined ? bytes : encodeCbor(reshaped(value, random));
}

function reshaped(value: Cbor, random: Random): Cbor {
  if (random.below(8) === 0) return scalar(random);
  if (value instanceof Uint8Array) {
    const inner = decodeCbor(value);
    if (inner instanceof Map && random.below(8) !== 0) return encodeCbor(reshaped(inner, random));
    return random.below(2) === 0 ? resized(value, random.pick(SIZES)) : flipped(value, random);
  }
  if (value instanceof Map) return reshapedMap([...(value as CborMap)], random);
  if (Array.isArray(value)) return reshapedList([...(value as readonly Cbor[])], random);
  return scalar(random);
}

function reshapedList(items: Cbor[], random: Random): Cbor {
  const at = random.below(items.length + 1);
  const way = random.below(6);
  if (items.length === 0 || way === 0) items.splice(at, 0, scalar(random));
  else if (way === 1) items.splice(at, 1);
  else if (way === 2) items.splice(at, 0, random.pick(items));
  else items[at % items.length] = reshaped(items[at % items.length]!, random);
  return items;
}

function reshapedMap(entries: [string | number, Cbor][], random: Random): Cbor {
  const at = random.below(entries.length + 1);
  const way = random.below(6);
  if (entries.length === 0 || way === 0)
    entries.splice(at, 0, [random.below(2) === 0 ? random.pick(NUMBERS) : "extra", scalar(random)]);
  else if (way === 1) entries.splice(at, 1);
  else if (way === 2) entries.reverse();
  else {
    const entry = entries[at % entries.length]!;
    entry[1] = reshaped(entry[1], random);
  }
  return new Map(entries);
}

function scalar(random: Random): Cbor {
  return random.pick<Cbor>([
    ...[null, true, false, "", "text", new Uint8Array(0), [], new Map()],
    random.pick(NUMBERS),
    random.bytes(random.pick(SIZES)),
  ]);
}

/** Definite lengths all through; what was of indefinite length comes out definite. */
export function reshapeAsn1(bytes: Uint8Array, random: Random): Uint8Array {
  const root = readAsn1(bytes, "BER");
  return root === undefined ? bytes : written(root, random, random.below(countOf(root)), { at: 0 });
}

function countOf(element: Element): number {
  return 1 + element.children.reduce((sum, child) => sum + countOf(child), 0);
}

/** `element` again, with the one that is `chosen` in the order of reading changed. */
function written(element: Element, random: Random, chosen: number, place: { at: number }): Uint8Array {
  const isChosen = place.at++ === chosen;
  const children = element.children.map((child) => written(child, random, chosen, place));
  const isPrimitive = childrenOf(element, element.tag) !== undefined;
  const body = isPrimitive ? element.body : concatBytes(...children);
  if (!isChosen) return tlv(element.tag, body);
  const ways: readonly (() => Uint8Array)[] = [
    () => new Uint8Array(0),
    () => concatBytes(tlv(element.tag, body), tlv(element.tag, body)),
    () => tlv(random.pick(TAGS), body),
    () => tlv(element.tag, flipped(body, random)),
    () => tlv(element.tag, resized(body, random.pick(SIZES))),
    () => tlv(element.tag, body.slice(0, random.below(body.length + 1))),
    () => tlv(element.tag, concatBytes(body, tlv(random.pick(TAGS), random.bytes(random.below(4))))),
    () => tlv(element.tag, tlv(random.pick(TAGS), body)),
    () => concatBytes(Uint8Array.of(element.tag, 0x80), body, Uint8Array.of(0, 0)),
  ];
  return random.pick(ways)();
}

const TAGS = [0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x0c, 0x17, 0x18, 0x24, 0x30, 0x31, 0x80, 0xa0, 0xa1, 0xa3];

function tlv(tag: number, body: Uint8Array): Uint8Array {
  const { length } = body;
  const size =
    length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return concatBytes(Uint8Array.of(tag, ...size), body);
}

/** The first frame with a true length, and now and then the same frame again behind it. */
export function reshapeFrames(bytes: Uint8Array, random: Random): Uint8Array {
  if (bytes.length < FRAME_HEADER_BYTES) return bytes;
  const length = Number(bytesToUint(bytes.slice(1, FRAME_HEADER_BYTES)));
  const body =
    random.below(2) === 0
      ? bytes.slice(FRAME_HEADER_BYTES)
      : bytes.slice(FRAME_HEADER_BYTES).slice(0, length);
  const frame = concatBytes(Uint8Array.of(FRAME_VERSION), uintToBytes(BigInt(body.length), 4), body);
  return random.below(4) === 0 ? concatBytes(frame, frame) : frame;
}

function resized(bytes: Uint8Array, length: number): Uint8Array {
  return overwritten(new Uint8Array(length), 0, bytes.slice(0, length));
}
