import fc from "fast-check";
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { poseidon4 } from "poseidon-lite";
import { NoteTree, SUBTREE_LEAVES, subtreeOf } from "../../../../shared/notes/merkle.ts";
import { FIELD_ORDER, mustField, type Field } from "../../../../shared/protocol/brands.ts";
import { word } from "../../../../shared/protocol/bytes.ts";
import { emptyFrontier } from "../../../../shared/protocol/host/frontier.ts";
import { digitAt, TREE_DEPTH } from "../../../../shared/protocol/tree.ts";

const { trees } = JSON.parse(
  readFileSync(new URL("../../../support/vectors/tree.json", import.meta.url), "utf8"),
) as { trees: { count: number; root: string }[] };

const grown = (count: number): NoteTree => {
  const tree = new NoteTree();
  for (let i = 0; i < count; i++) tree.append(mustField(BigInt(i + 1)));
  return tree;
};

/** What the circuit does with a path, by another Poseidon. */
function climb(leaf: Field, index: number, path: readonly (readonly Field[])[]): bigint {
  let node: bigint = leaf;
  path.forEach((siblings, level) => {
    const children: bigint[] = [...siblings];
    children.splice(digitAt(BigInt(index), level), 0, node);
    node = poseidon4(children);
  });
  return node;
}

describe("the wallet's tree", () => {
  it("has the roots of the fixed vectors, for every prefix of one tree", () => {
    const tree = grown(70);
    for (const { count, root } of trees) {
      assert.equal(tree.root(count), BigInt(root), `${count} leaves`);
      assert.equal(grown(count).root(), BigInt(root));
    }
  });

  it("gives paths that lead to the root, for any leaf in any prefix", () => {
    const tree = grown(90);
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 90 }), fc.nat(), (count, pick) => {
        const index = pick % count;
        const path = tree.path(index, count);
        assert.equal(path.length, TREE_DEPTH);
        assert.ok(path.every((siblings) => siblings.length === 3));
        assert.equal(climb(tree.leaf(index)!, index, path), tree.root(count));
      }),
      { numRuns: 40 },
    );
  });

  it("agrees with the frontier that the enclave keeps", () => {
    const tree = new NoteTree();
    const frontier = emptyFrontier();
    for (let i = 0; i < 40; i++) {
      const leaf = mustField(BigInt(i * i + 3));
      tree.append(leaf);
      frontier.append(leaf);
      assert.equal(tree.root(), frontier.root());
    }
  });

  it("after a rollback it is the tree that never went further", () => {
    fc.assert(
      fc.property(fc.nat(60), fc.nat(60), fc.nat(20), (first, keep, more) => {
        const tree = grown(first);
        const kept = Math.min(first, keep);
        tree.truncate(keep);
        for (let i = 0; i < more; i++) tree.append(mustField(BigInt(kept + i + 1)));
        assert.deepEqual(tree.packed(), grown(kept + more).packed());
        assert.equal(tree.root(), grown(kept + more).root());
      }),
      { numRuns: 30 },
    );
  });

  it("gives the frontier that the protocol's own tree has, at every leaf count", () => {
    const tree = new NoteTree();
    const frontier = emptyFrontier();
    for (let count = 0; count <= 300; count++) {
      assert.deepEqual(tree.frontier(count), frontier.nodes(), `after ${count} leaves`);
      const leaf = mustField(BigInt(count + 1));
      tree.append(leaf);
      frontier.append(leaf);
    }
    // Of fewer leaves than the tree has.
    const early = emptyFrontier();
    for (let index = 0; index < 77; index++) early.append(mustField(BigInt(index + 1)));
    assert.deepEqual(tree.frontier(77), early.nodes());
  });

  it("has empty nodes where all leaves below are void", () => {
    const tree = new NoteTree();
    for (let index = 0; index < 5; index++) tree.append(mustField(0n));
    assert.deepEqual(tree.frontier(5).length, 2);
    assert.equal(tree.root(5), new NoteTree().root(0));
  });

  it("refuses paths and roots beyond its leaves", () => {
    assert.throws(() => grown(3).path(3, 3));
    assert.throws(() => grown(3).root(4));
  });
});

