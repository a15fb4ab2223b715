/**
 * The commitment tree with all its complete nodes, so that it can go back to any earlier count of leaves: after a
 * refutation the pool goes on from an older root. Trusts whoever hands in nodes that were computed before.
 */
import { treePath } from "../../shared/notes/merkle.ts";
import type { Field } from "../../shared/protocol/brands.ts";
import { poseidon4 } from "../../shared/protocol/host/poseidon.ts";
import { emptyNode, TREE_ARITY, TREE_DEPTH } from "../../shared/protocol/tree.ts";

export class LeafTree {
  /** By level, all complete nodes; level 0 are the leaves. */
  readonly #levels: Field[][] = Array.from({ length: TREE_DEPTH }, () => []);

  get leafCount(): number {
    return this.#levels[0]!.length;
  }

  /**
   * @param known the inner nodes that these leaves complete, as an earlier `append` returned them: nothing is hashed
   * then
   * @returns those inner nodes, in the order in which they become complete
   */
  append(leaves: readonly Field[], known: readonly Field[] = []): Field[] {
    const made: Field[] = [];
    for (const leaf of leaves) {
      let node = leaf;
      for (const level of this.#levels) {
        level.push(node);
        if (level.length % TREE_ARITY !== 0) break;
        node = known[made.length] ?? poseidon4(...(level.slice(-TREE_ARITY) as Children));
        made.push(node);
      }
    }
    return made;
  }

  /** Back to the first `leafCount` leaves. */
  truncate(leafCount: number): void {
    this.#levels.forEach((level, height) => {
      level.length = Math.min(level.length, countAt(leafCount, height));
    });
  }

  /** Complete left siblings of the next leaf's ancestors, level 0 first: what `advance` and a refutation show. */
  frontier(leafCount = this.leafCount): Field[] {
    return this.#levels.flatMap((level, height) => rowAt(level, leafCount, height));
  }

  root(leafCount = this.leafCount): Field {
    return this.#levels.reduce((node, level, height) => {
      const children = [...rowAt(level, leafCount, height), node];
      while (children.length < TREE_ARITY) children.push(emptyNode(height));
      return poseidon4(...(children as Children));
    }, emptyNode(0));
  }

  /** Siblings of a leaf's ancestors, in the tree over the first `leafCount` leaves. */
  path(index: number, leafCount = this.leafCount): Field[][] {
    return treePath(index, leafCount, (height, place) => this.#levels[height]![place]!);
  }
}

type Children = [Field, Field, Field, Field];

function countAt(leafCount: number, height: number): number {
  return Math.floor(leafCount / TREE_ARITY ** height);
}

function rowAt(level: readonly Field[], leafCount: number, height: number): Field[] {
  const count = countAt(leafCount, height);
  return level.slice(count - (count % TREE_ARITY), count);
}
