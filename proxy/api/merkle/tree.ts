/**
 * The commitment tree in memory: each level one packed array of 32-byte nodes, complete nodes only, so
 * appending never changes a kept node and a page is a slice. Only a leaf that becomes void changes those above it. Answers for any prefix of its leaves, because
 * the pool's root covers a prefix of the queue. Believes its leaves; roots are compared by the indexer.
 */
import { mustField, type Field } from "../../../shared/protocol/brands.ts";
import { NODE_BYTES, SUBTREE_LEAVES, SUBTREE_LEVELS } from "../../../shared/notes/merkle.ts";
import { bytesToUint, concatBytes, word } from "../../../shared/protocol/bytes.ts";
import { poseidon4 } from "../../../shared/protocol/host/poseidon.ts";
import { emptyNode, TREE_ARITY, TREE_CAPACITY, TREE_DEPTH } from "../../../shared/protocol/tree.ts";
import { yieldToEventLoop } from "../../base/event-loop.ts";
import type { StoredLeaf } from "../../base/store/chain-data.ts";

/** What stands in the tree for a leaf of the queue. */
export function inTree({ commitment, isVoid }: Pick<StoredLeaf, "commitment" | "isVoid">): Field {
  return isVoid ? emptyNode(0) : commitment;
}
/** Of a kept subtree, leaves first. */
const WIDTHS = Array.from(
  { length: SUBTREE_LEVELS + 1 },
  (_, level) => TREE_ARITY ** (SUBTREE_LEVELS - level),
);
const SUBTREE_BYTES = WIDTHS.reduce((sum, width) => sum + width, 0) * NODE_BYTES;

type Children = [Field, Field, Field, Field];
/** Those of some twenty calls: a megabyte. */
const PARENTS_KEPT = 2_048;
/** Two milliseconds. */
const HASHES_AT_ONCE = 8;

export class CommitmentTree {
  /** Level 0 is the leaves. */
  readonly #levels = Array.from({ length: TREE_DEPTH + 1 }, () => new PackedNodes());
  readonly #parents = new RecentParents();

  get leafCount(): number {
    return this.#levels[0]!.length;
  }

  append(leaf: Field): void {
    this.#levels[0]!.push(leaf);
    this.#completeAbove(0);
  }

