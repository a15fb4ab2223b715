/**
 * Cases: true proofs, and everything that is nearly one. `attested` is how a refutation shows a proof, 128 bytes and the
 * words that they are said to be; `proved` is how a proved transaction does, words alone.
 */
import { BASE_FIELD_ORDER, FIELD_ORDER } from "../../../shared/protocol/brands.ts";
import { KIND_NAMES, signalCount } from "../../../shared/protocol/statements.ts";
import { wordsOf } from "../../watch/groth16.ts";
import { Draw } from "./draw.ts";
import type { KeySet, Origin, Origins } from "./origins.ts";
import {
  bytesOf,
  compressed,
  pointOfCurve,
  pointOfTwist,
  withPartOutside,
  wordsIn,
  xOfNothing,
  xOfNothingOnTwist,
  type Words,
} from "./points.ts";

export interface Case extends Origin {
  readonly name: string;
  readonly way: "proved" | "attested";
  /** Of an attested one. */
  readonly bytes: Uint8Array;
  /** What the watcher's decompression says of the bytes: nothing, these words, or others. */
  readonly standing: "NOTHING" | "WORDS" | "OTHERS";
}

type Shown = Omit<Case, "name">;
type Mutation = (origin: Origin, draw: Draw, all: readonly Origin[]) => Shown;

/** Cases of a block share their origins. */
const BLOCK = 1_024;

/** The case with that number, whatever was drawn before it. */
export function caseAt(origins: Pick<Origins, "seed" | "block">, index: number): Case {
  const draw = new Draw(`${String(origins.seed)} case ${String(index)}`);
  const all = origins.block(Math.floor(index / BLOCK));
  const [name, , mutate] = draw.oneOf(TICKETS);
  // As many of the one set of keys as of the other.
  const keys: KeySet = draw.oneOf(["committed", "simulated"]);
  const kind = draw.oneOf(KIND_NAMES);
  const origin = draw.oneOf(all.filter((each) => each.keys === keys && each.kind === kind));
  return { name, ...mutate(origin, draw, all) };
}

// ---------------------------------------------------------------- how a case is shown

function byBytes(origin: Origin, bytes: Uint8Array, draw: Draw): Shown {
  const right = wordsOf(bytes);
  // Bytes of no point are refuted with any words.
  const words = right ?? draw.oneOf([origin.words, NO_WORDS]);
  return { ...origin, way: "attested", bytes, words, standing: right === undefined ? "NOTHING" : "WORDS" };
}

/** Proved; or attested, where the enclave could have made bytes of it at all. */
function byWords(origin: Origin, words: Words, draw: Draw): Shown {
  const bytes = draw.below(2) === 0 ? undefined : compressed(words);
  if (bytes === undefined)
    return { ...origin, words, way: "proved", bytes: new Uint8Array(), standing: "WORDS" };
  return claimed(origin, bytes, words);
}

function claimed(origin: Origin, bytes: Uint8Array, words: Words): Shown {
  const right = wordsOf(bytes);
  const isRight = right?.every((word, i) => word === words[i]);
  const standing = isRight === undefined ? "NOTHING" : isRight ? "WORDS" : "OTHERS";
  return { ...origin, words, way: "attested", bytes, standing };
}

const bySignals = (origin: Origin, signals: readonly bigint[], draw: Draw): Shown =>
  byWords({ ...origin, signals }, origin.words, draw);

// ---------------------------------------------------------------- what is changed

const Q = BASE_FIELD_ORDER;
const R = FIELD_ORDER;
const PARITY = 1n << 255n;
const LIMIT = 1n << 256n;
const NO_WORDS: Words = Array<bigint>(8).fill(0n);
/** Of the four words of the bytes: b.x.c0 carries no parity. */
const FLAGGED = [0, 1, 3];
const INFINITIES = [
  [0, 1],
  [2, 3, 4, 5],
  [6, 7],
  [0, 1, 2, 3, 4, 5, 6, 7],
];
/** The y of A, of B, of C. */
const SIGNS = [[1], [4, 5], [7]];
/** Where each word comes from: halves of x or y of B, A and C, x and y. */
const SWAPS = [
  [0, 1, 3, 2, 5, 4, 6, 7],
  [0, 1, 3, 2, 4, 5, 6, 7],
  [6, 7, 2, 3, 4, 5, 0, 1],
  [1, 0, 2, 3, 4, 5, 6, 7],
  [0, 1, 4, 5, 2, 3, 6, 7],
];

