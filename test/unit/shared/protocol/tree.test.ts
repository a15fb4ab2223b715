import assert from "node:assert/strict";
import { solidityPackedKeccak256 } from "ethers";
import fc from "fast-check";
import { poseidon4 as oracle } from "poseidon-lite";
import { FIELD_ORDER, mustField, ZERO_BYTES32, type Field } from "../../../../shared/protocol/brands.ts";
import { toBytes32 } from "../../../../shared/protocol/bytes.ts";
import { emptyFrontier } from "../../../../shared/protocol/host/frontier.ts";
import {
  digitAt,
  emptyNode,
  Frontier,
  nextHead,
  TREE_CAPACITY,
  TREE_DEPTH,
} from "../../../../shared/protocol/tree.ts";

/** Every level written out, with another implementation of Poseidon. */
function naiveRoot(leaves: readonly bigint[]): bigint {
  let layer = [...leaves];
  let empty = 0n;
  for (let level = 0; level < TREE_DEPTH; level++) {
    const above: bigint[] = [];
    for (let i = 0; i < layer.length; i += 4) {
      above.push(oracle([0, 1, 2, 3].map((j) => layer[i + j] ?? empty)));
    }
    empty = oracle([empty, empty, empty, empty]);
    layer = above.length === 0 ? [empty] : above;
  }
  return layer[0]!;
}
const leaf: fc.Arbitrary<Field> = fc.bigInt({ min: 1n, max: FIELD_ORDER - 1n }).map(mustField);
const grown = (leaves: readonly Field[]): Frontier => {
  const tree = emptyFrontier();
  for (const each of leaves) assert.equal(tree.append(each), true);
  return tree;
};

describe("shared/protocol/tree beside a whole tree with another Poseidon", () => {
  it("has the same root after each of 70 leaves", () => {
    const tree = emptyFrontier();
    const leaves: Field[] = [];
    assert.equal(tree.root(), naiveRoot([]));
    for (let i = 0; i < 70; i++) {
      leaves.push(mustField(BigInt(i) * 7n + 1n));
      assert.equal(tree.append(leaves[i]!), true);
      assert.equal(tree.root(), naiveRoot(leaves), String(i));
      assert.equal(tree.leafCount, BigInt(i + 1));
    }
  });

  it("goes on the same from its nodes, wherever it is cut", () => {
    fc.assert(
      fc.property(fc.array(leaf, { maxLength: 24 }), fc.nat(24), (leaves, at) => {
        const cut = Math.min(at, leaves.length);
        const first = grown(leaves.slice(0, cut));
        const second = Frontier.from(BigInt(cut), first.nodes());
        assert.ok(second);
        for (const each of leaves.slice(cut)) second.append(each);
        assert.equal(second.root(), naiveRoot(leaves));
        assert.deepEqual(second.nodes(), grown(leaves).nodes());
      }),
      { numRuns: 20 },
    );
  });

  it("made from another's nodes it goes its own way", () => {
    const tree = grown([mustField(1n), mustField(2n)]);
    const root = tree.root();
    Frontier.from(2n, tree.nodes())!.append(mustField(3n));
    assert.equal(tree.root(), root);
  });

  it("takes exactly as many nodes as the index has digits' worth", () => {
    assert.equal(digitAt(0b11_01_10n, 0), 2);
    assert.equal(digitAt(0b11_01_10n, 1), 1);
    assert.equal(digitAt(0b11_01_10n, 2), 3);
    const nodes = (count: number): Field[] => Array.from({ length: count }, () => mustField(1n));
    assert.ok(Frontier.from(0b11_01_10n, nodes(6)));
    assert.equal(Frontier.from(0b11_01_10n, nodes(5)), undefined);
    assert.equal(Frontier.from(0b11_01_10n, nodes(7)), undefined);
    assert.equal(Frontier.from(-1n, []), undefined);
    assert.equal(Frontier.from(TREE_CAPACITY, []), undefined);
  });

  it("takes empty nodes, and goes on as a tree with void leaves in it", () => {
    const withVoid = [mustField(5n), ...Array.from({ length: 7 }, () => mustField(0n)), mustField(6n)];
    for (let cut = 1; cut <= withVoid.length; cut++) {
      const second = Frontier.from(BigInt(cut), grown(withVoid.slice(0, cut)).nodes());
      assert.ok(second, String(cut));
      for (const each of withVoid.slice(cut)) second.append(each);
      assert.equal(second.root(), naiveRoot(withVoid));
    }
  });

  it("leaves its last place empty", () => {
    const tree = Frontier.from(
      TREE_CAPACITY - 1n,
      Array.from({ length: 48 }, () => mustField(1n)),
    );
    assert.ok(tree);
    const root = tree.root();
    assert.equal(tree.append(mustField(5n)), false);
    assert.equal(tree.root(), root);
    assert.equal(tree.leafCount, TREE_CAPACITY - 1n);
  });

  it("knows the empty nodes in any order of asking", () => {
    assert.equal(emptyNode(TREE_DEPTH), naiveRoot([]));
    assert.equal(emptyNode(0), 0n);
    assert.equal(emptyNode(1), oracle([0n, 0n, 0n, 0n]));
  });

  it("chains the queue's head as Solidity does", () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 32, maxLength: 32 }).map(toBytes32), leaf, (head, each) => {
        assert.equal(nextHead(head, each), solidityPackedKeccak256(["bytes32", "uint256"], [head, each]));
      }),
    );
    assert.equal(
      nextHead(ZERO_BYTES32, 1n),
      solidityPackedKeccak256(["bytes32", "uint256"], [ZERO_BYTES32, 1n]),
    );
  });
});
