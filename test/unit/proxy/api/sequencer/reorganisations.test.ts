/** Chains that go back, and nodes that do not show all: what was sent, what was chosen, and in which order it goes. */
import assert from "node:assert/strict";
import { Wallet } from "ethers";
import type { TicketRecord } from "../../../../../proxy/base/store/tickets.ts";
import { asAddress } from "../../../../../shared/protocol/host/text.ts";
import { Money } from "../../../../support/money.ts";
import { poolContract } from "../../../../support/pool-contract.ts";
import { openOf } from "../../../../support/stores/tickets.ts";
import { until } from "../../../../support/until.ts";
import { assertInOrder } from "./order.ts";

describe("sequencer on a real chain that goes back", function () {
  let on: Money;

  beforeEach(async () => {
    on = await Money.start();
  });
  afterEach(() => on.stop());

  it("sends what a reorganisation took back again, and executes it once", async () => {
    await on.seed();
    await on.mine(3);
    const made = on.spend(on.rooted().root);
    const ticket = await on.reaches(await on.accept(made), "confirmed");
    // anvil does not return reorganised transactions to its pool: ours has to be sent again.
    await on.rpc("anvil_reorg", [1, []]);
    await until("the ticket to be back in a block", async () => {
      const now = (await on.store.get(ticket.id))!;
      return (
        now.status.state === "confirmed" &&
        (await on.executions(made)) === 1 &&
        on.data.execution(made.statement.hash)
      );
    });
    await on.mine(3);
    await on.reaches(ticket, "finalized");
    assert.equal(await on.executions(made), 1);
    assert.equal((await on.pool.currentRoot()).root, on.indexer.tree.root(on.rooted().leafCount));
  });

  it("tries again at once what was refused on a block that a reorganisation took back, so that nobody passes", async () => {
    await on.seed();
    const { made } = await on.unfunded();
    const ticket = await on.accept(made);
    await until("the reason", async () => "error" in (await on.store.get(ticket.id))!.status);
    // The transfer is gone, and nobody mines a block: only the ticket itself can.
    await on.rpc("anvil_reorg", [1, []]);
    await on.reaches(ticket, "confirmed");
  });

  it("sends nothing that it chose while the chain went back: who was refused before still goes first", async () => {
    await on.seed();
    const { made } = await on.unfunded();
    const ticket = await on.accept(made);
    await until("the reason", async () => "error" in (await on.store.get(ticket.id))!.status);
    // The first is not asked about again on this block; the second is, when the block is gone.
    const simulate = on.chain.simulate.bind(on.chain);
    let simulations = 0;
    Object.assign(on.chain, {
      async simulate(request: Parameters<typeof simulate>[0]) {
        if (simulations++ === 0) await on.rpc("anvil_reorg", [1, []]);
        return simulate(request);
      },
    });
    const neighbour = await on.accept(on.spend(on.rooted().root));
    assertInOrder([await on.reaches(ticket, "confirmed"), await on.reaches(neighbour, "confirmed")]);
  });

  it("sends nothing under a nonce that was reorganised out after the choice: what was before it goes first", async () => {
    await on.seed();
    await on.mine(3);
    const { root } = on.rooted();
    const before = [];
    for (const blocks of [3, 0]) {
      before.push(await on.reaches(await on.accept(on.spend(root)), "confirmed"));
      await on.mine(blocks);
    }
    // One is final and its bytes are forgotten, the other one's stand behind its nonce when both are gone.
    await until("the first to be forgotten", async () => (await on.store.outgoing()).length === 1);
    const { status } = before[0]!;
    const block = status.state === "confirmed" ? status.outcome.block : assert.fail();
    const { simulate, nonce } = on.chain;
    let isChosen = false;
    let wentBack = 0;
    Object.assign(on.chain, {
      simulate(request: Parameters<typeof simulate>[0]) {
        isChosen = true;
        return simulate(request);
      },
      async nonce(of: Parameters<typeof nonce>[0]) {
        if (isChosen && wentBack === 0) {
          wentBack = (await on.chain.header("latest"))!.number - block + 1;
          await on.rpc("anvil_reorg", [wentBack, []]);
        }
        return nonce(of);
      },
    });
    const later = await on.accept(on.spend(root));
    await until("the first to be open again", async () =>
      (await on.metrics.text()).includes("cloister_final_tickets_reorganised_out_total 1\n"),
    );
    const executed = [];
    for (const ticket of [...before, later])
      executed.push(await on.reaches(ticket, "finalized", () => on.mine()));
    assert.ok(wentBack > 3);
    assertInOrder(executed);
  });

  it("knows its own transaction where the node shows no receipt, and keeps its bytes until they are final", async () => {
    await on.seed();
    await on.mine(3);
    const made = on.spend(on.rooted().root);
    const next = on.spend(on.rooted().root);
    Object.assign(on.chain, { receipt: () => Promise.resolve(undefined) });
    const ticket = await on.reaches(await on.accept(made), "confirmed");
    const [entry] = await until("it to be seen as mined", async () => {
      const outgoing = await on.store.outgoing();
      return outgoing[0]?.minedIn === undefined ? undefined : outgoing;
    });
    assert.ok(ticket.status.state === "confirmed");
    assert.deepEqual(
      [entry?.minedIn, entry?.attempts[0]?.hash],
      [ticket.status.outcome.block, ticket.status.outcome.txHash],
    );
    await on.rpc("anvil_reorg", [1, []]);
    await on.reaches(await on.accept(next), "confirmed");
    assert.equal(await on.executions(made), 1);
    await on.mine(3);
    await on.reaches(ticket, "finalized");
    await until("the bytes to be forgotten", async () => (await on.store.outgoing()).length === 0);
    assert.ok((await on.metrics.text()).includes('{event="foreign-nonce"} 0\n'));
  });

  it("knows its own transaction also by a member that a stranger executed before it", async () => {
    await on.seed();
    await on.mine(3);
    const made = on.spend(on.rooted().root);
    const { broadcast } = on.chain;
    Object.assign(on.chain, {
      receipt: () => Promise.resolve(undefined),
      broadcast: () => Promise.resolve(),
    });
    const ticket = await on.accept(made);
    const ours = async () =>
      (await on.store.outgoing()).find(({ ticketIds }) => ticketIds.includes(ticket.id));
    const { nonce } = await until("it to be signed", ours);
    const strangers = await poolContract(on).execute(made, ticket.transaction.attestations);
    Object.assign(on.chain, { broadcast });
    const now = await on.reaches(ticket, "confirmed");
    assert.ok(now.status.state === "confirmed");
    assert.equal(now.status.outcome.txHash, strangers);
    await until("it to be seen as mined", async () => (await ours())?.minedIn);
    assert.equal(await on.chain.nonce(on.sender), nonce + 1);
    // Forgotten as somebody else's, its nonce could be left open by a reorganisation, for a later payment to take.
    await on.reaches(await on.accept(on.spend(on.rooted().root)), "confirmed");
    assert.ok((await on.metrics.text()).includes('{event="foreign-nonce"} 0\n'));
  });

  it("opens final tickets again that a deep reorganisation took back, and executes them once, in their order", async () => {
    await on.seed();
    await on.mine(3);
    const made = [on.spend(on.rooted().root), on.spend(on.rooted().root)];
    const tickets = [];
    for (const one of made) {
      const ticket = await on.reaches(await on.accept(one), "confirmed");
      await on.mine(3);
      tickets.push(await on.reaches(ticket, "finalized"));
    }
    // Sent and not final: it will stand behind nonces whose bytes are forgotten.
    const last = await on.reaches(await on.accept(on.spend(on.rooted().root)), "confirmed");
    const [first] = tickets.map(({ status }) => (status.state === "finalized" ? status.outcome.block : 0));
    const head = await on.rpc("eth_blockNumber");
    await on.rpc("anvil_reorg", [Number(head) - first! + 1, []]);
    await until("them to be open again", async () =>
      (await on.metrics.text()).includes("cloister_final_tickets_reorganised_out_total 2\n"),
    );
    const again = [];
    for (const ticket of [...tickets, last])
      again.push(await on.reaches(ticket, "finalized", () => on.mine()));
    for (const one of made) assert.equal(await on.executions(one), 1);
    assertInOrder(again);
    assert.deepEqual(on.data.reorganisedOut(), []);
    assert.deepEqual(await openOf(on.store), []);
    // The next one is not held up by what stood behind the hole.
    await on.mine(3);
    await on.reaches(await on.accept(on.spend(on.rooted().root)), "confirmed");
  });

  it("fills no nonce that was reorganised out while blocks come faster than it can look at what to send", async () => {
    await on.seed();
    await on.mine(3);
    const { root } = on.rooted();
    const executed: TicketRecord[] = [];
    for (const blocks of [3, 3, 0]) {
      executed.push(await on.reaches(await on.accept(on.spend(root)), "confirmed"));
      await on.mine(blocks);
    }
    await until("the first two to be forgotten", async () => (await on.store.outgoing()).length === 1);
    const [first] = executed.map(({ status }) => (status.state === "confirmed" ? status.outcome.block : 0));
    // Whoever looks at what to send asks for the nonce in the same moment: he sees a head that is far ahead of the index.
    const { header, nonce } = on.chain;
    let looks = 0;
    let isLook = false;
    let wentBack = false;
    Object.assign(on.chain, {
      nonce(of: Parameters<typeof nonce>[0]) {
        isLook = true;
        return nonce(of);
      },
      async header(at: Parameters<typeof header>[0]) {
        const head = await header(at);
        const isFirst = isLook && looks < 5 && wentBack;
        isLook = false;
        if (at !== "latest" || !isFirst || head === undefined) return head;
        looks += 1;
        return { ...head, number: head.number + 9 };
      },
    });
    const head = (await on.chain.header("latest"))!.number;
    wentBack = true;
    await on.rpc("anvil_reorg", [head - first! + 1, []]);
    await until("them to be open again", async () =>
      (await on.metrics.text()).includes("cloister_final_tickets_reorganised_out_total 2\n"),
    );
    const again: TicketRecord[] = [];
    for (const ticket of executed) again.push(await on.isDone(ticket, () => on.mine()));
    assert.ok(looks > 0);
    assertInOrder(again);
  });

  /** Somebody with the wallet's key sends something of his own under its next nonce. */
  async function takeNonce(): Promise<number> {
    await on.rpc("anvil_impersonateAccount", [on.sender]);
    const stranger = asAddress(Wallet.createRandom().address)!;
    const nonce = await on.chain.nonce(on.sender);
    await on.rpc("eth_sendTransaction", [
      {
        from: on.sender,
        to: stranger,
        value: "0x1",
        nonce: `0x${nonce.toString(16)}`,
        maxFeePerGas: "0x174876e800",
        maxPriorityFeePerGas: "0x2540be400",
      },
    ]);
    return nonce;
  }

  it("goes on after a foreign transaction took its nonce, also when a reorganisation takes that one back", async () => {
    await on.seed();
    await on.rpc("evm_setAutomine", [false]);
    const made = on.spend(on.rooted().root);
    const ticket = await on.accept(made);
    await until("it to be sent", async () => (await on.store.get(ticket.id))?.status.state === "submitted");
    await on.rpc("anvil_dropAllTransactions");
    const nonce = await takeNonce();
    await on.rpc("evm_setAutomine", [true]);
    await on.mine();
    await on.reaches(ticket, "confirmed");
    assert.equal(await on.executions(made), 1);

    // The stranger's transaction is gone with its block, and ours stands behind a nonce that nobody has.
    const { number } = (await on.chain.header("latest"))!;
    await on.rpc("anvil_reorg", [number - (await blockOfNonce(nonce)) + 1, []]);
    assert.equal(await on.chain.nonce(on.sender), nonce);
    await until("both nonces to be used", async () => (await on.chain.nonce(on.sender)) > nonce + 1);
    await on.reaches(ticket, "confirmed");
    assert.equal(await on.executions(made), 1);
    await on.mine(3);
    await on.reaches(ticket, "finalized");
    await until(
      "nothing to be under way",
      async () => (await on.store.outgoing()).length === 0 && (await openOf(on.store)).length === 0,
    );
  });

  it("lets nothing accepted later into a nonce that was reorganised out before one that is under way", async () => {
    await on.seed();
    await on.mine(3);
    await until("nothing to be under way", async () => (await on.store.outgoing()).length === 0);
    await on.rpc("evm_setAutomine", [false]);
    const made = [on.spend(on.rooted().root), on.spend(on.rooted().root)] as const;
    const first = await on.accept(made[0]);
    await until("it to be sent", async () => (await on.store.outgoing()).length > 0);
    await on.rpc("anvil_dropAllTransactions");
    const nonce = await takeNonce();
    await on.mine();
    await until("it to be sent under the next nonce", async () => {
      const { status } = (await on.store.get(first.id))!;
      return status.state === "submitted" && status.carrier === nonce + 1;
    });
    const later = await on.accept(made[1]);
    await on.rpc("anvil_reorg", [1, []]);
    assert.equal(await on.chain.nonce(on.sender), nonce);
    const executed = [];
    for (const ticket of [first, later]) executed.push(await on.isDone(ticket, () => on.mine()));
    assertInOrder(executed);
    for (const one of made) assert.equal(await on.executions(one), 1);
  });

  /** In which the wallet's transaction with this nonce was mined. */
  async function blockOfNonce(nonce: number): Promise<number> {
    for (let block = (await on.chain.header("latest"))!.number; ; block--) {
      const before = await on.rpc("eth_getTransactionCount", [on.sender, `0x${(block - 1).toString(16)}`]);
      if (Number(before) <= nonce) return block;
    }
  }
});
