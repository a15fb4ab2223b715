// The watcher's tree against the protocol's own frontier, and what it knows after it went back.
import assert from "node:assert/strict";
import { LeafTree } from "../../../../scripts/watch/leaf-tree.ts";
import { climb } from "../../../../shared/notes/merkle.ts";
import { mustField, type Field } from "../../../../shared/protocol/brands.ts";
import { emptyFrontier } from "../../../../shared/protocol/host/frontier.ts";
import type { Frontier } from "../../../../shared/protocol/tree.ts";

const leaves = (count: number, from = 1): Field[] =>
  Array.from({ length: count }, (_, i) => mustField(BigInt(from + i)));

function frontierOf(all: readonly Field[]): Frontier {
  const frontier = emptyFrontier();
  for (const leaf of all) frontier.append(leaf);
  return frontier;
}

describe("scripts/watch/leaf-tree", () => {
  const all = leaves(70);

  it("has the root and frontier of every prefix", () => {
    const tree = new LeafTree();
    tree.append(all);
    for (const count of [0, 1, 3, 4, 5, 16, 17, 63, 64, 65, 70]) {
      const frontier = frontierOf(all.slice(0, count));
      assert.equal(tree.root(count), frontier.root(), String(count));
      assert.deepEqual(tree.frontier(count), frontier.nodes(), String(count));
    }
  });

  it("goes back, and on with other leaves, empty ones among them", () => {
    const tree = new LeafTree();
    tree.append(all);
    tree.truncate(21);
    const others = [...Array.from({ length: 11 }, () => mustField(0n)), ...leaves(40, 1_000)];
    tree.append(others);
    const frontier = frontierOf([...all.slice(0, 21), ...others]);
    assert.deepEqual([tree.leafCount, tree.root()], [72, frontier.root()]);
    assert.deepEqual(tree.frontier(), frontier.nodes());
    assert.equal(climb(all[20]!, 20, tree.path(20)), frontier.root());
    assert.equal(climb(others[50]!, 71, tree.path(71)), frontier.root());
  });

  it("takes the inner nodes that an earlier append gave, and hashes none of them again", () => {
    const [first, second] = [new LeafTree(), new LeafTree()];
    const nodes = first.append(all);
    second.append(all, nodes);
    assert.equal(second.root(), first.root());
    // Believed, so that a wrong one shows: it stands over the first four leaves.
    const third = new LeafTree();
    third.append(all, [mustField(7n), ...nodes.slice(1)]);
    assert.notEqual(third.root(4), first.root(4));
  });
});
