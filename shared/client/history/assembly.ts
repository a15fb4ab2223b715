/**
 * A wallet's state out of the chunks of the history, as the stream would have made it. It keeps of each subtree of 256 leaves
 * its node, and the leaves of those that matter: with own notes, with leaves of a block in which this wallet spent, with
 * void leaves, and those that no root covers yet. All leaves that are kept are hashed up to their node, those of some
 * other subtrees too, and the nodes up to the root. So a false commitment or node is found out, and a note that is
 * none cannot be made up; a note can be hidden by another ephemeral key, as it can in the stream.
 */
import type { History } from "../../api/data.ts";
import type { HistoryChunk } from "../../api/history-chunk.ts";
import type { Field } from "../../protocol/brands.ts";
import { toHex, word } from "../../protocol/bytes.ts";
import { completeNote } from "../../notes/measured-note.ts";
import { NODE_BYTES, NoteTree, SUBTREE_LEAVES, subtreeOf } from "../../notes/merkle.ts";
import { noteCommitment, nullifierOf, type Note } from "../../notes/note.ts";
import type { FullViewingKey } from "../../notes/keys.ts";
import { LeafBlocks } from "../state/leaf-blocks.ts";
import type { OwnedNote, Sighting, WalletState } from "../state/state.ts";
import { inconsistent } from "./chunks.ts";
import type { OpenedOutput } from "../prover/scan.ts";

/** Subtrees of strangers that are looked into as well: 85 hashes each. */
const SAMPLES = 8;
/** Between two looks at the clock. */
const HASHES_AT_ONCE = 64;
/** Hex digits of a block's hash in an event's id. */
const PREFIX_DIGITS = 8;

type Mark =
  | { readonly kind: "spent"; readonly nullifier: Field; readonly seen: Sighting }
  | {
      readonly kind: "void";
      readonly first: number;
      readonly count: number;
      readonly nullifiers: readonly Field[];
      readonly seen: Sighting;
    };

/** A chunk with the block of each of its outputs. */
interface Placed {
  readonly chunk: HistoryChunk;
  readonly first: number;
  readonly blocks: readonly number[];
}

export class HistoryAssembly {
  readonly #keys: FullViewingKey;
  readonly #list: History;
  readonly #nodes: Uint8Array;
  /** Block of each subtree's first leaf. */
  readonly #firsts: number[] = [];
  /** What is kept of subtrees that stay open. */
  readonly #leaves = new Map<number, Uint8Array>();
  readonly #inside = new Map<number, readonly number[]>();
  /** The same of those that the newest root does not cover, or not whole. */
  readonly #tail = new Map<number, { readonly leaves: Uint8Array; readonly blocks: readonly number[] }>();
  readonly #voided: ReadonlySet<number>;
  readonly #samples: ReadonlySet<number>;
  readonly #notes = new Map<Field, OwnedNote>();
  /** Subtrees with own notes. */
  readonly #own = new Set<number>();
  /** The last 32 bits of own nullifiers: most others are told apart by them. */
  readonly #lows = new Set<number>();
  readonly #marks: Mark[] = [];
  /** Of the blocks in which this wallet spent, those that may go on. */
  #spentIn = new Set<number>();
  #last: Placed | undefined;

