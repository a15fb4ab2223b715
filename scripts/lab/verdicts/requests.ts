/**
 * Whole requests, as the bytes of a frame: statements of every kind whose proofs hold, root updates, and what is nearly one.
 * Under the keys whose trapdoor is public a changed statement is proved again, so that its rules alone decide. Two faults at
 * once show which of them is named.
 */
import {
  bytesToUint,
  concatBytes,
  toAddress,
  toBytes32,
  uintToBytes,
} from "../../../shared/protocol/bytes.ts";
import { FIELD_ORDER, type Field } from "../../../shared/protocol/brands.ts";
import { encodeRequest } from "../../../shared/protocol/host/enclave-host.ts";
import { contextOf, KIND_NAMES, KINDS, signalCount, type Kind } from "../../../shared/protocol/statements.ts";
import { emptyNode, TREE_CAPACITY, TREE_DEPTH } from "../../../shared/protocol/tree.ts";
import { openSimulator, type Simulator } from "../bench/trapdoor/simulator.ts";
import { Draw } from "./draw.ts";
import { caseAt } from "./mutations.ts";
import { readStory, vanishing, type KeySet, type Origin, type Origins } from "./origins.ts";
import { bytesOf, madeAgain, wordsOfProof, type Words } from "./points.ts";

export interface RequestCase {
  readonly name: string;
  readonly keys: KeySet;
  /** Request id, type and body: a frame without version and length. */
  readonly payload: Uint8Array;
}

/** A statement's request before it is bytes. */
interface Draft extends Origin {
  readonly kindId: number;
  readonly chainId: bigint;
  readonly pool: Uint8Array;
  readonly deadline: bigint;
  readonly ext: Uint8Array;
}

const R = FIELD_ORDER;
const BLOCK = 256;
/** Of each kind in each block, under the keys whose trapdoor is public; beside them stand the story's. */
const DRAWN = 3;
const REQUEST_ID = 7;
/** Lengths of the numbers at ext's front; behind them ephemeral key and ciphertexts, which nobody reads. */
const EXT_FIELDS: Readonly<Record<Kind, readonly number[]>> = {
  "deposit-shield": [20, 8, 8],
  spend: [20],
  spend9: [20],
  "private-swap": [20, 16, 32, 3, 20, 3],
};
const TIERS = [100n, 500n, 3_000n, 10_000n];
const HEADER_BYTES = 9;

export interface Requests {
  at(index: number): RequestCase;
}

export async function openRequests({ seed, keys }: Pick<Origins, "seed" | "keys">): Promise<Requests> {
  let from = new Draw("");
  const simulator = await openSimulator(undefined, () => from.scalar());
  const story = readStory();
  let drawn: { readonly number: number; readonly drafts: readonly Draft[] } | undefined;
  const blockOf = (number: number): readonly Draft[] => {
    if (drawn?.number === number) return drawn.drafts;
    from = new Draw(`${String(seed)} statements ${String(number)}`);
    const told = story.map((step): Draft => {
      const words = madeAgain(step.words, keys.committed[step.kind].delta, from);
      return { ...step, keys: "committed", kindId: KINDS[step.kind].id, words };
    });
    const made = KIND_NAMES.flatMap((kind) =>
      Array.from({ length: DRAWN }, () => proved(drawStatement(kind, from), simulator)),
    );
    drawn = { number, drafts: [...told, ...made] };
    return drawn.drafts;
  };

  return {
    at(index) {
      const block = blockOf(Math.floor(index / BLOCK));
      const draw = new Draw(`${String(seed)} request ${String(index)}`);
      from = draw;
      if (draw.below(6) === 0)
        return bent({ name: "root update", keys: "committed", payload: drawRoot(draw) }, draw);
      const { name, draft } = drawDraft(block, seed, index, draw, simulator);
      return bent({ name, keys: draft.keys, payload: encoded(draft) }, draw);
    },
  };
}

// ---------------------------------------------------------------- statements

function drawStatement(kind: Kind, draw: Draw): Draft {
  const isPaid = kind === "deposit-shield" || kind === "private-swap" || draw.below(2) === 0;
  const [asset, amount] = isPaid ? [draw.number(1n << 160n), 1n + draw.number((1n << 128n) - 1n)] : [0n, 0n];
  const signals = Array.from({ length: signalCount(kind) }, () => draw.number(R));
  const at = assetPlace(kind);
  const base: Draft = {
    ...{ keys: "simulated", kind, kindId: KINDS[kind].id, words: [] },
    ...{ chainId: draw.number(1n << 64n), pool: draw.bytes(20), deadline: draw.number(1n << 64n) },
    signals: signals.with(at, asset).with(at + 1, amount),
    ext: concatBytes(...drawExtFields(kind, isPaid, draw), draw.bytes(tailBytes(kind))),
  };
  return bound(base);
}

/** Behind context, and behind the root where there is one. */
const assetPlace = (kind: Kind): number => (kind === "deposit-shield" ? 1 : 2);
const tailBytes = (kind: Kind): number => 32 + 53 * (kind === "deposit-shield" ? 3 : 4);

