/** The pool's tree as clients prove against it: the newest root and the nodes below it. Serves nothing that the chain did not say. */
import type { Field } from "../../../shared/protocol/brands.ts";
import { toHex, word } from "../../../shared/protocol/bytes.ts";
import { TREE_ARITY, TREE_DEPTH } from "../../../shared/protocol/tree.ts";
import { ApiError } from "../../base/http/errors.ts";
import type { ChainDataStore, IndexedBlock, StoredRoot, VoidLeaves } from "../../base/store/chain-data.ts";
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
  /** The nodes, 32 bytes each, packed. */
  nodes(): Uint8Array;
  /** Names the nodes by what they are made of: two pages of one id have the same. */
  readonly id: string;
  readonly next: number | undefined;
}

export type Merkle = ReturnType<typeof createMerkle>;

export function createMerkle(
  indexer: Pick<Indexer, "state" | "onChange"> & { readonly tree: Pick<CommitmentTree, "nodes"> },
  store: Pick<ChainDataStore, "currentRoot" | "leafCount" | "leaf" | "voids">,
) {
  let known: RootView | undefined;
  let voids: readonly VoidLeaves[] | undefined;
  indexer.onChange(() => (known = voids = undefined));

  function current(): { root: StoredRoot; tip: IndexedBlock } {
    const { fault, tip } = indexer.state();
    const root = store.currentRoot();
    if (fault !== undefined || tip === undefined || root === undefined) {
      throw new ApiError("CHAIN_UNAVAILABLE", "the pool's tree is not known yet", { retryAfterSecs: 2 });
    }
    return { root, tip };
  }

  return {
    /** The same object until something changes. */
    root: (): RootView => (known ??= view()),
    page(level: number, from: number, limit: number): TreePage {
      const { root } = current();
      const width = CommitmentTree.width(level, root.leafCount);
      const begin = Math.min(from, width);
      const end = Math.min(begin + limit, width);
      const leavesBelow = end * TREE_ARITY ** level;
      // The head of the queue is a hash over every leaf up to there, so together with the void ones it names complete
      // nodes whatever the root is; the node at the edge, which is not complete, is named by the root.
      const lastLeaf = end > begin && leavesBelow <= root.leafCount ? store.leaf(leavesBelow - 1) : undefined;
      const content = lastLeaf?.head ?? `${toHex(word(root.root))} ${String(root.leafCount)}`;
      voids ??= store.voids();
      const emptied = voids.filter(({ firstLeafIndex }) => firstLeafIndex < leavesBelow);
      return {
        root: root.root,
        leafCount: root.leafCount,
        level,
        from: begin,
        nodes: () => indexer.tree.nodes(level, begin, end, root.leafCount),
        id: `${content} ${emptied.map((range) => range.firstLeafIndex).join()} ${String(level)} ${String(begin)} ${String(end)}`,
        next: end < width ? end : undefined,
      };
    },
  };

  function view(): RootView {
    const { root, tip } = current();
    return {
      root: root.root,
      leafCount: root.leafCount,
      depth: TREE_DEPTH,
      arity: TREE_ARITY,
      block: tip,
      pending: store.leafCount() - root.leafCount,
    };
  }
}
