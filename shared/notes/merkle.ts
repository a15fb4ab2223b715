/**
 * The commitment tree on the wallet's side: the leaves it was told, in order, and paths for prefixes of them (a root on
 * chain covers a prefix of the queue). It believes nothing about roots: the caller compares `root(leafCount)` with the
 * one the pool named.
 *
 * A wallet needs the paths of its own notes and no others. So a complete subtree of 256 leaves may be folded: of it the one
 * node is kept that every other path needs. A million leaves are then 4,096 nodes, and 8 KiB for each subtree that is not
 * folded.
 */
import { asField, FIELD_ORDER, type Field } from "../protocol/brands.ts";
import { bytesToUint, uintToBytes } from "../protocol/bytes.ts";
import { poseidon4 } from "../protocol/host/poseidon.ts";
import { digitAt, emptyNode, TREE_ARITY, TREE_CAPACITY, TREE_DEPTH } from "../protocol/tree.ts";

type Children = [Field, Field, Field, Field];

/** A node whose leaves are all there. Asked only for nodes left of the edge of the tree in question. */
export type CompleteNodes = (level: number, place: number) => Field;

/**
 * By level, the node at the place where the next leaf's ancestor stands, in the tree of the first `leafCount`
 * leaves: the only nodes that are partly filled. The last is the root.
 */
function treeEdge(leafCount: number, complete: CompleteNodes): Field[] {
  const edge: Field[] = [emptyNode(0)];
  for (let level = 0; level < TREE_DEPTH; level++) {
    const next = Math.floor(leafCount / TREE_ARITY ** level);
    const children: Field[] = [];
    for (let place = next - (next % TREE_ARITY); place < next; place++) children.push(complete(level, place));
    children.push(edge[level]!);
    while (children.length < TREE_ARITY) children.push(emptyNode(level));
    edge.push(poseidon4(...(children as Children)));
  }
  return edge;
}

/** The three siblings at each of the 16 levels, left to right: the circuit's `inPathElements`. */
export function treePath(index: number, leafCount: number, complete: CompleteNodes): Field[][] {
  if (index >= leafCount) throw new RangeError("the leaf is not in this tree");
  const edge = treeEdge(leafCount, complete);
  return Array.from({ length: TREE_DEPTH }, (_, level) => {
    const next = Math.floor(leafCount / TREE_ARITY ** level);
    const own = Math.floor(index / TREE_ARITY ** level);
    const first = own - digitAt(BigInt(index), level);
    return [0, 1, 2, 3]
      .map((place) => first + place)
      .filter((place) => place !== own)
      .map((place) =>
        place < next ? complete(level, place) : place === next ? edge[level]! : emptyNode(level),
      );
  });
}

/** The root that a leaf's path leads to. */
export function climb(leaf: Field, index: number, path: readonly (readonly Field[])[]): Field {
  return path.reduce((node, siblings, level) => {
    const children = [...siblings];
    children.splice(digitAt(BigInt(index), level), 0, node);
    return poseidon4(...(children as Children));
  }, leaf);
}

/** Height of what is folded. */
export const SUBTREE_LEVELS = 4;
export const SUBTREE_LEAVES = TREE_ARITY ** SUBTREE_LEVELS;
export const NODE_BYTES = 32;

/** A tree in bytes: to be stored, or read from elsewhere. A node is 32 bytes, big-endian. */
export interface PackedTree {
  /** Of level 4: one of every complete subtree, in order. */
  readonly nodes: Uint8Array;
  /** All leaves of complete subtrees that are not folded, by the subtree's place. */
  readonly leaves: ReadonlyMap<number, Uint8Array>;
  /** The leaves behind the last complete subtree. */
  readonly rest: Uint8Array;
}

/** Place of the subtree that a leaf is in. */
export function subtreeOf(leafIndex: number): number {
  return Math.floor(leafIndex / SUBTREE_LEAVES);
}

/**
 * Nodes of complete subtrees are made when they are asked for, so a tree of a storage's bytes begins at once; who hands over
 * many of them makes them in steps, with `hashSome`.
 */
export class NoteTree {
  /** Levels 0 to 3 by the subtree's place; a complete one that is not here is folded. */
  readonly #open = new Map<number, NodeRow[]>();
  /** Level 4 and those above it, complete nodes only, so appending never changes a kept node. */
  readonly #rows: NodeRow[] = rowsFor(TREE_DEPTH - SUBTREE_LEVELS);
  #leafCount = 0;
  /** Of each subtree's leaves. */
  readonly #revisions: number[] = [];

