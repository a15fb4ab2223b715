/** The pool's tree as clients prove against it: the newest root and the nodes below it. Serves nothing that the chain did not say. */
import type { Field } from "../../shared/protocol/brands.ts";
import { TREE_ARITY, TREE_DEPTH } from "../../shared/protocol/tree.ts";
import { ApiError } from "../http/errors.ts";
import type { ChainDataStore, IndexedBlock, StoredRoot } from "../store/chain-data.ts";
import type { Indexer } from "./indexer.ts";
import { CommitmentTree } from "./tree.ts";

export interface RootView {
  readonly root: Field;
  readonly leafCount: number;
  readonly depth: number;
  readonly arity: number;
  readonly block: IndexedBlock;
  /** Leaves of the queue that no root covers yet. */
  readonly pending: number;
}

export interface TreePage {
  readonly root: Field;
  readonly leafCount: number;
  readonly level: number;
  readonly from: number;
  /** 32 bytes each. */
  readonly nodes: Uint8Array;
  readonly next: number | undefined;
  /** Nothing that can still happen changes these nodes. */
  readonly isImmutable: boolean;
}

export interface Merkle {
  root(): RootView;
  page(level: number, from: number, limit: number): TreePage;
}

export function createMerkle(indexer: Indexer, store: ChainDataStore, confirmations: number): Merkle {
  function current(): { root: StoredRoot; tip: IndexedBlock } {
    const { fault, tip } = indexer.state();
    const root = store.currentRoot();
    if (fault !== undefined || tip === undefined || root === undefined) {
      throw new ApiError("CHAIN_UNAVAILABLE", "the pool's tree is not known yet", { retryAfterSecs: 2 });
    }
    return { root, tip };
  }

  return {
    root() {
      const { root, tip } = current();
      return {
        root: root.root,
        leafCount: root.leafCount,
        depth: TREE_DEPTH,
        arity: TREE_ARITY,
        block: tip,
        pending: store.leafCount() - root.leafCount,
      };
    },
    page(level, from, limit) {
      const { root, tip } = current();
      const width = CommitmentTree.width(level, root.leafCount);
      const begin = Math.min(from, width);
      const end = Math.min(begin + limit, width);
      const lastLeaf = end * TREE_ARITY ** level - 1;
      const isFull = end - begin === limit && lastLeaf < root.leafCount;
      const leaf = isFull ? store.leaf(lastLeaf) : undefined;
      return {
        root: root.root,
        leafCount: root.leafCount,
        level,
        from: begin,
        nodes: indexer.tree.nodes(level, begin, end, root.leafCount),
        next: end < width ? end : undefined,
        isImmutable: leaf !== undefined && leaf.block <= tip.number - Math.max(confirmations, 1) + 1,
      };
    },
  };
}
