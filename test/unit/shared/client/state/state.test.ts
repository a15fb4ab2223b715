import assert from "node:assert/strict";
import { KEPT_ROOTS, WalletState, type OwnedNote } from "../../../../../shared/client/state/state.ts";
import { SUBTREE_LEAVES } from "../../../../../shared/notes/merkle.ts";
import { mustField, type Address } from "../../../../../shared/protocol/brands.ts";

const LEAVES_IN_BLOCK = 8;
const leaf = (index: number) => mustField(BigInt(index + 1));
const blockOf = (index: number): number => 1 + Math.floor(index / LEAVES_IN_BLOCK);

function aNote(leafIndex: number, spentIn?: number): OwnedNote {
  return {
    ...{ asset: "0x00000000000000000000000000000000000000aa" as Address, value: 7n, blinding: mustField(5n) },
    ...{ leafIndex, commitment: leaf(leafIndex), nullifier: mustField(BigInt(leafIndex + 10_000_000)) },
    ...{ source: "spend", block: blockOf(leafIndex), txHash: "0x1" },
    ...(spentIn === undefined ? {} : { spent: { block: spentIn, txHash: "0x2" } }),
  };
}

/** With a root after each block. */
function aState(leaves: number, notes: readonly OwnedNote[] = []): WalletState {
  const state = new WalletState();
  for (let index = 0; index < leaves; index++) {
    state.addLeaf(leaf(index), blockOf(index));
    const leafCount = index + 1;
    if (leafCount % LEAVES_IN_BLOCK === 0)
      state.addRoot({ root: mustField(BigInt(leafCount)), leafCount, block: blockOf(index) });
  }
  for (const note of notes) state.addNote(note);
  return state;
}

/** So many leaves are under the roots that are kept. */
const RECENT = KEPT_ROOTS * LEAVES_IN_BLOCK;
const LEAVES = RECENT + 6 * SUBTREE_LEAVES;
const inSubtree = (place: number, at = 3): number => place * SUBTREE_LEAVES + at;

describe("wallet state, folded", function () {
  it("keeps subtrees with own notes, those where this wallet spent, and all that a reorganisation may take back", () => {
    const spending = blockOf(inSubtree(4));
    const state = aState(LEAVES, [aNote(inSubtree(1), spending), aNote(inSubtree(2))]);
    const root = state.tree.root();
    const kept = state.tree.openSubtrees();
    state.fold();
    const settled = state.roots[0]!.leafCount;
    assert.deepEqual(
      state.tree.openSubtrees(),
      kept.filter((place) => [1, 2, 4].includes(place) || (place + 1) * SUBTREE_LEAVES > settled),
    );
    assert.equal(state.tree.root(), root);
    assert.equal(state.blocks.of(inSubtree(2, 255)), blockOf(inSubtree(2, 255)));
    assert.equal(state.blocks.of(inSubtree(3, 255)), blockOf(inSubtree(3, 0)));
  });

  it("keeps both subtrees where a statement may lie across the border", () => {
    const state = aState(LEAVES, [aNote(inSubtree(2, 254)), aNote(inSubtree(5, 2))]);
    state.fold();
    assert.deepEqual(state.tree.openSubtrees().slice(0, 4), [2, 3, 4, 5]);
  });

  it("keeps both subtrees where the block lies across the border in which it spent, and has no change to go by", () => {
    const state = new WalletState();
    for (let index = 0; index < LEAVES; index++) {
      const block = blockOf(index + 4);
      state.addLeaf(leaf(index), block);
      if (index % LEAVES_IN_BLOCK === 3) state.addRoot({ root: leaf(index), leafCount: index + 1, block });
    }
    state.addNote({ ...aNote(0), spent: { block: blockOf(3 * SUBTREE_LEAVES), txHash: "0x2" } });
    state.fold();
    assert.deepEqual(state.tree.openSubtrees().slice(0, 3), [0, 2, 3]);
  });

  it("folds nothing of what nodes tell, and nothing while every root is kept or none is", () => {
    const chain = aState(LEAVES);
    chain.origin = "chain";
    const young = aState(RECENT);
    const rootless = aState(LEAVES);
    rootless.roots = [];
    for (const state of [chain, young, rootless]) {
      const before = state.tree.openSubtrees();
      state.fold();
      assert.deepEqual(state.tree.openSubtrees(), before);
    }
  });

  it("goes back to any block that a kept root stands in, exactly, and to none before", () => {
    const state = aState(LEAVES);
    state.fold();
    const [oldest] = state.roots;
    assert.equal(state.rollBack(oldest!.block - 1), false);
    assert.equal(state.tree.leafCount, LEAVES);
    assert.equal(state.rollBack(oldest!.block), true);
    assert.equal(state.tree.leafCount, oldest!.leafCount);
    assert.equal(state.tree.root(), aState(oldest!.leafCount).tree.root());
  });

  it("asks for another reading, and changes nothing, where leaves are void or a root ends that it has folded", () => {
    const state = aState(LEAVES);
    state.fold();
    const inconsistent = (error: unknown): boolean =>
      (error as { code?: string }).code === "STREAM_INCONSISTENT";
    const seen = { block: blockOf(LEAVES), txHash: "0x3" };
    assert.throws(() => state.voidStatement(inSubtree(0), 2, [], seen), inconsistent);
    const mark = { root: mustField(9n), leafCount: inSubtree(1), block: blockOf(LEAVES) };
    assert.throws(() => state.addRoot(mark), inconsistent);
    assert.equal(state.voidedIn, undefined);
    assert.notDeepEqual(state.latestRoot, mark);
    state.voidStatement(LEAVES - 4, 2, [], seen);
    assert.equal(state.tree.leaf(LEAVES - 4), 0n);
  });
});