  get leafCount(): number {
    return this.#leafCount;
  }

  /** Another number after each change of that subtree's leaves, and never one of another tree. */
  revision(place: number): number | undefined {
    return this.#revisions[place];
  }

  /** Undefined where there is none, and in what is folded. */
  leaf(index: number): Field | undefined {
    return this.#open.get(subtreeOf(index))?.[0]!.at(index % SUBTREE_LEAVES);
  }

  isFolded(leafIndex: number): boolean {
    return leafIndex < this.#leafCount && !this.#open.has(subtreeOf(leafIndex));
  }

  /** Not of what is folded. */
  includes(leaf: Field): boolean {
    return this.indexOf(leaf) !== undefined;
  }

  /** Place of the leaf, looked for from `from` on in all that is not folded. */
  indexOf(leaf: Field, from = 0): number | undefined {
    const wanted = new BigUint64Array(new Uint8Array(uintToBytes(leaf, NODE_BYTES)).buffer);
    for (const place of this.openSubtrees()) {
      const first = place * SUBTREE_LEAVES;
      const found = this.#open.get(place)![0]!.indexOf(wanted, Math.max(0, from - first));
      if (found !== undefined) return first + found;
    }
    return undefined;
  }

  /** Places of what is not folded, ascending; the last one may be incomplete. */
  openSubtrees(): number[] {
    return [...this.#open.keys()].sort((a, b) => a - b);
  }

  append(leaf: Field): void {
    if (BigInt(this.#leafCount) + 1n >= TREE_CAPACITY) throw new RangeError("the tree is full");
    const place = subtreeOf(this.#leafCount);
    if (!this.#open.has(place)) this.#open.set(place, rowsFor(SUBTREE_LEVELS));
    this.#open.get(place)![0]!.push(leaf);
    this.#revisions[place] = nextRevision();
    this.#leafCount += 1;
    if (this.#leafCount % SUBTREE_LEAVES === 0) this.#rows[0]!.push(topOf(this.#open.get(place)!));
  }

  /**
   * Another leaf in the place of one that is there: a leaf whose statement was refuted is empty. Throws RangeError in what is
   * folded.
   */
  replace(index: number, leaf: Field): void {
    this.#require(index + 1);
    const place = subtreeOf(index);
    const rows = this.#open.get(place);
    if (rows === undefined) throw folded();
    this.#revisions[place] = nextRevision();
    rows[0]!.set(index % SUBTREE_LEAVES, leaf);
    remake(rows, index % SUBTREE_LEAVES);
    if (place >= this.#rows[0]!.count) return;
    this.#rows[0]!.set(place, topOf(rows));
    remake(this.#rows, place);
  }

  /**
   * Forgets every leaf from `leafCount` on: their blocks were reorganised out. False, and nothing forgotten, where that is
   * inside of what is folded.
   */
  truncate(leafCount: number): boolean {
    if (leafCount >= this.#leafCount) return true;
    if (!this.knowsRoot(leafCount)) return false;
    const place = subtreeOf(leafCount);
    const rest = leafCount % SUBTREE_LEAVES;
    for (const open of [...this.#open.keys()])
      if (open >= place + (rest > 0 ? 1 : 0)) this.#open.delete(open);
    this.#revisions.length = place;
    if (rest > 0) {
      cut(this.#open.get(place)!, rest);
      this.#revisions.push(nextRevision());
    }
    cut(this.#rows, place);
    this.#leafCount = leafCount;
    return true;
  }

  /** Keeps one node of a complete subtree and forgets what is below it. */
  fold(place: number): void {
    if (place >= this.#rows[0]!.count) throw new RangeError("that subtree is not complete");
    this.#open.delete(place);
  }

  /** False, and nothing changed, unless these are the leaves of that subtree, which may be folded or not. */
  unfold(place: number, leaves: Uint8Array): boolean {
    const rows = rowsFrom(leaves);
    const node = this.#rows[0]!.at(place);
    if (rows?.[0]!.count !== SUBTREE_LEAVES || node === undefined || topOf(rows) !== node) return false;
    this.#open.set(place, rows);
    return true;
  }

  /** Whether `root` can tell of so many leaves: not where they end inside of what is folded. */
  knowsRoot(leafCount: number): boolean {
    return leafCount % SUBTREE_LEAVES === 0
      ? leafCount <= this.#leafCount
      : leafCount <= this.#leafCount && this.#open.has(subtreeOf(leafCount));
  }

  /** Root of the tree of the first `leafCount` leaves. Throws RangeError unless `knowsRoot`. */
  root(leafCount = this.#leafCount): Field {
    this.#require(leafCount);
    return treeEdge(leafCount, this.#complete)[TREE_DEPTH]!;
  }

  /** Of a leaf in the tree of the first `leafCount` leaves. Throws RangeError in what is folded. */
  path(index: number, leafCount: number): Field[][] {
    this.#require(leafCount);
    if (this.isFolded(index)) throw folded();
    return treePath(index, leafCount, this.#complete);
  }

  /** Complete left siblings of the next leaf's path after `leafCount` leaves, level 0 first, left to right. */
  frontier(leafCount: number): Field[] {
    this.#require(leafCount);
    return Array.from({ length: TREE_DEPTH }, (_, level) => {
      const next = Math.floor(leafCount / TREE_ARITY ** level);
      const first = next - (next % TREE_ARITY);
      return Array.from({ length: next - first }, (_, at) => this.#complete(level, first + at));
    }).flat();
  }

  /** A copy of a subtree's leaves; undefined where it is folded or not there. */
  leavesOf(place: number): Uint8Array | undefined {
    return this.#open.get(place)?.[0]!.bytes();
  }

  /** Copies of the nodes of complete subtrees, from one place on to before another. */
  nodes(from: number, to: number): Uint8Array {
    return this.#rows[0]!.bytes(from, to);
  }

  /** A copy of everything. */
  packed(): PackedTree {
    const places = this.#rows[0]!.count;
    const open = this.openSubtrees().filter((place) => place < places);
    return {
      nodes: this.nodes(0, places),
      leaves: new Map(open.map((place) => [place, this.leavesOf(place)!])),
      rest: this.leavesOf(places) ?? new Uint8Array(0),
    };
  }

  /** Whether a complete subtree's leaves give its node; true of what is folded. */
  isRight(place: number): boolean {
    const rows = this.#open.get(place);
    return rows === undefined || topOf(rows) === this.#rows[0]!.at(place);
  }

  /** Makes at most so many nodes above level 4 that are missing. True when none is. */
  hashSome(most: number): boolean {
    let left = most;
    for (let level = 1; level < this.#rows.length; level++) left -= fill(this.#rows, level, left);
    return left > 0;
  }

  /**
   * Undefined unless the lengths fit and every node is a field element. That leaves give their nodes is believed: whoever
   * has them from somebody else asks `isRight` of each place. What root they give is the caller's to compare, as always.
   */
  static from({ nodes, leaves, rest }: PackedTree): NoteTree | undefined {
    const tree = new NoteTree();
    const [above, last] = [rowsFrom(nodes), rowsFrom(rest)];
    if (above === undefined || last === undefined || last[0]!.count >= SUBTREE_LEAVES) return undefined;
    const places = above[0]!.count;
    tree.#rows[0] = above[0]!;
    for (const [place, bytes] of leaves) {
      const rows = rowsFrom(bytes);
      if (rows?.[0]!.count !== SUBTREE_LEAVES || !(place >= 0 && place < places)) return undefined;
      tree.#open.set(place, rows);
    }
    if (last[0]!.count > 0) tree.#open.set(places, last);
    tree.#leafCount = places * SUBTREE_LEAVES + last[0]!.count;
    while (tree.#revisions.length * SUBTREE_LEAVES < tree.#leafCount) tree.#revisions.push(nextRevision());
    return BigInt(tree.#leafCount) < TREE_CAPACITY ? tree : undefined;
  }

  readonly #complete: CompleteNodes = (level, place) => {
    if (level >= SUBTREE_LEVELS) {
      for (let at = 1; at <= level - SUBTREE_LEVELS; at++) fill(this.#rows, at);
      return this.#rows[level - SUBTREE_LEVELS]!.at(place)!;
    }
    const width = TREE_ARITY ** (SUBTREE_LEVELS - level);
    const rows = this.#open.get(Math.floor(place / width));
    if (rows === undefined) throw folded();
    for (let at = 1; at <= level; at++) fill(rows, at);
    return rows[level]!.at(place % width)!;
  };

  #require(leafCount: number): void {
    if (leafCount > this.#leafCount) throw new RangeError("more leaves than this tree has");
    if (!this.knowsRoot(leafCount)) throw folded();
  }
}

let revisions = 0;
const nextRevision = (): number => ++revisions;

function folded(): RangeError {
  return new RangeError("those leaves are folded");
}

function rowsFor(levels: number): NodeRow[] {
  return Array.from({ length: levels }, () => new NodeRow());
}

function rowsFrom(lowest: Uint8Array): NodeRow[] | undefined {
  const row = NodeRow.from(lowest);
  return row && [row, ...rowsFor(SUBTREE_LEVELS - 1)];
}

/** Makes at most `most` nodes of a level that the level below it has all children of. How many it made. */
function fill(rows: readonly NodeRow[], level: number, most = Infinity): number {
  const [below, row] = [rows[level - 1]!, rows[level]!];
  let made = 0;
  for (; made < most && (row.count + 1) * TREE_ARITY <= below.count; made++)
    row.push(parent(below, row.count));
  return made;
}

function parent(below: NodeRow, place: number): Field {
  const first = place * TREE_ARITY;
  return poseidon4(...([0, 1, 2, 3].map((at) => below.at(first + at)!) as Children));
}

/** Of a complete subtree, the node at level 4. */
function topOf(rows: readonly NodeRow[]): Field {
  for (let level = 1; level < SUBTREE_LEVELS; level++) fill(rows, level);
  return parent(rows[SUBTREE_LEVELS - 1]!, 0);
}

/** After a node of the lowest level became another. */
function remake(rows: readonly NodeRow[], place: number): void {
  for (let level = 1; level < rows.length; level++) {
    const at = Math.floor(place / TREE_ARITY ** level);
    if (at >= rows[level]!.count) return;
    rows[level]!.set(at, parent(rows[level - 1]!, at));
  }
}

function cut(rows: readonly NodeRow[], count: number): void {
  for (const [level, row] of rows.entries()) row.cut(Math.floor(count / TREE_ARITY ** level));
}

const FIRST_BYTE_OF_ORDER = Number(FIELD_ORDER >> 248n);
const WORDS_IN_NODE = NODE_BYTES / BigUint64Array.BYTES_PER_ELEMENT;

/** Nodes side by side in one buffer: a number object for each would be three times as much. */
class NodeRow {
  #bytes = new Uint8Array(NODE_BYTES * TREE_ARITY);
  #count = 0;

  /** Undefined unless all are field elements. */
  static from(bytes: Uint8Array): NodeRow | undefined {
    if (bytes.length % NODE_BYTES !== 0) return undefined;
    const row = new NodeRow();
    row.#bytes = new Uint8Array(bytes);
    row.#count = bytes.length / NODE_BYTES;
    for (let place = 0; place < row.#count; place++) if (!row.#isField(place)) return undefined;
    return row;
  }

  get count(): number {
    return this.#count;
  }

  at(place: number): Field | undefined {
    if (place >= this.#count) return undefined;
    return asField(bytesToUint(this.#bytes.subarray(place * NODE_BYTES, (place + 1) * NODE_BYTES)));
  }

  /** Most numbers show by their first byte that they are below the order. */
  #isField(place: number): boolean {
    return this.#bytes[place * NODE_BYTES]! < FIRST_BYTE_OF_ORDER || this.at(place) !== undefined;
  }

  set(place: number, node: Field): void {
    this.#bytes.set(uintToBytes(node, NODE_BYTES), place * NODE_BYTES);
  }

  push(node: Field): void {
    if (this.#count * NODE_BYTES >= this.#bytes.length) {
      const wider = new Uint8Array(Math.max(2 * this.#bytes.length, NODE_BYTES * TREE_ARITY));
      wider.set(this.#bytes);
      this.#bytes = wider;
    }
    this.#count += 1;
    this.set(this.#count - 1, node);
  }

  cut(count: number): void {
    this.#count = Math.min(this.#count, count);
  }

  bytes(from = 0, to = this.#count): Uint8Array {
    return this.#bytes.slice(from * NODE_BYTES, Math.min(to, this.#count) * NODE_BYTES);
  }

  indexOf(wanted: BigUint64Array, from: number): number | undefined {
    const words = new BigUint64Array(this.#bytes.buffer, 0, this.#count * WORDS_IN_NODE);
    // The last word differs where anything does, but for chance.
    const last = WORDS_IN_NODE - 1;
    for (let at = words.indexOf(wanted[last]!, from * WORDS_IN_NODE); at !== -1;) {
      const place = Math.floor(at / WORDS_IN_NODE);
      if (wanted.every((word, i) => words[place * WORDS_IN_NODE + i] === word)) return place;
      at = words.indexOf(wanted[last]!, at + 1);
    }
    return undefined;
  }
}