  /** After a node of `level` came last: its parent where it is the last of four, and so on. */
  #completeAbove(level: number): void {
    for (let below = level; below < TREE_DEPTH; below++) {
      const { length } = this.#levels[below]!;
      if (length % TREE_ARITY !== 0) return;
      this.#levels[below + 1]!.push(this.#parents.of(this.#complete(below, length - TREE_ARITY, length)));
    }
  }

  /** Nodes of the whole subtree over the leaves from `place · SUBTREE_LEAVES` on: its leaves first, its root last. */
  subtree(place: number): Uint8Array {
    this.#require((place + 1) * SUBTREE_LEAVES);
    return concatBytes(
      ...WIDTHS.map((width, level) => this.#levels[level]!.slice(place * width, (place + 1) * width)),
    );
  }

  /** As `append` of each of its leaves, with its own nodes believed; the leaves before it have to fill whole ones. */
  appendSubtree(nodes: Uint8Array): void {
    if (this.leafCount % SUBTREE_LEAVES !== 0 || nodes.length !== SUBTREE_BYTES)
      throw new RangeError("no subtree of this tree's next leaves");
    let at = 0;
    for (const [level, width] of WIDTHS.entries()) {
      this.#levels[level]!.pushAll(nodes.subarray(at, (at += width * NODE_BYTES)));
    }
    this.#completeAbove(SUBTREE_LEVELS);
  }

  /** Another leaf in the place of one that is there. */
  replace(index: number, leaf: Field): void {
    this.#require(index + 1);
    this.#levels[0]!.set(index, leaf);
    for (let level = 1, place = index; level <= TREE_DEPTH; level++) {
      place = Math.floor(place / TREE_ARITY);
      const row = this.#levels[level]!;
      if (place >= row.length) return;
      const first = place * TREE_ARITY;
      row.set(place, this.#parents.of(this.#complete(level - 1, first, first + TREE_ARITY)));
    }
  }

  /** Forgets every leaf from `leafCount` on. */
  truncate(leafCount: number): void {
    let keep = Math.min(leafCount, this.leafCount);
    for (const row of this.#levels) {
      row.length = keep;
      keep = Math.floor(keep / TREE_ARITY);
    }
  }

  /** Root over the first `leafCount` leaves. */
  root(leafCount: number): Field {
    return this.#edges(leafCount)[TREE_DEPTH]!;
  }

  /**
   * Root over the first `leafCount` leaves with `more` behind them, which this tree need not have; undefined when they
   * do not fit (see `Frontier.append`). A few hashes in each turn of the event loop: requests wait while one is made.
   */
  async rootAfter(leafCount: number, more: readonly Field[]): Promise<Field | undefined> {
    return (await this.#after(leafCount, more))?.root;
  }

  /** `frontier` of that tree. */
  async frontierAfter(leafCount: number, more: readonly Field[]): Promise<Field[] | undefined> {
    return (await this.#after(leafCount, more))?.frontier;
  }

  async #after(
    leafCount: number,
    more: readonly Field[],
  ): Promise<{ readonly root: Field; readonly frontier: Field[] } | undefined> {
    if (BigInt(leafCount + more.length) >= TREE_CAPACITY) return undefined;
    this.#require(leafCount);
    // All of one moment: the tree may change between two turns.
    const left = this.#levels.slice(0, TREE_DEPTH).map((_, level) => this.#lastComplete(level, leafCount));
    const frontier: Field[] = [];
    let row: readonly Field[] = more;
    let edge = emptyNode(0);
    let hashed = 0;
    for (const [level, complete] of left.entries()) {
      const nodes = [...complete, ...row];
      const parents: Field[] = [];
      while (nodes.length - parents.length * TREE_ARITY >= TREE_ARITY) {
        const at = parents.length * TREE_ARITY;
        parents.push(this.#parents.of(nodes.slice(at, at + TREE_ARITY)));
        if (++hashed % HASHES_AT_ONCE === 0) await yieldToEventLoop();
      }
      const rest = nodes.slice(parents.length * TREE_ARITY);
      frontier.push(...rest);
      edge = this.#parents.of(withEdge(rest, edge, level));
      row = parents;
    }
    return { root: edge, frontier };
  }

  /** Complete siblings left of the next leaf, level 0 first: what an `attest-root` request carries. */
  frontier(leafCount: number): Field[] {
    this.#require(leafCount);
    return this.#levels.slice(0, TREE_DEPTH).flatMap((_, level) => this.#lastComplete(level, leafCount));
  }

  /** How many nodes a level of the tree over `leafCount` leaves has; what lies right of them is empty. */
  static width(level: number, leafCount: number): number {
    return Math.ceil(leafCount / TREE_ARITY ** level);
  }

  /** Nodes `from` (inclusive) to `to` (exclusive) of a level, packed, in the tree over the first `leafCount` leaves. */
  nodes(level: number, from: number, to: number, leafCount: number): Uint8Array {
    this.#require(leafCount);
    const complete = Math.floor(leafCount / TREE_ARITY ** level);
    const row = this.#levels[level]!;
    if (to <= complete) return row.slice(from, to);
    const page = new Uint8Array((to - from) * NODE_BYTES);
    page.set(row.slice(from, complete));
    page.set(word(this.#edges(leafCount)[level]!), (complete - from) * NODE_BYTES);
    return page;
  }

  /** By level, the node over the first free place: the only ones that are partly filled. */
  #edges(leafCount: number): Field[] {
    this.#require(leafCount);
    const edges: Field[] = [emptyNode(0)];
    for (let level = 0; level < TREE_DEPTH; level++) {
      edges.push(this.#parents.of(withEdge(this.#lastComplete(level, leafCount), edges[level]!, level)));
    }
    return edges;
  }

  /** The complete nodes under a parent that is not complete, of the tree over the first `leafCount` leaves. */
  #lastComplete(level: number, leafCount: number): Field[] {
    const count = Math.floor(leafCount / TREE_ARITY ** level);
    return this.#complete(level, count - (count % TREE_ARITY), count);
  }

  #complete(level: number, from: number, to: number): Field[] {
    return Array.from({ length: to - from }, (_, i) => this.#levels[level]!.at(from + i));
  }

  #require(leafCount: number): void {
    if (leafCount > this.leafCount) throw new RangeError("more leaves than this tree has");
  }
}

/** Children of the node over the first free place: complete ones, the one that is partly filled, and empty ones. */
function withEdge(complete: readonly Field[], edge: Field, level: number): Field[] {
  const children = [...complete, edge];
  while (children.length < TREE_ARITY) children.push(emptyNode(level));
  return children;
}

/**
 * Hashes that were made lately: the sequencer asks for a root over leaves that are to come, and the index meets the same
 * nodes when they have come.
 */
class RecentParents {
  readonly #known = new Map<string, Field>();

  of(children: readonly Field[]): Field {
    const key = children.join();
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const parent = poseidon4(...(children as Children));
    this.#known.set(key, parent);
    for (const oldest of this.#known.keys()) {
      if (this.#known.size <= PARENTS_KEPT) break;
      this.#known.delete(oldest);
    }
    return parent;
  }
}

/** A growing array of nodes in one piece of memory. */
class PackedNodes {
  #bytes = new Uint8Array(64 * NODE_BYTES);
  length = 0;

  push(node: Field): void {
    this.pushAll(word(node));
  }

  pushAll(nodes: Uint8Array): void {
    const needed = this.length * NODE_BYTES + nodes.length;
    if (needed > this.#bytes.length) {
      const larger = new Uint8Array(Math.max(needed, this.#bytes.length * 2));
      larger.set(this.#bytes);
      this.#bytes = larger;
    }
    this.#bytes.set(nodes, this.length * NODE_BYTES);
    this.length += nodes.length / NODE_BYTES;
  }

  set(index: number, node: Field): void {
    this.#bytes.set(word(node), index * NODE_BYTES);
  }

  at(index: number): Field {
    return mustField(bytesToUint(this.slice(index, index + 1)));
  }

  /** A copy: a reorganisation must not change a page that is being sent. */
  slice(from: number, to: number): Uint8Array {
    return this.#bytes.slice(from * NODE_BYTES, to * NODE_BYTES);
  }
}
