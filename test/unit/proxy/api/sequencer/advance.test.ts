/** How the service gets past void leaves, and on while nobody attests, by itself: the pool and its refutations are real. */
import assert from "node:assert/strict";
import { Interface } from "ethers";
import { attester } from "../../../../../scripts/stack/pool-transaction.ts";
import { POOL_ABI } from "../../../../../shared/contracts/abi.ts";
import type { StoredRoot } from "../../../../../proxy/base/store/chain-data.ts";
import { Money, NO_PROOF } from "../../../../support/money.ts";
import { poolContract } from "../../../../support/pool-contract.ts";
import { advance, deposited, poolOf, refute } from "../../../../support/refuting.ts";
import { until } from "../../../../support/until.ts";

const ADVANCE = new Interface(POOL_ABI).getFunction("advance")!.selector;
const HOURS = 3_600;

describe("sequencer: advance on a real chain with the real pool", function () {
  let on: Money;

  beforeEach(async () => {
    on = await Money.start();
    await on.run();
  });
  afterEach(() => on.stop());

  /** Nine leaves, the second three to be refuted; the other signer works on. */
  async function threeDeposits() {
    const [first, second, third] = [await deposited(on), await deposited(on), await deposited(on)];
    on.link.signer = attester(2);
    const refuted = () => refute(on, second.made, attester(1), [first.root.root, second.root.root]);
    return { first, second, third, refuted };
  }

  /** Calls of ours in the chain, in order of their nonces: `advance` or not. */
  async function ours(): Promise<{ nonce: number; isAdvance: boolean; gasLimit: bigint; gasUsed: bigint }[]> {
    const found = [];
    for (let number = on.deploymentBlock; number <= (await on.provider.getBlockNumber()); number++) {
      const block = (await on.provider.getBlock(number, true))!;
      for (const { from, nonce, data, gasLimit, hash } of block.prefetchedTransactions) {
        if (from.toLowerCase() !== on.sender) continue;
        const { gasUsed, status } = (await on.provider.getTransactionReceipt(hash))!;
        assert.equal(status, 1);
        found.push({ nonce, isAdvance: data.startsWith(ADVANCE), gasLimit, gasUsed });
      }
    }
    return found;
  }
  const advances = async (): Promise<number> => (await ours()).filter(({ isAdvance }) => isAdvance).length;

  /** With another root than the one that was refuted: that one had as many leaves. */
  const regrown = (third: { readonly root: StoredRoot }): Promise<boolean> =>
    until("the tree to have grown", () => {
      const { leafCount, root } = on.rooted();
      return leafCount === 9 && root !== third.root.root;
    });

  /** Past the second for which a refutation closes the attested path here. */
  async function reopened(): Promise<void> {
    await on.rpc("evm_increaseTime", [5]);
    await on.mine();
  }

  it("goes past void leaves after a refutation, and payments go on with roots over what they make", async () => {
    const { first, third, refuted } = await threeDeposits();
    await refuted();
    await regrown(third);
    assert.equal((await on.pool.currentRoot()).root, on.indexer.tree.root(9));
    await reopened();
    const spent = [on.spend(first.root.root), on.spend(on.rooted().root)];
    for (const made of spent) await on.isDone(await on.accept(made));
    await until("a root over all of it", () => on.rooted().leafCount === 17);
    for (const made of spent) assert.equal(await on.executions(made), 1);
    const calls = await ours();
    assert.deepEqual(
      calls.map(({ nonce }) => nonce),
      calls.map((_, at) => at),
    );
    const made = calls.filter(({ isAdvance }) => isAdvance);
    assert.equal(made.length, 1);
    // A node's own estimate would be near to what is used; ours is far above.
    assert.ok(made[0]!.gasUsed * 3n < made[0]!.gasLimit * 2n);
    assert.match(await on.metrics.text(), /cloister_transactions_total\{event="advance"\} 1/);
  });

  it("gets there once where it was killed with its call under way, under the same nonce", async () => {
    const { third, refuted } = await threeDeposits();
    await refuted();
    await regrown(third);
    // Before the reorganisation: what is sent again at once must not be mined before anybody has looked.
    await on.rpc("evm_setAutomine", [false]);
    await on.rpc("anvil_reorg", [1, []]);
    await until("the advance to be gone", () => on.data.awaitsAdvance());
    await on.restart();
    await on.run();
    await until(
      "it to be sent again",
      async () => (await on.provider.getTransactionCount(on.sender, "pending")) === 4,
    );
    await on.rpc("evm_setAutomine", [true]);
    await on.mine();
    await regrown(third);
    assert.deepEqual(
      (await ours()).map(({ nonce, isAdvance }) => [nonce, isAdvance]),
      [
        [0, false],
        [1, false],
        [2, false],
        [3, true],
      ],
    );
    assert.equal((await on.store.outgoing()).filter(({ nonce }) => nonce === 3).length, 1);
  });

  it("stores its call before it sends it, and pays more for one that is stuck", async () => {
    await on.stop();
    on = await Money.start({ stuckAfterMs: 1_000 });
    await on.run();
    const { third, refuted } = await threeDeposits();
    await on.rpc("evm_setAutomine", [false]);
    const sent = refuted();
    await until(
      "the refutation to wait",
      async () => (await on.provider.send("txpool_status", [])).pending === "0x1",
    );
    await on.mine();
    await sent;
    const entry = await until("a second attempt", async () => {
      const [waiting] = (await on.store.outgoing()).filter(({ minedIn }) => minedIn === undefined);
      return waiting !== undefined && waiting.attempts.length > 1 ? waiting : undefined;
    });
    assert.deepEqual(entry.ticketIds, []);
    assert.equal(entry.data.slice(0, 10), ADVANCE);
    assert.ok(entry.attempts[1]!.maxFeePerGas > entry.attempts[0]!.maxFeePerGas);
    await on.rpc("evm_setAutomine", [true]);
    await on.mine();
    await regrown(third);
    assert.equal(await advances(), 1);
  });

  it("goes on with payments where somebody else advanced first, and pays for no second one", async () => {
    const { refuted } = await threeDeposits();
    await on.sequencer.stop();
    await refuted();
    await until("the refutation to be indexed", () => on.data.awaitsAdvance());
    await advance(on);
    await reopened();
    await on.restart();
    await on.run();
    const made = on.spend(on.rooted().root);
    await on.isDone(await on.accept(made));
    assert.equal(await advances(), 0);
    assert.equal(await on.executions(made), 1);
  });

  /** Four leaves in no root, of a call that a stranger made. */
  async function leavesThatWait(): Promise<void> {
    await deposited(on);
    await on.sequencer.stop();
    const stranger = on.spend(on.rooted().root);
    await poolContract(on).execute(stranger, await on.attestor.attest(stranger.statement, NO_PROOF));
    await until("its leaves to be indexed", () => on.data.leafCount() === 7);
  }

  it("takes a few leaves into the tree only after a while where the path is closed and nothing is void", async () => {
    await leavesThatWait();
    await (await poolOf(on).getFunction("pause")()).wait();
    await on.restart();
    await on.run();
    const ticket = await on.accept(on.spend(on.rooted().root));
    await until("it to be held", () => on.sequencer.blockedBy("spend") === "pause");
    await on.mine(3);
    // eslint-disable-next-line no-restricted-syntax -- nothing tells of a turn in which nothing is sent
    await new Promise((done) => setTimeout(done, 500));
    assert.equal(on.rooted().leafCount, 3);
    await on.rpc("evm_increaseTime", [HOURS]);
    await on.mine();
    await until("the tree to have grown", () => on.rooted().leafCount === 7);
    assert.equal(await advances(), 1);
    assert.deepEqual((await on.store.get(ticket.id))?.status, { state: "queued" });
    // Asked anew in every turn, and until then it says nothing.
    await until("it to be held again", () => on.sequencer.state().blockedBy === "pause");
  });

  it("goes on without the signers when they were silent for as long as the pool asks for, and not before", async () => {
    await leavesThatWait();
    on.link.isUnreachable = true;
    await on.restart();
    await on.run();
    await on.rpc("evm_increaseTime", [5 * HOURS]);
    await on.mine();
    await until("an enclave to be missed", () => on.sequencer.state().blockedBy === "enclave");
    assert.equal(on.rooted().leafCount, 3);
    await on.rpc("evm_increaseTime", [HOURS]);
    await on.mine();
    await until("the tree to have grown", () => on.rooted().leafCount === 7);
    assert.equal(await advances(), 1);
  });
});
