import assert from "node:assert/strict";
import { solidityPackedKeccak256, verifyTypedData } from "ethers";
import { attestRoot } from "../../../enclave/attest-root.ts";
import {
  FIELD_ORDER,
  mustField,
  ZERO_BYTES32,
  type Bytes32,
  type Field,
} from "../../../shared/protocol/brands.ts";
import { toHex } from "../../../shared/protocol/bytes.ts";
import type { AttestRootRequest, EnclaveReply } from "../../../shared/protocol/enclave-messages.ts";
import { emptyFrontier } from "../../../shared/protocol/host/frontier.ts";
import { emptyNode, Frontier, TREE_CAPACITY, TREE_DEPTH } from "../../../shared/protocol/tree.ts";
import { codeOf } from "./support/frame-client.ts";
import { rootUpdateType } from "../../support/oracle.ts";
import { aSigner } from "./support/key-life.ts";
import { leaves } from "./support/statements.ts";
import { HOME } from "../../contract/vectors/story.ts";

const HEAD = `0x${"ab".repeat(32)}` as Bytes32;

describe("enclave/attest-root", () => {
  const signer = aSigner();

  const answer = (changes: Partial<AttestRootRequest> = {}): EnclaveReply =>
    attestRoot(signer, {
      type: "attest-root",
      ...HOME,
      fromIndex: 0n,
      headBefore: ZERO_BYTES32,
      frontier: [],
      leaves: [1n],
      ...changes,
    });
  const grown = (leaves: readonly Field[]): Frontier => {
    const tree = emptyFrontier();
    for (const leaf of leaves) assert.ok(tree.append(leaf));
    return tree;
  };

  for (const [from, count] of [
    [0, 1],
    [5, 3],
    [63, 2],
    [70, 256],
  ] as const) {
    it(`signs both ends of ${String(count)} leaves after ${String(from)}`, () => {
      const all = leaves(from + count);
      const tree = grown(all.slice(0, from));
      const oldRoot = tree.root();
      const reply = answer({
        fromIndex: BigInt(from),
        frontier: tree.nodes(),
        headBefore: HEAD,
        leaves: all.slice(from),
      });
      assert.ok(reply.type === "attest-root");
      const headAfter = all
        .slice(from)
        .reduce<string>((head, leaf) => solidityPackedKeccak256(["bytes32", "uint256"], [head, leaf]), HEAD);
      assert.equal(reply.oldRoot, oldRoot);
      assert.equal(reply.newRoot, grown(all).root());
      assert.equal(reply.toIndex, BigInt(from + count));
      assert.equal(reply.headAfter, headAfter);
      const { newRoot, toIndex } = reply;
      const message = { oldRoot, newRoot, fromIndex: BigInt(from), toIndex, headBefore: HEAD, headAfter };
      assert.equal(
        verifyTypedData(...rootUpdateType(HOME), message, toHex(reply.signature)).toLowerCase(),
        signer.address,
      );
    });
  }

  it("FRONTIER_INVALID: too many or too few nodes for the index", () => {
    assert.equal(codeOf(answer({ frontier: [1n] })), "FRONTIER_INVALID");
    assert.equal(codeOf(answer({ fromIndex: 5n, frontier: [1n] })), "FRONTIER_INVALID");
  });

  it("FRONTIER_INVALID: the second spelling of a node (value + r)", () => {
    const [leaf] = leaves(1);
    assert.equal(codeOf(answer({ fromIndex: 1n, frontier: [leaf! + FIELD_ORDER] })), "FRONTIER_INVALID");
    assert.equal(answer({ fromIndex: 1n, frontier: [leaf!] }).type, "attest-root");
  });

  it("signs behind void leaves, which are empty nodes of the frontier at any level", () => {
    for (let level = 0; level < TREE_DEPTH; level++) {
      const fromIndex = 2n * 4n ** BigInt(level);
      for (const frontier of [
        [emptyNode(level), mustField(1n)],
        [mustField(1n), emptyNode(level)],
        [emptyNode(level), emptyNode(level)],
      ]) {
        const reply = answer({ fromIndex, frontier, leaves: [7n] });
        assert.ok(reply.type === "attest-root", String(level));
        const tree = Frontier.from(fromIndex, frontier)!;
        assert.equal(reply.oldRoot, tree.root());
        assert.ok(tree.append(mustField(7n)));
        assert.equal(reply.newRoot, tree.root());
      }
    }
    const tree = grown([1n, 2n, 0n, 0n, 0n, 0n, 0n, 0n].map(mustField));
    const reply = answer({ fromIndex: 8n, frontier: tree.nodes(), leaves: [9n] });
    assert.ok(reply.type === "attest-root");
    assert.ok(tree.append(mustField(9n)));
    assert.equal(reply.newRoot, tree.root());
  });

  it("names the index that it was given: one too great has the same old root, and is another update", () => {
    const tree = grown(leaves(4));
    const honest = answer({ fromIndex: 4n, frontier: tree.nodes() });
    const later = answer({ fromIndex: 8n, frontier: [...tree.nodes(), emptyNode(1)] });
    assert.ok(honest.type === "attest-root" && later.type === "attest-root");
    assert.equal(later.oldRoot, honest.oldRoot);
    const { oldRoot, newRoot, toIndex, headAfter } = later;
    const terms = { oldRoot, newRoot, toIndex, headBefore: ZERO_BYTES32, headAfter };
    const signerOf = (fromIndex: bigint): string =>
      verifyTypedData(...rootUpdateType(HOME), { ...terms, fromIndex }, toHex(later.signature)).toLowerCase();
    assert.equal(signerOf(8n), signer.address);
    assert.notEqual(signerOf(4n), signer.address);
  });

  it("FRONTIER_INVALID: an index beyond the tree", () => {
    assert.equal(codeOf(answer({ fromIndex: TREE_CAPACITY })), "FRONTIER_INVALID");
    assert.equal(codeOf(answer({ fromIndex: (1n << 64n) - 1n })), "FRONTIER_INVALID");
  });

  it("LEAVES_INVALID: the empty leaf, a second spelling, none, too many", () => {
    assert.equal(codeOf(answer({ leaves: [1n, 0n] })), "LEAVES_INVALID");
    assert.equal(codeOf(answer({ leaves: [FIELD_ORDER] })), "LEAVES_INVALID");
    assert.equal(codeOf(answer({ leaves: [FIELD_ORDER + 1n] })), "LEAVES_INVALID");
    assert.equal(codeOf(answer({ leaves: [] })), "LEAVES_INVALID");
    assert.equal(codeOf(answer({ leaves: leaves(257) })), "LEAVES_INVALID");
  });

  it("LEAVES_INVALID: more than the tree has room for", () => {
    const fromIndex = TREE_CAPACITY - 2n;
    // 3 nodes at every level but the lowest, which has 2.
    const frontier = Array.from({ length: 3 * 16 - 1 }, (_, i) => mustField(BigInt(i + 1)));
    assert.equal(answer({ fromIndex, frontier, leaves: [1n] }).type, "attest-root");
    assert.equal(codeOf(answer({ fromIndex, frontier, leaves: [1n, 2n] })), "LEAVES_INVALID");
  });

  it("an invented frontier gives an old root that is not the pool's", () => {
    const honest = grown(leaves(1));
    const reply = answer({ fromIndex: 1n, frontier: [42n] });
    assert.ok(reply.type === "attest-root");
    assert.notEqual(reply.oldRoot, honest.root());
  });
});
