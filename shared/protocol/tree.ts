/**
 * The commitment tree without its storage: quaternary, depth 16, Poseidon(4), empty leaf 0. A frontier
 * (the complete left siblings of the next free leaf) is enough to append and to know the root, so the
 * enclave can check a root update without keeping a tree.
 */
import type { Bytes32, Field } from "./brands.ts";
import { hashWords, poseidon } from "./hash.ts";

export const TREE_DEPTH = 16;
export const TREE_ARITY = 4;
export const TREE_CAPACITY = 4n ** BigInt(TREE_DEPTH);
/** Most leaves that one attested root update covers. */
export const MAX_UPDATE_LEAVES = 256;

/** `EMPTY_NODES[l]` is the root of an empty subtree of height l. */
export function emptyNode(level: number): Field {
  while (emptyNodes.length <= level) {
    const below = emptyNodes[emptyNodes.length - 1] as Field;
    emptyNodes.push(poseidon([below, below, below, below]));
  }
  return emptyNodes[level] as Field;
}
const emptyNodes: Field[] = [0n as Field];

/** Position of a leaf's ancestor among its siblings at a level: base-4 digit of the index. */
export function digitAt(index: bigint, level: number): number {
  return Number((index >> BigInt(2 * level)) & 3n);
}

/** The next head of the queue of commitments: `keccak256(abi.encodePacked(bytes32 head, uint256 commitment))`. The first head is zero. */
export function nextHead(head: Bytes32, commitment: bigint): Bytes32 {
  return hashWords(head, commitment);
}

/**
 * Append-only. `siblings[l]` holds the `digitAt(leafCount, l)` complete nodes left of the next leaf's
 * ancestor at level l.
 */
export class Frontier {
  #leafCount: bigint;
  readonly #siblings: Field[][];

  private constructor(leafCount: bigint, siblings: Field[][]) {
    this.#leafCount = leafCount;
    this.#siblings = siblings;
  }

  /**
   * From the flat list of `nodes()`; undefined when the count does not fit the index or the tree is full. A node may be
   * empty: four void leaves side by side are. So an index that is too great can look like the same tree; whoever
   * uses the root also has to know the index.
   */
  static from(leafCount: bigint, nodes: readonly Field[]): Frontier | undefined {
    if (leafCount < 0n || leafCount >= TREE_CAPACITY) return undefined;
    let at = 0;
    const siblings = Array.from({ length: TREE_DEPTH }, (_, level) =>
      nodes.slice(at, (at += digitAt(leafCount, level))),
    );
    return at === nodes.length ? new Frontier(leafCount, siblings) : undefined;
  }

  get leafCount(): bigint {
    return this.#leafCount;
  }

  /** Level 0 first, left to right: what an `attest-root` request carries. */
  nodes(): Field[] {
    return this.#siblings.flat();
  }

  /** False, and nothing changed, when the tree is full: the last place stays empty so that an index always has its frontier. */
  append(leaf: Field): boolean {
    if (this.#leafCount + 1n >= TREE_CAPACITY) return false;
    this.#leafCount += 1n;
    let node = leaf;
    for (const row of this.#siblings) {
      row.push(node);
      if (row.length < TREE_ARITY) return true;
      node = poseidon(row.splice(0));
    }
    return true;
  }

  root(): Field {
    let node = emptyNode(0);
    this.#siblings.forEach((row, level) => {
      const children = [...row, node];
      while (children.length < TREE_ARITY) children.push(emptyNode(level));
      node = poseidon(children);
    });
    return node;
  }
}
