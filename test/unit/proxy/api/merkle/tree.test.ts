import assert from "node:assert/strict";
import { CommitmentTree } from "../../../../../proxy/api/merkle/tree.ts";
import { NODE_BYTES, NoteTree } from "../../../../../shared/notes/merkle.ts";
import { mustField } from "../../../../../shared/protocol/brands.ts";
import { bytesToUint } from "../../../../../shared/protocol/bytes.ts";
import { emptyFrontier } from "../../../../../shared/protocol/host/frontier.ts";
import { emptyNode, Frontier, TREE_DEPTH } from "../../../../../shared/protocol/tree.ts";

const COUNT = 150;
const leafAt = (index: number) => mustField(BigInt(index + 1));

function bentRoot(count: number, leaf: number): bigint {
  const frontier = emptyFrontier();
  for (let i = 0; i < count; i++) frontier.append(leafAt(i));
  frontier.append(leafAt(leaf));
  return frontier.root();
}

describe("merkle/tree", () => {
  const tree = new CommitmentTree();
  const frontiers = [emptyFrontier()];
  before(() => {
    for (let i = 0; i < COUNT; i++) {
      tree.append(leafAt(i));
      const next = Frontier.from(BigInt(i), frontiers[i]!.nodes())!;
      next.append(leafAt(i));
      frontiers.push(next);
    }
  });

  it("has the root and the frontier of the protocol for every prefix", () => {
    for (const count of [0, 1, 3, 4, 5, 15, 16, 17, 63, 64, 65, 149, 150]) {
      assert.equal(tree.root(count), frontiers[count]!.root(), String(count));
      assert.deepEqual(tree.frontier(count), frontiers[count]!.nodes(), String(count));
    }
    assert.equal(tree.root(0), emptyNode(TREE_DEPTH));
  });

  it("has root and frontier with leaves behind a prefix that it need not have, from none to more than it has itself", async () => {
    for (const count of [0, 1, 3, 4, 15, 16, 63, 64, 100]) {
      const other = new CommitmentTree();
      for (let i = 0; i < count; i++) other.append(leafAt(i));
      for (const more of [0, 1, 2, 3, 4, 13, COUNT - count]) {
        const leaves = Array.from({ length: more }, (_, i) => leafAt(count + i));
        assert.equal(await other.rootAfter(count, leaves), frontiers[count + more]!.root());
        assert.deepEqual(await other.frontierAfter(count, leaves), frontiers[count + more]!.nodes());
      }
      assert.equal(other.leafCount, count);
    }
    // What stands behind the prefix is not what it is asked about.
    assert.equal(await tree.rootAfter(70, [leafAt(7)]), bentRoot(70, 7));
    await assert.rejects(tree.rootAfter(COUNT + 1, []), RangeError);
    assert.equal(await tree.rootAfter(COUNT, { length: 4 ** TREE_DEPTH - COUNT } as never), undefined);
  });

  it("has a root of one moment, whatever happens to the tree while it is made", async () => {
    const other = new CommitmentTree();
    for (let i = 0; i < 70; i++) other.append(leafAt(i));
    const leaves = Array.from({ length: COUNT - 70 }, (_, i) => leafAt(70 + i));
    const root = other.rootAfter(70, leaves);
    other.truncate(3);
    for (let i = 0; i < 5; i++) other.append(leafAt(100 + i));
    assert.equal(await root, frontiers[COUNT]!.root());
  });

  it("serves levels from which a client gets the paths of its own tree", () => {
    const client = new NoteTree();
    for (let i = 0; i < COUNT; i++) client.append(leafAt(i));
    const rooted = 133;
    for (const index of [0, 64, 131, 132]) {
      client.path(index, rooted).forEach((siblings, level) => {
        const own = Math.floor(index / 4 ** level);
        const first = own - (own % 4);
        const width = CommitmentTree.width(level, rooted);
        const page = tree.nodes(level, 0, width, rooted);
        const node = (place: number) =>
          place < width
            ? bytesToUint(page.slice(place * NODE_BYTES, (place + 1) * NODE_BYTES))
            : emptyNode(level);
        const served = [0, 1, 2, 3]
          .map((i) => first + i)
          .filter((place) => place !== own)
          .map(node);
        assert.deepEqual(served, siblings);
      });
    }
  });

  it("forgets leaves and grows another way", () => {
    const bent = new CommitmentTree();
    for (let i = 0; i < COUNT; i++) bent.append(leafAt(i));
    bent.truncate(70);
    assert.equal(bent.root(70), tree.root(70));
    for (let i = 70; i < COUNT; i++) bent.append(leafAt(i));
    assert.equal(bent.root(COUNT), tree.root(COUNT));
  });

  it("does not answer for leaves that it has not", () => {
    assert.throws(() => tree.root(COUNT + 1), RangeError);
    assert.throws(() => tree.frontier(COUNT + 1), RangeError);
  });
});
