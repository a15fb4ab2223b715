import fc from "fast-check";
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { poseidon4 } from "poseidon-lite";
import { NoteTree } from "../../../../shared/notes/merkle.ts";
import { mustField, type Field } from "../../../../shared/protocol/brands.ts";
import { digitAt, Frontier, TREE_DEPTH } from "../../../../shared/protocol/tree.ts";

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
    const frontier = Frontier.empty();
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
        assert.deepEqual(tree.levels(), grown(kept + more).levels());
      }),
      { numRuns: 30 },
    );
  });

  it("comes back from its stored nodes, and from nothing else", () => {
    const tree = grown(21);
    assert.equal(NoteTree.from(tree.levels())!.root(), tree.root());
    const rows = tree.levels().map((row) => [...row]);
    rows[1]!.pop();
    assert.equal(NoteTree.from(rows), undefined);
    assert.equal(NoteTree.from(rows.slice(1)), undefined);
  });

  it("refuses paths and roots beyond its leaves", () => {
    assert.throws(() => grown(3).path(3, 3));
    assert.throws(() => grown(3).root(4));
  });
});