  constructor(keys: FullViewingKey, list: History) {
    this.#keys = keys;
    this.#list = list;
    this.#nodes = new Uint8Array((list.outputs / SUBTREE_LEAVES) * NODE_BYTES);
    this.#voided = new Set(
      list.voids.flatMap(({ first_leaf_index: first, count }) => [
        subtreeOf(first),
        subtreeOf(first + count - 1),
      ]),
    );
    this.#samples = drawn(SAMPLES, list.outputs / SUBTREE_LEAVES);
  }

  /** The next chunk, with what of it the wallet's key has opened. Throws HISTORY_INCONSISTENT. */
  take(chunk: HistoryChunk, opened: readonly OpenedOutput[]): void {
    try {
      const first = this.#firsts.length * SUBTREE_LEAVES;
      const placed = { chunk, first, blocks: blocksOf(chunk) };
      if (placed.blocks.at(-1) !== chunk.end.block) throw inconsistent("a chunk ends in another block");
      this.#nodes.set(chunk.nodes, (first / SUBTREE_LEAVES) * NODE_BYTES);
      for (let at = 0; at < chunk.outputs; at += SUBTREE_LEAVES) this.#firsts.push(placed.blocks[at]!);
      this.#takeNotes(placed, opened);
      this.#takeMarks(placed);
      this.#keepLeaves(placed);
      this.#last = placed;
    } catch (error) {
      throw error instanceof RangeError
        ? inconsistent("a number is not below the field order", error)
        : error;
    }
  }

  /** Fills an empty state after the last chunk. `pause` is awaited between two pieces of the work. Throws HISTORY_INCONSISTENT. */
  async finish(state: WalletState, pause: () => Promise<void>): Promise<WalletState> {
    const last = this.#last?.chunk;
    if (last?.number !== this.#list.chunks.length - 1) throw inconsistent("chunks are missing");
    const { block, blockHash, logIndex, part } = last.end;
    const lastEventId = `${block}-${blockHash.slice(2, 2 + PREFIX_DIGITS)}-${logIndex}.${part}`;
    if (lastEventId !== this.#list.last_event_id) throw inconsistent("its list names another event");

    state.tree = await this.#tree(pause);
    const blocks = LeafBlocks.from(this.#firsts, this.#inside, state.tree.leafCount);
    if (blocks === undefined) throw inconsistent("blocks do not ascend");
    state.blocks = blocks;
    for (const note of this.#notes.values()) state.addNote(note);
    for (const mark of this.#marks) applyMark(state, mark);
    while (!state.tree.hashSome(HASHES_AT_ONCE)) await pause();
    const { root } = last;
    if (root !== undefined) {
      if (!state.tree.knowsRoot(root.leafCount) || state.tree.root(root.leafCount) !== root.root)
        throw inconsistent("the leaves do not give the pool's root");
      state.addRoot(root);
    }
    // No rollback goes behind it.
    state.rootsDropped = true;
    state.lastEventId = lastEventId;
    return state;
  }

  async #tree(pause: () => Promise<void>): Promise<NoteTree> {
    for (const [place, { leaves, blocks }] of this.#tail) {
      this.#leaves.set(place, leaves);
      this.#inside.set(place, blocks);
    }
    const parts = { nodes: this.#nodes, leaves: this.#leaves, rest: new Uint8Array(0) };
    const tree = NoteTree.from(parts);
    if (tree === undefined) throw inconsistent("a number is not below the field order");
    for (const place of this.#leaves.keys()) {
      if (!tree.isRight(place)) throw inconsistent("leaves do not give their node");
      if (!this.#inside.has(place)) tree.fold(place);
      await pause();
    }
    return tree;
  }

  #takeNotes({ chunk, first, blocks }: Placed, opened: readonly OpenedOutput[]): void {
    if (opened.length === 0) return;
    const openings = new Map(chunk.openings().map((opening) => [opening.output, opening]));
    const runs = runsOf(chunk);
    for (const { place, note: claimed } of opened) {
      const commitment = chunk.commitment(place);
      const opening = openings.get(place);
      const note =
        opening === undefined
          ? noteCommitment(this.#keys.owner, claimed) === commitment && claimed
          : completeNote(this.#keys.owner, claimed.blinding, opening, commitment);
      if (note === false || note === undefined || note.value === 0n) continue;
      this.#addNote(note, commitment, {
        place,
        leafIndex: first + place,
        block: blocks[place]!,
        chunk,
        runs,
      });
    }
  }

  #addNote(
    note: Note,
    commitment: Field,
    at: {
      readonly place: number;
      readonly leafIndex: number;
      readonly block: number;
      readonly chunk: HistoryChunk;
      readonly runs: readonly number[];
    },
  ): void {
    const { place, leafIndex, block, chunk, runs } = at;
    const run = chunk.run(runs.findLastIndex((first) => first <= place));
    const inRun = place - runs.findLast((first) => first <= place)!;
    const nullifier = nullifierOf(this.#keys.nullifierKey, commitment, leafIndex);
    this.#lows.add(lowOf(nullifier));
    this.#own.add(subtreeOf(leafIndex));
    this.#notes.set(nullifier, {
      ...note,
      ...{ leafIndex, commitment, nullifier, source: run.source },
      sealed: { ephemeralKey: toHex(run.ephemeralKey), output: run.output + inRun },
      ...{ block, txHash: chunk.transaction(run.transaction).hash },
    });
  }

  /** Nullifiers of own notes and refutations, in the order of the log. */
  #takeMarks({ chunk, first }: Placed): void {
    let next = 0;
    const spentUpTo = (end: number): void => {
      for (; next < end; next++) {
        if (!this.#lows.has(chunk.nullifierLow(next))) continue;
        const { nullifier, transaction } = chunk.nullifier(next);
        if (!this.#notes.has(nullifier)) continue;
        const seen = sighting(chunk, transaction);
        this.#spentIn.add(seen.block);
        this.#marks.push({ kind: "spent", nullifier, seen });
      }
    };
    for (const { before, firstLeafIndex, leafCount: count, nullifiers, transaction } of chunk.voids()) {
      spentUpTo(before);
      const end = firstLeafIndex + count;
      if (end > first + chunk.outputs) throw inconsistent("leaves are void that never came");
      if (![firstLeafIndex, end - 1].every((leaf) => this.#voided.has(subtreeOf(leaf))))
        throw inconsistent("its list leaves out a refutation");
      const seen = sighting(chunk, transaction);
      this.#marks.push({ kind: "void", first: firstLeafIndex, count, nullifiers, seen });
    }
    spentUpTo(chunk.nullifierCount);
  }

  #keepLeaves(placed: Placed): void {
    const { chunk, first, blocks } = placed;
    const rooted = chunk.root?.leafCount ?? 0;
    if (rooted > first + chunk.outputs) throw inconsistent("a root covers leaves that never came");
    for (const place of [...this.#tail.keys()]) if (place < subtreeOf(rooted)) this.#tail.delete(place);
    for (const one of this.#last === undefined ? [placed] : [this.#last, placed]) {
      for (let at = 0; at < one.chunk.outputs; at += SUBTREE_LEAVES) {
        const place = subtreeOf(one.first + at);
        const inside = one.blocks.slice(at, at + SUBTREE_LEAVES);
        const isOwn = this.#own.has(place) || inside.some((block) => this.#spentIn.has(block));
        const isWanted = isOwn || this.#voided.has(place);
        const leaves = (): Uint8Array =>
          one.chunk.commitments.slice(at * NODE_BYTES, (at + SUBTREE_LEAVES) * NODE_BYTES);
        if (isWanted) {
          this.#leaves.set(place, leaves());
          this.#inside.set(place, inside);
        } else if (one !== placed) continue;
        else if (place >= subtreeOf(rooted)) this.#tail.set(place, { leaves: leaves(), blocks: inside });
        else if (this.#samples.has(place)) this.#leaves.set(place, leaves());
      }
    }
    // A block may go on in the next chunk, and not in the one after it.
    this.#spentIn = new Set([...this.#spentIn].filter((block) => block >= blocks.at(-1)!));
  }
}

function applyMark(state: WalletState, mark: Mark): void {
  if (mark.kind === "void") {
    state.voidStatement(mark.first, mark.count, mark.nullifiers, mark.seen);
    return;
  }
  const note = state.noteOf(mark.nullifier);
  if (note === undefined || note.spent !== undefined) return;
  state.notes.set(note.leafIndex, { ...note, spent: mark.seen });
}

function sighting(chunk: HistoryChunk, transaction: number): Sighting {
  const { block, hash } = chunk.transaction(transaction);
  return { block, txHash: hash };
}

function blocksOf(chunk: HistoryChunk): number[] {
  const blocks: number[] = [];
  for (let place = 0; place < chunk.runCount; place++) {
    const { transaction, count } = chunk.run(place);
    const { block } = chunk.transaction(transaction);
    for (let i = 0; i < count; i++) blocks.push(block);
  }
  return blocks;
}

/** Place of each run's first output within the chunk. */
function runsOf(chunk: HistoryChunk): number[] {
  let next = 0;
  return Array.from({ length: chunk.runCount }, (_, place) => {
    const first = next;
    next += chunk.run(place).count;
    return first;
  });
}

function lowOf(nullifier: Field): number {
  return new DataView(word(nullifier).buffer).getUint32(28);
}

/** So many places below `below`, of which nobody knows beforehand. */
function drawn(count: number, below: number): Set<number> {
  const numbers = crypto.getRandomValues(new Uint32Array(count));
  return new Set([...numbers].map((number) => number % below));
}
