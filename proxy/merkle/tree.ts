/**
 * The commitment tree in memory: each level one packed array of 32-byte nodes, complete nodes only, so
 * appending never changes a kept node and a page is a slice. Only a leaf that becomes void changes those above it. Answers for any prefix of its leaves, because
 * the pool's root covers a prefix of the queue. Believes its leaves; roots are compared by the indexer.
 */
import { mustField, type Field } from "../../shared/protocol/brands.ts";
import { bytesToUint, word } from "../../shared/protocol/bytes.ts";
import { poseidon4 } from "../../shared/protocol/hash.ts";
import { emptyNode, TREE_ARITY, TREE_CAPACITY, TREE_DEPTH } from "../../shared/protocol/tree.ts";
import { yieldToEventLoop } from "../event-loop.ts";
import type { StoredLeaf } from "../store/chain-data.ts";

export const NODE_BYTES = 32;

/** What stands in the tree for a leaf of the queue. */
export function inTree({ commitment, isVoid }: Pick<StoredLeaf, "commitment" | "isVoid">): Field {
  return isVoid ? emptyNode(0) : commitment;
}
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
    let node = leaf;
    for (const [level, row] of this.#levels.entries()) {
      row.push(node);
      if (level === TREE_DEPTH || row.length % TREE_ARITY !== 0) return;
      node = this.#parents.of(this.#complete(level, row.length - TREE_ARITY, row.length));
    }
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
    if (BigInt(leafCount + more.length) >= TREE_CAPACITY) return undefined;
    this.#require(leafCount);
    // All of one moment: the tree may change between two turns.
    const left = this.#levels.slice(0, TREE_DEPTH).map((_, level) => this.#lastComplete(level, leafCount));
    let row: readonly Field[] = more;
    let hashed = 0;
    for (const [level, complete] of left.entries()) {
      const nodes = [...complete, ...row];
      while (nodes.length === 0 || nodes.length % TREE_ARITY !== 0) nodes.push(emptyNode(level));
      const parents: Field[] = [];
      for (let at = 0; at < nodes.length; at += TREE_ARITY) {
        parents.push(this.#parents.of(nodes.slice(at, at + TREE_ARITY)));
        if (++hashed % HASHES_AT_ONCE === 0) await yieldToEventLoop();
      }
      row = parents;
    }
    return row[0]!;
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
      const children = this.#lastComplete(level, leafCount);
      children.push(edges[level]!);
      while (children.length < TREE_ARITY) children.push(emptyNode(level));
      edges.push(this.#parents.of(children));
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
    if ((this.length + 1) * NODE_BYTES > this.#bytes.length) {
      const larger = new Uint8Array(this.#bytes.length * 2);
      larger.set(this.#bytes);
      this.#bytes = larger;
    }
    this.#bytes.set(word(node), this.length * NODE_BYTES);
    this.length += 1;
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
