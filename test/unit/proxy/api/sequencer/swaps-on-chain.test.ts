// Swaps and plain deposits through the real sequencer and the real pool, with a venue that pays what it is told.
import assert from "node:assert/strict";
import { Contract } from "ethers";
import { loadArtifact } from "../../../../../scripts/build/contracts.ts";
import { deployContract } from "../../../../../scripts/deploy/pool.ts";
import { depositDraft, swapDraft } from "../../../../support/drafts.ts";
import { Admission } from "../../../../../proxy/api/payments/admission.ts";
import type { TicketError, TicketRecord } from "../../../../../proxy/base/store/tickets.ts";
import { POOL_ABI } from "../../../../../shared/contracts/abi.ts";
import { ZERO_ADDRESS, type Address } from "../../../../../shared/protocol/brands.ts";
import { asAddress } from "../../../../../shared/protocol/host/text.ts";
import { poseidon3 } from "../../../../../shared/protocol/host/poseidon.ts";
import { testFees } from "../../../../support/fees.ts";
import { Money, OWNER, type MadeStatement } from "../../../../support/money.ts";
import { until } from "../../../../support/until.ts";
import { paymentsOn } from "../payments/payments-on.ts";
import { posted } from "../payments/posted.ts";

interface Sent {
  wait(): Promise<unknown>;
}
const PAYOUT = 3_000n;
const FLOOR = 2_500n;

