/**
 * The commitment tree on the wallet's side: all leaves it was told, in order, and paths for any prefix of
 * them (a root on chain covers a prefix of the queue). It believes nothing about roots: the caller
 * compares `root(leafCount)` with the one the pool named.
 */
import type { Field } from "../protocol/brands.ts";
import { poseidon4 } from "../protocol/hash.ts";
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

export class NoteTree {
  /** Level 0 is the leaves; above it, roots of *complete* subtrees only, so appending never changes a kept node. */
  readonly #levels: Field[][] = Array.from({ length: TREE_DEPTH }, () => []);

  get leafCount(): number {
    return this.#levels[0]!.length;
  }

  leaf(index: number): Field | undefined {
    return this.#levels[0]![index];
  }

  includes(leaf: Field): boolean {
    return this.#levels[0]!.lastIndexOf(leaf) !== -1;
  }

  /** Place of the leaf, looked for from `from` on. */
  indexOf(leaf: Field, from = 0): number | undefined {
    const index = this.#levels[0]!.indexOf(leaf, from);
    return index === -1 ? undefined : index;
  }

  append(leaf: Field): void {
    if (BigInt(this.leafCount) + 1n >= TREE_CAPACITY) throw new RangeError("the tree is full");
    let node = leaf;
    for (const row of this.#levels) {
      row.push(node);
      if (row.length % TREE_ARITY !== 0) return;
      node = poseidon4(...(row.slice(-TREE_ARITY) as Children));
    }
  }

  /** Another leaf in the place of one that is there: a leaf whose statement was refuted is empty. */
  replace(index: number, leaf: Field): void {
    this.#require(index + 1);
    this.#levels[0]![index] = leaf;
    for (let level = 1, place = index; level < TREE_DEPTH; level++) {
      place = Math.floor(place / TREE_ARITY);
      const row = this.#levels[level]!;
      if (place >= row.length) return;
      const first = place * TREE_ARITY;
      row[place] = poseidon4(...(this.#levels[level - 1]!.slice(first, first + TREE_ARITY) as Children));
    }
  }

  /** Forgets every leaf from `leafCount` on: their blocks were reorganised out. */
  truncate(leafCount: number): void {
    let keep = Math.min(leafCount, this.leafCount);
    for (const row of this.#levels) {
      row.length = keep;
      keep = Math.floor(keep / TREE_ARITY);
    }
  }

  /** Root of the tree of the first `leafCount` leaves. */
  root(leafCount = this.leafCount): Field {
    this.#require(leafCount);
    return treeEdge(leafCount, this.#complete)[TREE_DEPTH]!;
  }

  /** Of a leaf in the tree of the first `leafCount` leaves. */
  path(index: number, leafCount: number): Field[][] {
    this.#require(leafCount);
    return treePath(index, leafCount, this.#complete);
  }

  /** For storing: complete nodes of every level. */
  levels(): readonly (readonly Field[])[] {
    return this.#levels;
  }

  /** Undefined unless the rows have the lengths that belong to one leaf count. The nodes' values are believed. */
  static from(levels: readonly (readonly Field[])[]): NoteTree | undefined {
    const tree = new NoteTree();
    let expected = levels[0]?.length ?? 0;
    if (levels.length !== TREE_DEPTH) return undefined;
    for (const [level, row] of levels.entries()) {
      if (row.length !== expected) return undefined;
      for (const node of row) tree.#levels[level]!.push(node);
      expected = Math.floor(expected / TREE_ARITY);
    }
    return tree;
  }

  readonly #complete: CompleteNodes = (level, place) => this.#levels[level]![place]!;

  #require(leafCount: number): void {
    if (leafCount > this.leafCount) throw new RangeError("more leaves than this tree has");
  }
}
