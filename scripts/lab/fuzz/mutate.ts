/** Makes one case out of another: the blind steps of a mutation fuzzer, stacked. */
import { concatBytes, uintToBytes } from "../../../shared/protocol/bytes.ts";
import type { Random } from "../../base/random.ts";

export interface Material {
  /** Constants of the code under test. */
  readonly tokens: readonly Uint8Array[];
  readonly corpus: readonly Uint8Array[];
  readonly maxBytes: number;
}

type Step = (bytes: Uint8Array, random: Random, material: Material) => Uint8Array;

const MAX_STACKED = 5;

export function mutate(bytes: Uint8Array, random: Random, material: Material): Uint8Array {
  let made = bytes;
  // Few more often than many: each further step may undo what the case was kept for.
  for (let steps = 1 + random.below(1 + random.below(MAX_STACKED)); steps > 0; steps--)
    made = random.pick(STEPS)(made, random, material);
  return made.length > material.maxBytes ? made.slice(0, material.maxBytes) : made;
}

/** Bounds of one, two and four bytes, and those of the lengths that CBOR and DER spell differently. */
const INTERESTING = [
  ...[0, 1, 0x17, 0x18, 0x1f, 0x20, 0x30, 0x40, 0x58, 0x59, 0x7f, 0x80, 0x81, 0x82, 0x9f, 0xa0, 0xbf, 0xf6],
  ...[0xff, 0x100, 0x7fff, 0x8000, 0xffff, 0x1_0000, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff],
];

const STEPS: readonly Step[] = [
  flipped,
  // One byte: any, a bound, or a little more or less.
  (bytes, random) => changed(bytes, random, () => random.below(256)),
  (bytes, random) => changed(bytes, random, () => random.pick(INTERESTING)),
  (bytes, random) => changed(bytes, random, (byte) => byte + random.below(9) - 4),
  // A length field: a bound, the size of the whole, or what is left.
  (bytes, random) => {
    const at = random.below(bytes.length + 1);
    const size = random.pick([1, 2, 4]);
    const value = random.pick([...INTERESTING, bytes.length, Math.max(bytes.length - at - size, 0)]);
    return overwritten(bytes, at, uintToBytes(BigInt(value % 2 ** (8 * size)), size));
  },
  // A stretch taken out, doubled, or put elsewhere.
  (bytes, random) => {
    const [from, to] = stretch(bytes, random);
    return concatBytes(bytes.slice(0, from), bytes.slice(to));
  },
  (bytes, random) => {
    const [from, to] = stretch(bytes, random);
    return inserted(bytes, random.below(bytes.length + 1), bytes.slice(from, to));
  },
  (bytes, random) => {
    const [from, to] = stretch(bytes, random);
    return overwritten(bytes, random.below(bytes.length + 1), bytes.slice(from, to));
  },
  // New bytes, and constants.
  (bytes, random) => inserted(bytes, random.below(bytes.length + 1), random.bytes(1 + random.below(8))),
  (bytes, random, { tokens }) =>
    tokens.length === 0 ? bytes : inserted(bytes, random.below(bytes.length + 1), random.pick(tokens)),
  (bytes, random, { tokens }) =>
    tokens.length === 0 ? bytes : overwritten(bytes, random.below(bytes.length + 1), random.pick(tokens)),
  // The end cut off.
  (bytes, random) => bytes.slice(0, random.below(bytes.length + 1)),
  // The head of this and the tail of another.
  (bytes, random, { corpus }) => {
    const other = random.pick(corpus);
    const cut = random.below(Math.min(bytes.length, other.length) + 1);
    return concatBytes(bytes.slice(0, cut), other.slice(cut));
  },
  (bytes, random, { corpus }) => {
    const other = random.pick(corpus);
    const [from, to] = stretch(other, random);
    return inserted(bytes, random.below(bytes.length + 1), other.slice(from, to));
  },
];

/** One bit. */
export function flipped(bytes: Uint8Array, random: Random): Uint8Array {
  return changed(bytes, random, (byte) => byte ^ (1 << random.below(8)));
}

function changed(bytes: Uint8Array, random: Random, change: (byte: number) => number): Uint8Array {
  if (bytes.length === 0) return bytes;
  const copy = bytes.slice();
  const at = random.below(copy.length);
  copy[at] = change(copy[at]!);
  return copy;
}

function inserted(bytes: Uint8Array, at: number, more: Uint8Array): Uint8Array {
  return concatBytes(bytes.slice(0, at), more, bytes.slice(at));
}

export function overwritten(bytes: Uint8Array, at: number, others: Uint8Array): Uint8Array {
  return concatBytes(bytes.slice(0, at), others, bytes.slice(at + others.length));
}

/** Short ones more often than long ones. */
function stretch(bytes: Uint8Array, random: Random): readonly [number, number] {
  const length = 1 + random.below(random.pick([4, 16, 64, bytes.length + 1]));
  const from = random.below(bytes.length + 1);
  return [from, Math.min(from + length, bytes.length)];
}