function drawExtFields(kind: Kind, isPaid: boolean, draw: Draw): Uint8Array[] {
  const account = (): bigint => 1n + draw.number((1n << 160n) - 1n);
  const numbers = (): bigint[] => {
    if (kind === "spend" || kind === "spend9") return [isPaid ? account() : 0n];
    if (kind === "deposit-shield")
      return [account(), draw.number(1n << 63n), (1n << 63n) + draw.number(1n << 63n)];
    const hops = draw.below(2) === 0 ? [0n, 0n] : [account(), draw.oneOf(TIERS)];
    return [account(), 1n + draw.number((1n << 128n) - 1n), draw.number(R), draw.oneOf(TIERS), ...hops];
  };
  return numbers().map((number, i) => uintToBytes(number, EXT_FIELDS[kind][i]!));
}

/** With the context that its terms have. */
function bound(draft: Draft): Draft {
  const { chainId, kind, deadline, ext, signals } = draft;
  const home = { chainId, pool: toAddress(draft.pool) };
  return { ...draft, signals: signals.with(0, contextOf(home, kind, deadline, ext)) };
}

/** Proved again, where it can be: a committed key's statement keeps the proof that it has. */
function proved(draft: Draft, simulator: Simulator): Draft {
  const { keys, kind, signals } = draft;
  const canBe =
    keys === "simulated" && signals.length === signalCount(kind) && signals.every((signal) => signal < R);
  return canBe ? { ...draft, words: wordsOfProof(simulator.prove(kind, signals as Field[])) } : draft;
}

const encoded = ({ chainId, pool, kindId, deadline, words, signals, ext }: Draft): Uint8Array =>
  encodeRequest(REQUEST_ID, {
    ...{
      type: "attest",
      chainId,
      pool: toAddress(pool),
      kindId,
      deadline,
      proof: bytesOf(words),
      signals,
      ext,
    },
  }).slice(HEADER_BYTES - 4);

// ---------------------------------------------------------------- what is changed in them

type Change = (draft: Draft, draw: Draw) => Draft;

/** An edge of a number of so many bytes, or another number that matters beside it. */
function edge(bytes: number, draft: Draft, draw: Draw): bigint {
  const limit = 1n << BigInt(8 * bytes);
  const asset = draft.signals[assetPlace(draft.kind)] ?? 0n;
  const token = bytesToUint(draft.ext.slice(0, 20));
  const near = [0n, 1n, limit - 1n, asset, token, R, R - 1n, ...TIERS, 101n, draw.number(limit)];
  return draw.oneOf(near.filter((number) => number < limit));
}

const changedField: Change = (draft, draw) => {
  const lengths = EXT_FIELDS[draft.kind];
  const at = draw.below(lengths.length);
  const start = lengths.slice(0, at).reduce((sum, length) => sum + length, 0);
  const ext = new Uint8Array(draft.ext);
  if (start + lengths[at]! > ext.length) return draft;
  ext.set(uintToBytes(edge(lengths[at]!, draft, draw), lengths[at]!), start);
  return { ...draft, ext };
};

const changedAmounts: Change = (draft, draw) => {
  const place = assetPlace(draft.kind) + draw.below(2);
  const values = [0n, 1n, (1n << 128n) - 1n, 1n << 128n, (1n << 160n) - 1n, 1n << 160n, R - 1n];
  return draft.signals.length > place
    ? { ...draft, signals: draft.signals.with(place, draw.oneOf(values)) }
    : draft;
};

const copiedSignal: Change = (draft, draw) => {
  const [to, from] = [draw.below(draft.signals.length || 1), draw.below(draft.signals.length || 1)];
  return draft.signals.length > 0
    ? { ...draft, signals: draft.signals.with(to, draft.signals[from]!) }
    : draft;
};

const changedExtLength: Change = (draft, draw) => {
  const { ext } = draft;
  const changed = draw.oneOf([
    ext.slice(0, -1),
    concatBytes(ext, draw.bytes(1)),
    new Uint8Array(0),
    draw.bytes(227),
    draw.bytes(264),
    draw.bytes(338),
  ]);
  return { ...draft, ext: changed };
};

const changedHome: Change = (draft, draw) =>
  draw.oneOf([
    { ...draft, chainId: draw.number(1n << 64n) },
    { ...draft, pool: draw.bytes(20) },
    { ...draft, deadline: draw.number(1n << 64n) },
    { ...draft, ext: draft.ext.map((byte, i) => (i === 5 ? byte ^ 1 : byte)) },
  ]);

const otherKind: Change = (draft, draw) => ({
  ...draft,
  kindId: draw.oneOf([0, 1, 2, 3, 4, 5, 6, 128, 255]),
});

/** A last commitment with which X = IC[0] + Σ signals[i]·IC[i + 1] is infinity. */
const vanishingSum: Change = (draft, draw) => {
  const { kind, signals, keys } = bound(draft);
  if (keys !== "simulated" || signals.length !== signalCount(kind)) return copiedSignal(draft, draw);
  return { ...draft, signals: signals.with(-1, vanishing(kind, signals, signals.length - 1)) };
};

