import assert from "node:assert/strict";
import type { TreeLevel, TreePage } from "../../../../../shared/client/service/tree-level.ts";
import { unfoldSubtree } from "../../../../../shared/client/service/unfolding.ts";
import { NoteTree, SUBTREE_LEAVES } from "../../../../../shared/notes/merkle.ts";
import { mustField } from "../../../../../shared/protocol/brands.ts";
import { concatBytes, word } from "../../../../../shared/protocol/bytes.ts";

const LEAVES = 4 * SUBTREE_LEAVES + 9;
const leaves = Array.from({ length: LEAVES }, (_, index) => mustField(BigInt(index + 1)));

function foldedTree(): NoteTree {
  const tree = new NoteTree();
  for (const leaf of leaves) tree.append(leaf);
  for (let place = 0; place < 4; place++) tree.fold(place);
  return tree;
}
function service(told: readonly bigint[], pageNodes: number) {
  const asked: TreeLevel[] = [];
  return {
    asked,
    async *treeLevel(wanted: TreeLevel): AsyncGenerator<TreePage, void, undefined> {
      asked.push(wanted);
      for (let from = 0; from < told.length; from += pageNodes)
        yield { level: 0, from, nodes: concatBytes(...told.slice(from, from + pageNodes).map(word)) };
    },
  };
}

describe("unfolding", () => {
  for (const pageNodes of [65_536, 1_000, 256, 100, 3])
    it(`takes a subtree's leaves from pages of ${String(pageNodes)}, and asks the same for each`, async () => {
      for (const place of [0, 2, 3]) {
        const tree = foldedTree();
        const pool = service(leaves, pageNodes);
        await unfoldSubtree(pool, tree, place);
        assert.deepEqual(tree.openSubtrees(), [place, 4]);
        assert.equal(tree.leaf(place * SUBTREE_LEAVES + 100), leaves[place * SUBTREE_LEAVES + 100]);
        assert.deepEqual(pool.asked, [{ level: 0, leafCount: LEAVES }]);
      }
    });

  it("does not take other leaves", async () => {
    const tree = foldedTree();
    const lies = service(leaves.with(300, mustField(5n)), 1_000);
    await assert.rejects(unfoldSubtree(lies, tree, 1), { code: "TREE_INCONSISTENT" });
    assert.equal(tree.isFolded(300), true);
  });
});