describe("sequencer: swaps on a real chain with the real pool", function () {
  let on: Money;
  let weth: Address;
  let executor: Address;

  async function call(target: Address, abi: unknown, name: string, ...args: unknown[]): Promise<void> {
    const contract = new Contract(target, abi as never, on.owner);
    await ((await contract[name]!(...args)) as Sent).wait();
  }
  const pays = async (payout: bigint): Promise<void> =>
    call(executor, (await loadArtifact("FixedExecutor")).abi, "setPayout", payout);

  beforeEach(async () => {
    on = await Money.start();
    const tokenAbi = (await loadArtifact("TestToken")).abi;
    weth = (await deployContract(on.owner, "TestToken", ["Wrapped ether", "WETH", 18])).address;
    executor = (await deployContract(on.owner, "FixedExecutor", [])).address;
    await call(weth, tokenAbi, "mint", executor, 10n ** 18n);
    await call(on.pool.address, POOL_ABI, "proposeAsset", weth, 10n ** 24n);
    await call(on.pool.address, POOL_ABI, "proposeExecutor", executor);
    await on.rpc("evm_increaseTime", [2]);
    await call(on.pool.address, POOL_ABI, "addAsset", weth);
    await call(on.pool.address, POOL_ABI, "setExecutor", executor);
    await pays(PAYOUT);
    await on.run();
    await on.reaches(await on.accept(await on.deposit()), "confirmed");
  });
  afterEach(() => on.stop());

  const root = () => on.data.currentRoot()!.root;
  function swap(npkOut = 77n): MadeStatement {
    const path = { feeFirst: 500, middle: ZERO_ADDRESS, feeSecond: 0 };
    const terms = {
      asset: on.usdcAddress,
      amount: 1_000n,
      tokenOut: weth,
      minAmountOut: FLOOR,
      npkOut,
      path,
    };
    return on.stated(swapDraft(on.setting, root(), terms));
  }
  function errorOf(ticket: TicketRecord): Promise<TicketError> {
    return until("the reason", async () => {
      const { status } = (await on.store.get(ticket.id))!;
      return "error" in status ? status.error : undefined;
    });
  }

  it("executes one: four leaves, the last as the pool measured it, all of them in the tree two blocks later", async () => {
    const made = swap();
    const done = await on.reaches(await on.accept(made), "confirmed");
    assert.ok(done.status.state === "confirmed");
    assert.deepEqual(done.status.outcome.leafIndexes, [3, 4, 5, 6]);
    await until("its leaves to be rooted", () => on.data.currentRoot()!.leafCount === 7);
    assert.ok(on.data.currentRoot()!.block <= done.status.outcome.block + 2);
    assert.equal((await on.pool.currentRoot()).root, on.indexer.tree.root(7));
    const last = on.data
      .eventsAfter(undefined, 100)
      .flatMap(({ event }) => (event.kind === "leaf" ? [event] : []))
      .at(-1)!;
    assert.deepEqual(last.opening, { npk: 77n, asset: weth, value: PAYOUT });
    assert.equal(last.commitment, poseidon3(last.opening.npk, BigInt(weth), PAYOUT));
    assert.equal(await on.tokens.balanceOf(weth, on.pool.address), PAYOUT);
  });

  it("sends swaps last, with a root over what stands before them", async () => {
    await on.rpc("evm_setAutomine", [false]);
    const first = await on.accept(on.spend(root()));
    await until(
      "the first to be sent",
      async () => (await on.store.get(first.id))?.status.state === "submitted",
    );
    const swapped = await on.accept(swap());
    const spent = await on.accept(on.spend(root()));
    await on.rpc("evm_setAutomine", [true]);
    await on.mine();
    const outcomes = [];
    for (const ticket of [swapped, spent]) {
      const { status } = await on.reaches(ticket, "confirmed");
      outcomes.push(status.state === "confirmed" ? status.outcome : assert.fail());
    }
    assert.equal(outcomes[0]!.txHash, outcomes[1]!.txHash);
    assert.deepEqual(
      outcomes.map(({ leafIndexes }) => leafIndexes[0]),
      [11, 7],
    );
    await until("all leaves to be rooted", () => on.data.currentRoot()!.leafCount === 15);
    const sequence = (await on.pool.currentRoot()).sequence;
    // Deposit, first payment, prefix of the mixed call, its swap.
    assert.equal(sequence, 4);
  });

  it("holds one whose floor is missed without gas, lets its neighbour pass, and executes it once it fits", async () => {
    await pays(FLOOR - 1n);
    const nonce = await on.chain.nonce(on.sender);
    const made = swap();
    const held = await on.accept(made);
    assert.equal((await errorOf(held)).code, "SLIPPAGE_EXCEEDED");
    await on.reaches(await on.accept(on.spend(root())), "confirmed");
    assert.equal(await on.chain.nonce(on.sender), nonce + 1);
    assert.equal((await on.store.get(held.id))?.status.state, "queued");
    await pays(FLOOR);
    await on.mine(8);
    await on.isDone(held);
    assert.equal(await on.executions(made), 1);
  });

  it("one whose market moved between simulation and block is refused alone, and waits to be sent again", async () => {
    await on.rpc("evm_setAutomine", [false]);
    const made = swap();
    const swapped = await on.accept(made);
    await until("it to be sent", async () => (await on.store.get(swapped.id))?.status.state === "submitted");
    const artifact = await loadArtifact("FixedExecutor");
    const venue = new Contract(executor, artifact.abi, on.owner);
    const ahead = { maxFeePerGas: 10n ** 12n, maxPriorityFeePerGas: 10n ** 12n };
    const moved = (await venue["setPayout"]!(FLOOR - 1n, ahead)) as Sent;
    await on.mine();
    await moved.wait();
    assert.equal((await errorOf(swapped)).code, "SLIPPAGE_EXCEEDED");
    assert.equal((await on.store.get(swapped.id))?.status.state, "submitted");
    assert.equal(await on.executions(made), 0);
    await on.rpc("evm_setAutomine", [true]);
    await pays(PAYOUT);
    await on.mine(8);
    await on.isDone(swapped);
    assert.equal(await on.executions(made), 1);
  });

  it("without an executor swaps wait, payments go on, and nothing is in ill health", async () => {
    await call(on.pool.address, POOL_ABI, "removeExecutor", executor);
    assert.equal(await on.pool.executor(), undefined);
    const swapped = await on.accept(swap());
    await on.reaches(await on.accept(on.spend(root())), "confirmed");
    await until("the sequencer to ask for one", () => on.sequencer.blockedBy("private-swap") === "executor");
    assert.equal(on.sequencer.blockedBy("spend"), undefined);
    assert.equal(on.sequencer.state().blockedBy, undefined);
    assert.deepEqual((await on.store.get(swapped.id))?.status, { state: "queued" });
    await call(on.pool.address, POOL_ABI, "proposeExecutor", executor);
    await on.rpc("evm_increaseTime", [2]);
    await call(on.pool.address, POOL_ABI, "setExecutor", executor);
    await on.reaches(swapped, "confirmed");
    assert.equal(on.sequencer.blockedBy("private-swap"), undefined);
  });

  it("gives one that somebody else carried a ticket with its four leaves", async () => {
    const made = swap();
    const assets = [
      { address: on.usdcAddress, symbol: "USDC", decimals: 6 },
      { address: weth, symbol: "WETH", decimals: 18 },
    ];
    const { pool, tokens, store: tickets, data } = on;
    const admission = new Admission({
      deadEnds: [],
      ...{ pool, brakes: pool, tokens, assets, fees: testFees({ assets }) },
      ...{ tickets, data, isFresh: () => true, now: Date.now },
    });
    const payments = paymentsOn(on, admission);
    const { calldata } = await payments.attest(OWNER.developerId, posted(made.draft));
    const stranger = await on.provider.getSigner(5);
    const sent = await stranger.sendTransaction({ to: pool.address, data: calldata, gasLimit: 3_000_000n });
    await sent.wait();
    const outcome = await until("the swap to be read", () => data.execution(made.statement.hash));
    assert.equal(outcome.leafIndexes.length, 4);
    const ticket = await payments.accept(OWNER, posted(made.draft));
    assert.deepEqual(ticket.status, { state: "confirmed", outcome });
    await on.mine(3);
    assert.deepEqual((await on.reaches(ticket, "finalized")).status, { state: "finalized", outcome });
  });

  it("attests a plain deposit that its depositor sends, and nobody else can", async () => {
    const asset = { address: weth, symbol: "WETH", decimals: 18 };
    const fees = testFees({ assets: [asset] });
    const { pool, tokens, store: tickets, data } = on;
    const admission = new Admission({
      deadEnds: [],
      ...{ pool, brakes: pool, tokens, assets: [asset], fees },
      ...{ tickets, data, isFresh: () => false, now: Date.now },
    });
    const payments = paymentsOn(on, admission);
    const depositor = await on.provider.getSigner(4);
    const account = asAddress(depositor.address)!;
    const tokenAbi = (await loadArtifact("TestToken")).abi;
    await call(weth, tokenAbi, "mint", account, 5_000n);
    const token = new Contract(weth, tokenAbi, depositor);
    await ((await token["approve"]!(pool.address, 5_000n)) as Sent).wait();
    const made = on.stated(depositDraft(on.setting, { asset: weth, amount: 5_000n, depositor: account }));
    const { calldata } = await payments.attest(OWNER.developerId, posted(made.draft));

    const send = async (index: number): Promise<void> => {
      const sender = await on.provider.getSigner(index);
      await (await sender.sendTransaction({ to: pool.address, data: calldata, gasLimit: 2_000_000n })).wait();
    };
    await send(5);
    assert.equal(await on.executions(made), 0);
    await send(4);
    assert.equal(await on.executions(made), 1);
    assert.equal(await tokens.balanceOf(weth, pool.address), 5_000n);
    await until("the deposit to be indexed", () => data.execution(made.statement.hash) !== undefined);
    await assert.rejects(payments.attest(OWNER.developerId, posted(made.draft)), {
      code: "AUTHORIZATION_INVALID",
    });
  });
});