const flipped = (bytes: Uint8Array, bit: number): Uint8Array =>
  bytes.map((byte, i) => (i === bit >> 3 ? byte ^ (1 << (bit & 7)) : byte));
const packed = ({ words }: Origin): bigint[] => wordsIn(compressed(words)!);
const withWords = (words: Words, places: readonly number[], to: (word: bigint) => bigint): Words =>
  words.map((word, i) => (places.includes(i) ? to(word) : word));
const someOf = <T>(items: readonly T[], draw: Draw): T[] => {
  const mask = 1 + draw.below((1 << items.length) - 1);
  return items.filter((_, i) => ((mask >> i) & 1) === 1);
};

/** A word of the bytes changed, with either parity. */
function changedX(origin: Origin, draw: Draw, to: (x: bigint) => bigint): Shown {
  const words = packed(origin);
  const place = draw.below(4);
  const x = to(words[place]! & ~PARITY) & (LIMIT - 1n);
  const parity = FLAGGED.includes(place) && draw.below(2) === 0 ? PARITY : 0n;
  return byBytes(origin, bytesOf(words.with(place, x | parity)), draw);
}

function changedSignal(origin: Origin, draw: Draw, to: (signal: bigint) => bigint): Shown {
  const at = draw.below(origin.signals.length);
  return bySignals(origin, origin.signals.with(at, to(origin.signals[at]!)), draw);
}

const pointless: Mutation = (origin, draw) => {
  const words = packed(origin);
  const place = draw.oneOf([0, 2, 3]);
  const x = place === 2 ? xOfNothingOnTwist(words[1]! & ~PARITY, draw) : xOfNothing(draw);
  return byBytes(origin, bytesOf(words.with(place, x | (place === 2 ? 0n : words[place]! & PARITY))), draw);
};

const anotherPoint: Mutation = (origin, draw) => {
  const { x, y } = pointOfCurve(draw);
  const at = draw.oneOf([0, 6]);
  return byWords(origin, origin.words.with(at, x).with(at + 1, y), draw);
};

const anotherB: Mutation = (origin, draw) => {
  const { x0, x1, y0, y1 } = pointOfTwist(draw);
  return byWords(origin, [...origin.words.slice(0, 2), x1, x0, y1, y0, ...origin.words.slice(6)], draw);
};

const anothersProof: Mutation = (origin, draw, all) => {
  const others = all.filter((each) => each !== origin);
  const near = others.filter(({ keys, kind }) => keys === origin.keys && kind === origin.kind);
  const { words, signals } = draw.oneOf(near.length === 0 || draw.below(2) === 0 ? others : near);
  if (draw.below(2) === 0) return byWords(origin, words, draw);
  // Or this one's under another's signals, as many as this kind has.
  const fitting = Array.from({ length: signalCount(origin.kind) }, (_, i) => signals[i] ?? 0n);
  return bySignals(origin, fitting, draw);
};

const otherWords: Mutation = (origin, draw, all) => {
  const other = draw.oneOf([draw.oneOf(all).words, NO_WORDS, negatedSome(origin.words, draw)]);
  return claimed(origin, bytesOf(packed(origin)), other);
};

const negatedSome = (words: Words, draw: Draw): Words =>
  withWords(words, someOf(SIGNS, draw).flat(), (y) => (Q - y) % Q);

const otherCount: Mutation = (origin, draw) => {
  const { signals } = origin;
  const fewer = signals.slice(0, draw.below(signals.length));
  const more = [
    ...signals,
    ...Array.from({ length: 1 + draw.below(3) }, () => draw.oneOf([0n, draw.number(R)])),
  ];
  return bySignals(origin, draw.oneOf([fewer, more, signals.slice(1)]), draw);
};

const swappedSignals: Mutation = (origin, draw) => {
  const { signals } = origin;
  const [i, j] = [draw.below(signals.length), draw.below(signals.length)];
  const swapped = signals.with(i, signals[j]!).with(j, signals[i]!);
  return bySignals(origin, draw.oneOf([swapped, signals.with(i, signals[j]!)]), draw);
};