/** Name, how many of all, how, and whether the context follows. */
const CHANGES: readonly (readonly [name: string, share: number, change: Change, isBound: boolean])[] = [
  ["statement as it was", 3, (draft) => draft, true],
  ["a term of ext", 8, changedField, true],
  ["a term, context unbound", 2, changedField, false],
  ["asset or amount", 5, changedAmounts, true],
  ["a signal twice", 4, copiedSignal, true],
  ["signals of no sum", 2, vanishingSum, true],
  ["length of ext", 3, changedExtLength, true],
  ["chain, pool, deadline", 3, changedHome, false],
  ["another kind", 3, otherKind, false],
];
const TICKETS = CHANGES.flatMap((change) => Array.from({ length: change[1] }, () => change));

function drawDraft(
  block: readonly Draft[],
  seed: number,
  index: number,
  draw: Draw,
  simulator: Simulator,
): { readonly name: string; readonly draft: Draft } {
  // Proofs and signals, as enclave and chain are compared by; the rest of the statement stays.
  if (draw.below(3) === 0) {
    const { name, ...changed } = caseAt({ seed, block: () => block }, index);
    return { name, draft: changed as unknown as Draft };
  }
  let draft = draw.oneOf(block);
  let names = "";
  for (let count = draw.below(4) === 0 ? 2 : 1; count > 0; count--) {
    const [name, , change, isBound] = draw.oneOf(TICKETS);
    draft = change(draft, draw);
    if (isBound && draft.signals.length > 0) draft = bound(draft);
    names = names === "" ? name : "two changes";
  }
  // Sometimes the proof is that of the statement before.
  draft = draw.below(8) === 0 ? draft : proved(draft, simulator);
  if (draw.below(8) === 0) {
    const broken: Words = draw.oneOf([
      draft.words.map(() => 0n),
      draft.words.with(0, (1n << 256n) - 1n),
      draft.words.with(6, 0n).with(7, 0n),
      draft.words.with(1, draft.words[1]! ^ 1n),
    ]);
    return { name: "a change and a broken proof", draft: { ...draft, words: broken } };
  }
  return { name: names, draft };
}

// ---------------------------------------------------------------- root updates

function drawRoot(draw: Draw): Uint8Array {
  const level = BigInt(draw.below(TREE_DEPTH + 1));
  const fromIndex = draw.oneOf([
    ...Array<bigint>(8).fill(draw.number(4n ** level)),
    ...[
      0n,
      TREE_CAPACITY - 2n,
      TREE_CAPACITY - 1n,
      TREE_CAPACITY,
      TREE_CAPACITY + 5n,
      draw.number(1n << 64n),
    ],
  ]);
  const digits = Array.from({ length: TREE_DEPTH }, (_, at) => Number((fromIndex >> BigInt(2 * at)) & 3n));
  const node = (at: number): bigint => draw.oneOf([draw.number(R), draw.number(R), emptyNode(at), 0n]);
  let frontier = digits.flatMap((digit, at) => Array.from({ length: digit }, () => node(at)));
  const count = draw.oneOf([1, 1, 1, 2, 3, 5, 8, draw.below(4) === 0 ? 256 : 4, draw.oneOf([0, 257])]);
  let leaves: bigint[] = Array.from({ length: count }, () => draw.number(R));
  const spoilt = (numbers: readonly bigint[], value: bigint): bigint[] =>
    numbers.length === 0 ? [value] : numbers.with(draw.below(numbers.length), value);
  if (draw.below(5) === 0)
    frontier = draw.oneOf([
      frontier.slice(1),
      [...frontier, 1n],
      spoilt(frontier, R),
      spoilt(frontier, R + 1n),
    ]);
  if (draw.below(4) === 0) leaves = spoilt(leaves, draw.oneOf([0n, R, R + 7n, (1n << 256n) - 1n]));
  return encodeRequest(REQUEST_ID, {
    ...{ type: "attest-root", chainId: draw.number(1n << 64n), pool: toAddress(draw.bytes(20)) },
    ...{ fromIndex, headBefore: toBytes32(draw.bytes(32)), frontier: frontier.slice(0, 255), leaves },
  }).slice(HEADER_BYTES - 4);
}

// ---------------------------------------------------------------- bytes

/** One in eight has its bytes changed behind its request id: a bit, its end, its type. */
function bent(one: RequestCase, draw: Draw): RequestCase {
  if (draw.below(8) !== 0) return one;
  const { payload } = one;
  const at = 4 + draw.below(payload.length - 4);
  const changed = draw.oneOf([
    payload.map((byte, i) => (i === at ? byte ^ (1 << draw.below(8)) : byte)),
    payload.map((byte, i) => (i === at ? byte ^ (1 << draw.below(8)) : byte)),
    payload.slice(0, at),
    concatBytes(payload, draw.bytes(1 + draw.below(64))),
    payload.with(4, draw.oneOf([6, 7])),
  ]);
  return { ...one, name: "bytes changed", payload: changed };
}
