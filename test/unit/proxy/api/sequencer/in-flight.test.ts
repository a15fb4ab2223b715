/**
 * Several calls in flight on a real chain with the real pool: what a later one assumes of an earlier one, and what becomes
 * of payments, their order and the tree where it does not hold.
 */
import assert from "node:assert/strict";
import { Wallet } from "ethers";
import type { Outgoing, TicketRecord } from "../../../../../proxy/base/store/tickets.ts";
import { asAddress } from "../../../../../shared/protocol/host/text.ts";
import { Money, NO_PROOF, type MadeStatement } from "../../../../support/money.ts";
import { poolContract } from "../../../../support/pool-contract.ts";
import { until } from "../../../../support/until.ts";
import { assertInOrder } from "./order.ts";

const LEAVES_OF_SPEND = 4;

describe("sequencer with several calls in flight", function () {
  let on: Money;
  let roomOfBlocks: string;
  const skipped = async (): Promise<number> =>
    (await on.events()).filter(({ kind }) => kind === "root-skipped").length;

  async function begin(options: Parameters<typeof Money.start>[0] = {}): Promise<void> {
    on = await Money.start({ maxBatch: 2, ...options });
    await on.seed();
    await on.mine(options.confirmations ?? 3);
    await until("nothing to be under way", async () => (await on.store.outgoing()).length === 0);
    const latest = (await on.rpc("eth_getBlockByNumber", ["latest", false])) as { gasLimit: string };
    roomOfBlocks = latest.gasLimit;
    await on.rpc("evm_setAutomine", [false]);
  }
  afterEach(() => on.stop());

  const outgoing = (count: number): Promise<readonly Outgoing[]> =>
    until(`${String(count)} calls to be in flight`, async () => {
      const all = await on.store.outgoing();
      return all.length === count && (await knownAll(all)) ? all : undefined;
    });
  async function knownAll(all: readonly Outgoing[]): Promise<boolean> {
    const known = await Promise.all(all.map(({ attempts }) => on.chain.knows(attempts.at(-1)!.hash)));
    return known.every(Boolean);
  }

  /** One payment that goes at once, and as many calls of two behind it. */
  async function fly(calls: number): Promise<{ made: MadeStatement[]; tickets: TicketRecord[] }> {
    const made: MadeStatement[] = [];
    const tickets: TicketRecord[] = [];
    for (let call = 0; call < calls; call++) {
      for (let member = 0; member < (call === 0 ? 1 : 2); member++) {
        made.push(on.spend(on.rooted().root));
        tickets.push(await on.accept(made.at(-1)!));
      }
      await outgoing(call + 1);
    }
    return { made, tickets };
  }

  /** A block without room for any call. Were they dropped instead, one that is sent again could be in it. */
  async function mineNoneOfOurs(): Promise<void> {
    await on.rpc("evm_setBlockGasLimit", ["0x5208"]);
    await on.mine();
    await on.rpc("evm_setBlockGasLimit", [roomOfBlocks]);
    await on.indexer.sync();
  }

  async function mined(): Promise<void> {
    await on.rpc("evm_setAutomine", [true]);
    await on.mine();
  }

  /** Each executed once, in order of acceptance, and in the end the tree has all leaves. */
  async function allStand({ made, tickets }: Awaited<ReturnType<typeof fly>>): Promise<TicketRecord[]> {
    const done: TicketRecord[] = [];
    for (const ticket of tickets) done.push(await on.isDone(ticket));
    for (const one of made) assert.equal(await on.executions(one), 1);
    await until("every leaf to be in the tree", () => on.rooted().leafCount === on.data.leafCount());
    assert.equal((await on.pool.currentRoot()).root, on.indexer.tree.root(on.data.leafCount()));
    return done;
  }

  it("goes behind one that is in no block when it is full, in one block, each with the root that it leads to", async () => {
    await begin();
    const flight = await fly(4);
    const before = on.rooted();
    await on.mine();
    const done = await allStand(flight);
    assertInOrder(done);
    const blocks = done.map(({ status }) => "outcome" in status && status.outcome.block);
    assert.equal(new Set(blocks).size, 1);
    assert.equal(on.rooted().leafCount, before.leafCount + 7 * LEAVES_OF_SPEND);
    assert.equal(on.rooted().sequence, before.sequence + 4, "an update in each call, and all of them taken");
    assert.equal(await skipped(), 0);
  });

  for (const maxInFlight of [1, 2, 3])
    it(`has at most ${String(maxInFlight)} in flight where that is the limit, and the rest goes with the block`, async () => {
      await begin({ maxInFlight });
      const flight = await fly(maxInFlight);
      for (let i = 0; i < 4; i++) {
        flight.made.push(on.spend(on.rooted().root));
        flight.tickets.push(await on.accept(flight.made.at(-1)!));
      }
      for (let i = 0; i < 2; i++) await mineNoneOfOurs();
      await outgoing(maxInFlight);
      await mined();
      assertInOrder(await allStand(flight));
    });

  it("waits to be full behind one that is in no block, and goes with less when a block has come", async () => {
    await begin();
    const flight = await fly(1);
    flight.made.push(on.spend(on.rooted().root));
    flight.tickets.push(await on.accept(flight.made[1]!));
    await on.indexer.sync();
    assert.equal((await on.store.outgoing()).length, 1);
    await mineNoneOfOurs();
    await outgoing(2);
    assert.equal(await on.executions(flight.made[0]!), 0);
    await mined();
    assertInOrder(await allStand(flight));
  });

  it("where a member of an earlier one fails, the later ones' members stand and their updates are skipped", async () => {
    await begin();
    const depositor = await fundedDepositor();
    const deposit = await on.deposit(5_000_000n, { depositor });
    const failing = await on.accept(deposit);
    await outgoing(1);
    const flight = await flyBehind(2);
    await moveAway(depositor);
    await mined();
    const done = await allStand(flight);
    assertInOrder(done);
    assert.equal(await on.executions(deposit), 0);
    assert.ok((await skipped()) >= 2, "those that assumed the deposit's leaves");
    const { status } = (await on.store.get(failing.id))!;
    assert.ok("error" in status);
    assert.equal(status.error.code, "INSUFFICIENT_FUNDS");
  });

  it("after an update that was skipped, the next is over leaves that are mined: who fails in each call keeps no root away", async () => {
    await begin({ maxInFlight: 1 });
    const [first, second] = [await fundedDepositor(), await fundedDepositor()];
    await on.sequencer.stop();
    await on.accept(await on.deposit(5_000_000n, { depositor: first }));
    const paid = await on.accept(on.spend(on.rooted().root));
    await on.restart();
    await on.run();
    const [call] = await outgoing(1);
    await on.accept(await on.deposit(5_000_000n, { depositor: second }));
    await on.accept(on.spend(on.rooted().root));
    const before = on.rooted();
    await moveAway(first);
    await on.mine();
    await on.isDone(paid);
    assert.deepEqual([await skipped(), on.rooted()], [1, before]);
    await until("the second call", async () => {
      const later = (await on.store.outgoing()).filter(({ nonce }) => nonce > call!.nonce);
      return later.length > 0 && (await knownAll(later));
    });
    await moveAway(second);
    await on.mine();
    await until(
      "the first payment's leaves to be in the tree",
      () => on.rooted().leafCount > before.leafCount,
    );
    assert.equal(on.rooted().leafCount, before.leafCount + LEAVES_OF_SPEND);
    assert.equal(await skipped(), 1);
  });

  it("a stranger's call in between makes updates be skipped, and nothing else", async () => {
    await begin();
    const flight = await fly(3);
    const theirs = on.spend(on.rooted().root);
    const attestations = await on.attestor.attest(theirs.statement, NO_PROOF);
    const sent = poolContract(on).execute(theirs, attestations);
    await on.rpc("evm_setAutomine", [true]);
    await on.mine();
    await sent;
    assertInOrder(await allStand(flight));
    assert.equal(await on.executions(theirs), 1);
  });

  it("sends all again that the node forgot, in their order", async () => {
    await begin();
    const flight = await fly(3);
    const before = await on.store.outgoing();
    await on.rpc("anvil_dropAllTransactions");
    await until("all of them to be known again", () => knownAll(before));
    await mined();
    assertInOrder(await allStand(flight));
    assert.equal(await skipped(), 0);
  });

  it("is found again after a kill: nothing twice, nothing lost, and what goes behind them waits for no root", async () => {
    await begin();
    const flight = await fly(3);
    await on.halt();
    await on.rpc("anvil_dropAllTransactions");
    await on.reopen();
    await on.run();
    await outgoing(3);
    for (let i = 0; i < 2; i++) {
      flight.made.push(on.spend(on.rooted().root));
      flight.tickets.push(await on.accept(flight.made.at(-1)!));
    }
    await outgoing(4);
    await mined();
    assertInOrder(await allStand(flight));
    assert.equal(await skipped(), 0, "of calls that another process sent nothing is assumed");
  });

  it("a deep reorganisation takes all of them back: each is executed once, in order", async () => {
    await begin({ confirmations: 20 });
    const flight = await fly(4);
    await on.mine();
    await allStand(flight);
    await on.mine();
    // anvil does not return what it takes back to its pool.
    await on.rpc("anvil_reorg", [2, []]);
    assert.equal(await on.executions(flight.made[0]!), 0);
    await mined();
    const last = flight.made.at(-1)!;
    await until("the last to be executed again", async () => (await on.executions(last)) === 1);
    await on.indexer.sync();
    const done = await allStand(flight);
    assertInOrder(done);
  });

  it("a foreign transaction under the first one's nonce: its members go again, the later ones' once", async () => {
    await begin();
    const flight = await fly(3);
    await on.rpc("anvil_dropAllTransactions");
    await on.rpc("anvil_impersonateAccount", [on.sender]);
    await on.rpc("eth_sendTransaction", [
      {
        ...{ from: on.sender, to: asAddress(Wallet.createRandom().address), value: "0x1" },
        nonce: `0x${(await on.chain.nonce(on.sender)).toString(16)}`,
        ...{ maxFeePerGas: "0x174876e800", maxPriorityFeePerGas: "0x2540be400" },
      },
    ]);
    await mined();
    await allStand(flight);
  });

  it("replaces the first that is stuck, as no fee brings a later one past it", async () => {
    await begin({ stuckAfterMs: 300 });
    const flight = await fly(3);
    const all = await until("a replacement", async () => {
      const entries = await on.store.outgoing();
      return entries[0]!.attempts.length >= 3 ? entries : undefined;
    });
    assert.deepEqual(
      all.slice(1).map(({ attempts }) => attempts.length),
      [1, 1],
    );
    await mined();
    assertInOrder(await allStand(flight));
  });

  it("has no more in flight than the gas wallet could pay at once", async () => {
    await begin();
    const flight = await fly(1);
    const [{ gasLimit, attempts }] = (await on.store.outgoing()) as [Outgoing];
    // Enough for one and a half of such calls.
    await on.fund((gasLimit * attempts[0]!.maxFeePerGas * 3n) / 2n);
    for (let i = 0; i < 2; i++) {
      flight.made.push(on.spend(on.rooted().root));
      flight.tickets.push(await on.accept(flight.made.at(-1)!));
    }
    for (let i = 0; i < 3; i++) await on.indexer.sync();
    assert.equal((await on.store.outgoing()).length, 1);
    assert.equal(on.sequencer.state().blockedBy, undefined, "what is in flight will be paid");
    await on.fund(10n ** 20n);
    await outgoing(2);
    await mined();
    assertInOrder(await allStand(flight));
  });

  /** So many calls of two members behind those that are in flight. */
  async function flyBehind(calls: number): ReturnType<typeof fly> {
    const had = (await on.store.outgoing()).length;
    const flight: Awaited<ReturnType<typeof fly>> = { made: [], tickets: [] };
    for (let call = 1; call <= calls; call++) {
      for (let member = 0; member < 2; member++) {
        flight.made.push(on.spend(on.rooted().root));
        flight.tickets.push(await on.accept(flight.made.at(-1)!));
      }
      await outgoing(had + call);
    }
    return flight;
  }

  async function fundedDepositor(): ReturnType<Money["depositor"]> {
    await on.rpc("evm_setAutomine", [true]);
    const depositor = await on.depositor(5_000_000n);
    await on.rpc("anvil_setBalance", [depositor.address, "0xde0b6b3a7640000"]);
    await on.rpc("evm_setAutomine", [false]);
    await on.indexer.sync();
    return depositor;
  }

  /** Its money, ahead of everything that waits for the next block. */
  async function moveAway(depositor: Awaited<ReturnType<Money["depositor"]>>): Promise<void> {
    const data = on.usdc.interface.encodeFunctionData("transfer", [Wallet.createRandom().address, 1n]);
    await depositor.sendTransaction({
      ...{ to: on.usdcAddress, data, gasLimit: 200_000n },
      ...{ maxFeePerGas: 10n ** 12n, maxPriorityFeePerGas: 10n ** 11n },
    });
  }
});