/** Name, how many of all, how. What costs a pairing on both sides is rarer than what does not. */
const MUTATIONS: readonly (readonly [name: string, share: number, mutate: Mutation])[] = [
  ["true", 8, (origin, draw) => byWords(origin, origin.words, draw)],
  ["signs turned", 6, (origin, draw) => byWords(origin, negatedSome(origin.words, draw), draw)],

  [
    "bit of the bytes",
    10,
    (origin, draw) => byBytes(origin, flipped(compressed(origin.words)!, draw.below(1024)), draw),
  ],
  [
    "parity",
    4,
    (origin, draw) => {
      const places = someOf(FLAGGED, draw);
      return byBytes(origin, bytesOf(withWords(packed(origin), places, (x) => x ^ PARITY)), draw);
    },
  ],
  ["x of no point", 12, pointless],
  [
    "x not canonical",
    12,
    (origin, draw) =>
      changedX(origin, draw, (x) =>
        draw.oneOf([x + Q, Q + BigInt(draw.below(1_000)), x | (1n << 254n), PARITY - 1n - x]),
      ),
  ],
  [
    "x at the ends",
    6,
    (origin, draw) =>
      changedX(origin, draw, () =>
        draw.oneOf([0n, 1n, 2n, Q - 1n, Q, Q + 1n, BigInt(draw.below(1_000)), PARITY - 1n]),
      ),
  ],
  [
    "no bytes, infinity",
    3,
    (origin, draw) => {
      const words = withWords(packed(origin), draw.oneOf([[0], [1, 2], [3], [0, 1, 2, 3]]), () =>
        draw.oneOf([0n, PARITY]),
      );
      return byBytes(origin, bytesOf(words), draw);
    },
  ],
  ["random bytes", 5, (origin, draw) => byBytes(origin, draw.bytes(128), draw)],
  ["random x", 3, (origin, draw) => changedX(origin, draw, () => draw.number(Q))],
  ["words of others", 4, otherWords],

  ["another point", 3, anotherPoint],
  ["B outside", 3, anotherB],
  ["B with a part outside", 3, (origin, draw) => byWords(origin, withPartOutside(origin.words, draw), draw)],
  ["another's proof", 4, anothersProof],

  [
    "bit of the words",
    10,
    (origin, draw) => byWords(origin, wordsIn(flipped(bytesOf(origin.words), draw.below(2048))), draw),
  ],
  [
    "coordinate + q",
    8,
    (origin, draw) =>
      byWords(
        origin,
        withWords(origin.words, [draw.below(8)], (word) => word + Q * BigInt(1 + draw.below(4))),
        draw,
      ),
  ],
  [
    "infinity",
    6,
    (origin, draw) =>
      byWords(
        origin,
        withWords(origin.words, draw.oneOf(INFINITIES), () => 0n),
        draw,
      ),
  ],
  [
    "halves and points swapped",
    4,
    (origin, draw) =>
      byWords(
        origin,
        draw.oneOf(SWAPS).map((from) => origin.words[from]!),
        draw,
      ),
  ],
  [
    "random words",
    4,
    (origin, draw) => {
      const end = draw.oneOf([Q, LIMIT]);
      return byWords(
        origin,
        origin.words.map((word) => (draw.below(2) === 0 ? word : draw.number(end))),
        draw,
      );
    },
  ],

  [
    "signal + r",
    12,
    (origin, draw) => changedSignal(origin, draw, (signal) => signal + R * BigInt(1 + draw.below(4))),
  ],
  [
    "signal not canonical",
    6,
    (origin, draw) =>
      changedSignal(origin, draw, () => draw.oneOf([R, R + 1n, LIMIT - 1n, R + draw.number(LIMIT - R)])),
  ],
  [
    "signal's neighbour",
    4,
    (origin, draw) => changedSignal(origin, draw, (signal) => draw.oneOf([signal + 1n, signal + R - 1n]) % R),
  ],
  [
    "random signal",
    3,
    (origin, draw) => changedSignal(origin, draw, () => draw.oneOf([0n, R - 1n, draw.number(R)])),
  ],
  ["signals swapped", 3, swappedSignals],
  ["another number of signals", 8, otherCount],
];

export const NAMES: readonly string[] = MUTATIONS.map(([name]) => name);
const TICKETS = MUTATIONS.flatMap((mutation) => Array.from({ length: mutation[1] }, () => mutation));
