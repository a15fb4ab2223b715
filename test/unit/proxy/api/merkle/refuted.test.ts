// The index through refutations, on the real pool: what is void, what is revoked, and how the tree goes on.
import assert from "node:assert/strict";
import { checkIndex } from "../../../../../proxy/api/merkle/index-check.ts";
import { createMerkle } from "../../../../../proxy/api/merkle/merkle.service.ts";
import { attester } from "../../../../../scripts/stack/pool-transaction.ts";
import { emptyNode, TREE_DEPTH } from "../../../../../shared/protocol/tree.ts";
import { drawField } from "../../../../support/drafts.ts";
import { Money, NO_PROOF } from "../../../../support/money.ts";
import { poolContract } from "../../../../support/pool-contract.ts";
import { advance, deposited, forgeRoot, refute, refuteRoot } from "../../../../support/refuting.ts";
import { until } from "../../../../support/until.ts";

describe("merkle/indexer through refutations, on a real pool", function () {
  let on: Money;

  beforeEach(async () => {
    on = await Money.start();
    await on.run();
  });
  afterEach(() => on.stop());

  /** Until the index has the chain's newest block; then both sides are the same. */
  async function agrees(): Promise<void> {
    const head = await on.chain.header("latest");
    await until("the tip to be the chain's", () => on.data.tip()?.hash === head!.hash);
    assert.deepEqual((await checkIndex(on.chain, on.pool, on.data, 64)).differences, []);
    const { root, leafCount } = on.rooted();
    assert.equal(on.indexer.tree.root(leafCount), root);
    assert.equal(on.indexer.state().fault, undefined);
  }
  /** The third is refuted by its signer's own word. */
  async function refuted() {
    const [first, second, third] = [await deposited(on), await deposited(on), await deposited(on)];
    await on.sequencer.stop();
    await refute(on, second.made, attester(1), [first.root.root, second.root.root]);
    await until("the refutation to be indexed", () => on.data.awaitsAdvance());
    return { first, second, third };
  }

  it("serves the last good root only, and nothing of what is void or revoked", async () => {
    const { first, second, third } = await refuted();
    const merkle = createMerkle(on.indexer, on.data);
    assert.deepEqual([merkle.root().root, merkle.root().leafCount], [first.root.root, 3]);
    assert.equal(merkle.root().pending, 6);
    for (const { root } of [second.root, third.root]) {
      assert.equal(on.data.root(root), undefined);
      assert.equal(await on.pool.isKnownRoot(root), false);
    }
    assert.equal(on.data.root(first.root.root)?.sequence, first.root.sequence);
    assert.equal(on.data.execution(second.made.statement.hash), undefined);
    assert.notEqual(on.data.execution(third.made.statement.hash), undefined);
    assert.deepEqual(on.data.voids(), [{ firstLeafIndex: 3, leafCount: 3 }]);
    assert.deepEqual(
      on.data.leaves(0, 9).map(({ isVoid }) => isVoid),
      [0, 0, 0, 1, 1, 1, 0, 0, 0].map(Boolean),
    );
    await agrees();
  });

  it("goes on by advance, with the void leaves empty, and then by attested updates again", async () => {
    const { first, third } = await refuted();
    await advance(on);
    await until("the tree to have grown", () => !on.data.awaitsAdvance());
    await agrees();
    assert.equal(on.rooted().leafCount, 9);
    assert.notEqual(on.rooted().root, third.root.root);
    const page = createMerkle(on.indexer, on.data).page(0, 3, 3);
    assert.deepEqual([...page.nodes()], [...new Uint8Array(96)]);
    on.link.signer = attester(2);
    // Past the second for which the attested path is closed here.
    await on.rpc("evm_increaseTime", [5]);
    await on.mine(2);
    await on.restart();
    await on.run();
    const { root } = await deposited(on);
    assert.ok(root.sequence > third.root.sequence);
    assert.equal(root.leafCount, 12);
    assert.notEqual(on.data.root(first.root.root), undefined);
    await agrees();
  });

  it("keeps the root and its number where advance goes over void leaves only, also from nothing", async () => {
    const { made, root } = await deposited(on);
    await on.sequencer.stop();
    const empty = emptyNode(TREE_DEPTH);
    await refute(on, made, attester(1), [empty, root.root]);
    await until("the refutation to be indexed", () => on.data.awaitsAdvance());
    assert.deepEqual([on.rooted().root, on.rooted().leafCount], [empty, 0]);
    await advance(on);
    await until("the tree to have gone on", () => !on.data.awaitsAdvance());
    assert.deepEqual([on.rooted().root, on.rooted().leafCount, on.rooted().sequence], [empty, 3, 0]);
    await agrees();
  });

  it("is the same after a restart in each of these states", async () => {
    await refuted();
    for (const step of [async () => undefined, () => advance(on)]) {
      await step();
      await agrees();
      const before = [on.rooted(), on.data.voids(), on.data.awaitsAdvance()];
      await on.restart();
      await on.indexer.start();
      await agrees();
      assert.deepEqual([on.rooted(), on.data.voids(), on.data.awaitsAdvance()], before);
    }
  });

  describe("where a root was forged", () => {
    /** Four true leaves that wait, and a root over them that is nobody's. */
    async function forged() {
      const { root } = await deposited(on);
      await on.sequencer.stop();
      const stranger = on.spend(root.root);
      await poolContract(on).execute(stranger, await on.attestor.attest(stranger.statement, NO_PROOF));
      await until("its leaves to be indexed", () => on.data.leafCount() === 7);
      const update = await forgeRoot(on, attester(1), drawField());
      await until("the root to be indexed", () => on.data.root(update.newRoot) !== undefined);
      return { root, stranger, update };
    }

    it("serves no tree while it stands; refuted, it is revoked, no leaf is void, and the service goes on", async () => {
      const { root, stranger, update } = await forged();
      assert.match(on.indexer.state().fault ?? "", /not the root of its leaves/);
      assert.throws(() => createMerkle(on.indexer, on.data).root());
      await refuteRoot(on, update, attester(1));
      await until("the refutation to be indexed", () => on.data.awaitsAdvance());
      assert.equal(on.data.root(update.newRoot), undefined);
      assert.deepEqual([on.rooted().root, on.rooted().leafCount], [root.root, 3]);
      assert.deepEqual(on.data.voids(), []);
      assert.notEqual(on.data.execution(stranger.statement.hash), undefined);
      assert.equal(createMerkle(on.indexer, on.data).root().pending, 4);
      await agrees();

      on.link.signer = attester(2);
      await on.restart();
      await on.run();
      await until("the service to have gone on", () => on.rooted().leafCount === 7);
      await agrees();
      assert.equal(on.data.leaves(0, 7).filter(({ isVoid }) => isVoid).length, 0);
    });

    it("is the same after a restart before the refutation, and when the chain goes back across it", async () => {
      const { root, update } = await forged();
      await on.restart();
      await on.indexer.start();
      await until("the root to be indexed again", () => on.data.root(update.newRoot) !== undefined);
      await until("it to be known for false", () => on.indexer.state().fault !== undefined);
      await refuteRoot(on, update, attester(1));
      await until("the refutation to be indexed", () => on.data.awaitsAdvance());
      await agrees();
      await on.rpc("anvil_reorg", [1, []]);
      await until("the refutation to be gone", () => !on.data.awaitsAdvance());
      assert.equal(on.rooted().root, update.newRoot);
      assert.match(on.indexer.state().fault ?? "", /not the root of its leaves/);
      await refuteRoot(on, update, attester(1));
      await until("it to be refuted again", () => on.data.awaitsAdvance());
      await agrees();
      assert.equal(on.rooted().root, root.root);
    });
  });

  it("goes back across all of it with the chain, and forward again", async () => {
    const { second, third } = await refuted();
    const refutedIn = on.data.tip()!.number;
    await advance(on);
    await until("the tree to have grown", () => !on.data.awaitsAdvance());
    const height = (await on.chain.header("latest"))!.number;
    await on.rpc("anvil_reorg", [height - refutedIn, []]);
    await until("the advance to be gone", () => on.data.awaitsAdvance());
    await agrees();
    const now = (await on.chain.header("latest"))!.number;
    await on.rpc("anvil_reorg", [now - refutedIn + 1, []]);
    await until("the refutation to be gone", () => on.data.voids().length === 0);
    await agrees();
    assert.deepEqual({ ...on.rooted(), block: 0 }, { ...third.root, block: 0 });
    assert.notEqual(on.data.execution(second.made.statement.hash), undefined);
    assert.notEqual(on.data.root(second.root.root), undefined);
  });
});