describe("the wallet's tree, folded", function () {
  const LEAVES = 5 * SUBTREE_LEAVES + 40;
  const whole = grown(LEAVES);
  const copy = (): NoteTree => NoteTree.from(whole.packed())!;
  const folded = (...places: number[]): NoteTree => {
    const tree = copy();
    for (const place of places) tree.fold(place);
    return tree;
  };

  it("gives the same roots and the same paths of what is not folded, whatever else is", () => {
    fc.assert(
      fc.property(fc.uniqueArray(fc.nat(4)), fc.nat(LEAVES), fc.nat(), (places, count, pick) => {
        const tree = folded(...places);
        assert.equal(tree.root(), whole.root());
        assert.equal(
          tree.knowsRoot(count),
          count % SUBTREE_LEAVES === 0 || !places.includes(subtreeOf(count)),
        );
        if (!tree.knowsRoot(count) || count === 0) return;
        assert.equal(tree.root(count), whole.root(count));
        assert.deepEqual(tree.frontier(count), whole.frontier(count));
        const index = pick % count;
        assert.equal(tree.isFolded(index), places.includes(subtreeOf(index)));
        if (!tree.isFolded(index)) assert.deepEqual(tree.path(index, count), whole.path(index, count));
      }),
      { numRuns: 60 },
    );
  });

  it("grows as if nothing were folded, and keeps 32 bytes of what is", () => {
    const tree = folded(0, 1, 2, 3, 4);
    for (let i = LEAVES; i < LEAVES + 300; i++) tree.append(mustField(BigInt(i + 1)));
    assert.equal(tree.root(), grown(LEAVES + 300).root());
    const { nodes, leaves, rest } = tree.packed();
    assert.deepEqual([nodes.length, [...leaves.keys()], rest.length], [6 * 32, [5], 84 * 32]);
  });

  it("says so, instead of guessing, where what is folded would be needed", () => {
    const tree = folded(1);
    const inside = SUBTREE_LEAVES + 7;
    assert.equal(tree.leaf(inside), undefined);
    assert.equal(tree.isFolded(inside), true);
    assert.equal(tree.isFolded(LEAVES), false, "it is not there at all");
    assert.equal(tree.includes(mustField(BigInt(inside + 1))), false);
    for (const refused of [
      () => tree.root(inside),
      () => tree.path(inside, LEAVES),
      () => tree.path(0, inside),
      () => tree.frontier(inside),
      () => tree.replace(inside, mustField(0n)),
      () => tree.fold(5),
    ])
      assert.throws(refused, RangeError);
    assert.equal(tree.truncate(inside), false);
    assert.deepEqual(tree.packed(), folded(1).packed(), "and nothing has changed");
  });

  it("goes back to the border of what is folded, and behind it", () => {
    for (const count of [0, SUBTREE_LEAVES, 2 * SUBTREE_LEAVES, 3 * SUBTREE_LEAVES + 5]) {
      const tree = folded(0, 1);
      assert.equal(tree.truncate(count), true);
      assert.equal(tree.root(), whole.root(count));
      for (let i = count; i < LEAVES; i++) tree.append(mustField(BigInt(i + 1)));
      assert.equal(tree.root(), whole.root());
    }
  });

  it("takes leaves back in that give the node, and no others", () => {
    const tree = folded(2);
    const leaves = whole.leavesOf(2)!;
    for (const wrong of [
      whole.leavesOf(1)!,
      leaves.subarray(32),
      leaves.with(31, leaves[31]! ^ 1),
      leaves.with(0, 0xff),
    ])
      assert.equal(tree.unfold(2, wrong), false);
    assert.equal(tree.unfold(9, leaves), false);
    assert.equal(tree.isFolded(2 * SUBTREE_LEAVES), true);
    assert.equal(tree.unfold(2, leaves), true);
    assert.deepEqual(tree.packed(), whole.packed());
    assert.deepEqual(tree.path(600, LEAVES), whole.path(600, LEAVES));
  });

  it("finds a leaf wherever it stands, from a place on, and none that is only alike", () => {
    const tree = folded(1);
    for (const index of [0, 255, 512, 1_000, LEAVES - 1]) {
      assert.equal(tree.indexOf(mustField(BigInt(index + 1))), index);
      assert.equal(tree.indexOf(mustField(BigInt(index + 1)), index), index);
      assert.equal(tree.indexOf(mustField(BigInt(index + 1)), index + 1), undefined);
      assert.equal(tree.includes(mustField(BigInt(index + 1) + (1n << 64n))), false);
    }
  });

  it("a leaf that becomes void empties its place in all that is above", () => {
    for (const index of [0, 300, LEAVES - 1]) {
      const tree = folded(3);
      assert.equal(tree.root(), whole.root());
      tree.replace(index, mustField(0n));
      const fresh = new NoteTree();
      for (let i = 0; i < LEAVES; i++) fresh.append(mustField(i === index ? 0n : BigInt(i + 1)));
      assert.equal(tree.root(), fresh.root());
    }
  });

  it("comes from bytes of the right form only, and tells whose leaves do not give their node", () => {
    const { nodes, leaves, rest } = folded(0, 1, 2).packed();
    const made = NoteTree.from({ nodes, leaves, rest })!;
    assert.equal(made.leafCount, LEAVES);
    while (!made.hashSome(1));
    assert.equal(made.root(), whole.root());
    for (const place of [0, 3, 4]) assert.equal(made.isRight(place), true);

    const swapped = NoteTree.from({ nodes, leaves: new Map([[3, whole.leavesOf(4)!]]), rest })!;
    assert.deepEqual([swapped.isRight(3), swapped.isRight(4)], [false, true]);
    const order = word(FIELD_ORDER);
    for (const wrong of [
      { nodes: nodes.subarray(1), leaves, rest },
      { nodes: new Uint8Array([...nodes.subarray(32), ...order]), leaves, rest },
      { nodes, leaves: new Map([[5, whole.leavesOf(4)!]]), rest },
      { nodes, leaves: new Map([[-1, whole.leavesOf(4)!]]), rest },
      { nodes, leaves: new Map([[4, whole.leavesOf(4)!.subarray(32)]]), rest },
      { nodes, leaves, rest: whole.leavesOf(4)! },
      { nodes, leaves, rest: order },
    ])
      assert.equal(NoteTree.from(wrong), undefined);
  });
});
