import assert from "node:assert/strict";
import { openOf } from "../../../../support/stores/tickets.ts";
import { Signature, type HDNodeWallet } from "ethers";
import { attester } from "../../../../../scripts/stack/pool-transaction.ts";
import { isOver } from "../../../../../proxy/base/store/ticket-states.ts";
import { asAddress } from "../../../../../shared/protocol/host/text.ts";
import { poolContract } from "../../../../support/pool-contract.ts";
import { Money, NO_PROOF, OWNER } from "../../../../support/money.ts";
import { until } from "../../../../support/until.ts";
import { assertInOrder } from "./order.ts";

describe("sequencer on a real chain with the real pool", function () {
  let on: Money;

  beforeEach(async () => {
    on = await Money.start();
  });
  afterEach(() => on.stop());

  it("executes a deposit and puts its leaves into the tree in the same call", async () => {
    await on.run();
    const made = await on.deposit();
    const ticket = await on.reaches(await on.accept(made), "confirmed");
    assert.ok(ticket.status.state === "confirmed");
    assert.deepEqual(ticket.status.outcome.leafIndexes, [0, 1, 2]);
    assert.equal(on.rooted().leafCount, 3);
    assert.equal((await on.pool.currentRoot()).root, on.indexer.tree.root(3));
    assert.equal(await on.chain.nonce(on.sender), 1);
  });

  it("makes a ticket final after the configured number of blocks, and not before", async () => {
    await on.run();
    const ticket = await on.reaches(await on.accept(await on.deposit()), "confirmed");
    await on.mine(1);
    await on.indexer.sync();
    assert.equal((await on.store.get(ticket.id))?.status.state, "confirmed");
    await on.mine(1);
    await on.reaches(ticket, "finalized");
    assert.deepEqual(await openOf(on.store), []);
    await until(
      "the outgoing transaction to be forgotten",
      async () => (await on.store.outgoing()).length === 0,
    );
  });

  it("sends everything that waits in one call, in order of acceptance", async () => {
    await on.seed();
    on.link.isUnreachable = false;
    await on.rpc("evm_setAutomine", [false]);
    const first = await on.accept(on.spend(on.rooted().root));
    await until(
      "the first to be sent",
      async () => (await on.store.get(first.id))?.status.state === "submitted",
    );
    const rest = [];
    for (let i = 0; i < 5; i++) rest.push(await on.accept(on.spend(on.rooted().root)));
    await on.rpc("evm_setAutomine", [true]);
    await on.mine();
    const done = [];
    for (const ticket of [first, ...rest]) done.push(await on.reaches(ticket, "confirmed"));
    const outcomes = done.map(({ status }) =>
      status.state === "confirmed" ? status.outcome : assert.fail(),
    );
    assert.equal(new Set(outcomes.slice(1).map(({ txHash }) => txHash)).size, 1);
    assertInOrder(done);
    assert.equal(on.rooted().leafCount, 27);
  });

  it("sets an impossible ticket aside with its reason and no gas, lets its neighbour pass, and executes it once it can", async () => {
    await on.seed();
    const { made, depositor } = await on.unfunded();
    const nonce = await on.chain.nonce(on.sender);
    const ticket = await on.accept(made);
    const neighbour = await on.accept(on.spend(on.rooted().root));
    const held = await until("the reason", async () => {
      const { status } = (await on.store.get(ticket.id))!;
      return "error" in status ? status.error : undefined;
    });
    assert.equal(held.code, "INSUFFICIENT_FUNDS");
    await on.reaches(neighbour, "confirmed");
    assert.equal(await on.chain.nonce(on.sender), nonce + 1);
    assert.equal((await on.store.get(ticket.id))?.status.state, "queued");
    await (await (on.usdc["mint"]!(depositor.address, 1n) as Promise<{ wait(): Promise<unknown> }>)).wait();
    // The longest pause between two tries.
    await on.mine(8);
    await on.isDone(ticket);
  });

  it("roots leaves that a stranger added, alone, when nothing else is to be sent", async () => {
    await on.seed();
    const before = on.rooted();
    const stranger = on.spend(before.root);
    const attestations = await on.attestor.attest(stranger.statement, NO_PROOF);
    await poolContract(on).execute(stranger, attestations);
    await until(
      "the stranger's leaves to be in the tree",
      () => on.rooted().leafCount === before.leafCount + 4,
    );
    assert.equal((await on.pool.currentRoot()).leafCount, 7);
  });

  it("confirms a statement that somebody else carried, with that transaction's hash", async () => {
    await on.seed();
    await on.sequencer.stop();
    const made = on.spend(on.rooted().root);
    const ticket = await on.accept(made);
    const hash = await poolContract(on).execute(made, ticket.transaction.attestations);
    await on.restart();
    await on.run();
    const now = await on.reaches(ticket, "confirmed");
    assert.ok(now.status.state === "confirmed");
    assert.equal(now.status.outcome.txHash, hash);
    assert.equal(await on.executions(made), 1);
  });

  it("fails a ticket whose note another statement spent, once that is final, and frees its other note", async () => {
    await on.seed();
    await on.sequencer.stop();
    const mine = on.spend(on.rooted().root);
    const [shared, other] = mine.statement.facts.nullifiers;
    const theirs = on.spend(on.rooted().root, { nullifiers: [shared!, 99n] });
    const ticket = await on.accept(mine);
    const attestations = await on.attestor.attest(theirs.statement, NO_PROOF);
    await poolContract(on).execute(theirs, attestations);
    await on.restart();
    await on.run();
    const provisional = await until("the provisional reason", async () => {
      const { status } = (await on.store.get(ticket.id))!;
      return "error" in status && status.state === "queued" ? status.error : undefined;
    });
    assert.equal(provisional.code, "NULLIFIER_SPENT");
    await on.mine(3);
    const failed = await on.reaches(ticket, "failed");
    assert.ok(failed.status.state === "failed");
    assert.equal(failed.status.error.code, "NULLIFIER_SPENT");
    assert.equal(await on.store.reservedBy(other!), undefined);
  });

  /** EIP-3009, "cancelAuthorization". */
  async function cancel(depositor: HDNodeWallet, nonce: string): Promise<void> {
    const signature = await depositor.signTypedData(
      { name: "USD Coin", version: "2", chainId: on.home.chainId, verifyingContract: on.usdcAddress },
      {
        CancelAuthorization: [
          { name: "authorizer", type: "address" },
          { name: "nonce", type: "bytes32" },
        ],
      },
      { authorizer: depositor.address, nonce },
    );
    const { v, r, s } = Signature.from(signature);
    const call = "cancelAuthorization(address,bytes32,uint8,bytes32,bytes32)";
    await (
      await (on.usdc[call]!(depositor.address, nonce, v, r, s) as Promise<{ wait(): Promise<unknown> }>)
    ).wait();
  }

  it("fails a deposit whose authorization was cancelled after acceptance, once that is final", async () => {
    await on.seed();
    await on.fund(0n);
    const depositor = await on.depositor(5_000_000n);
    const made = await on.deposit(5_000_000n, { depositor });
    const ticket = await on.accept(made);
    await until("the sequencer to ask for gas", () => on.sequencer.state().blockedBy === "gas");
    await cancel(depositor, made.statement.hash);
    await on.fund(10n ** 20n);
    const provisional = await until("the provisional reason", async () => {
      const { status } = (await on.store.get(ticket.id))!;
      return "error" in status && status.state === "queued" ? status.error : undefined;
    });
    assert.equal(provisional.code, "AUTHORIZATION_USED");
    await on.mine(3);
    const failed = await on.reaches(ticket, "failed");
    assert.ok(failed.status.state === "failed");
    assert.equal(failed.status.error.code, "AUTHORIZATION_USED");
    assert.equal(await on.executions(made), 0);
    assert.equal(await on.tokens.balanceOf(on.usdcAddress, asAddress(depositor.address)!), 5_000_000n);
  });

  it("expires a ticket that was never sent when a final block is past its deadline", async () => {
    await on.seed();
    const made = await on.deposit(5_000_000n, { deadline: BigInt(Math.floor(Date.now() / 1000) + 600) });
    await on.fund(0n);
    const ticket = await on.accept(made);
    await until("the sequencer to ask for gas", () => on.sequencer.state().blockedBy === "gas");
    assert.equal((await on.tickets.view(ticket)).blocked_by, "gas");
    await on.rpc("evm_increaseTime", [700]);
    await on.mine(1);
    await on.indexer.sync();
    assert.ok(!isOver((await on.store.get(ticket.id))!.status));
    await on.mine(3);
    const expired = await on.reaches(ticket, "expired");
    assert.ok(expired.status.state === "expired");
    assert.equal(await on.executions(made), 0);
  });

  it("keeps tickets while it has no gas, and sends them when it has", async () => {
    await on.seed();
    await on.fund(0n);
    const ticket = await on.accept(on.spend(on.rooted().root));
    await until("the sequencer to ask for gas", () => on.sequencer.state().blockedBy === "gas");
    await on.fund(10n ** 20n);
    await on.reaches(ticket, "confirmed");
    assert.equal(on.sequencer.state().blockedBy, undefined);
  });

  it("sends also where a block comes before each answer about the newest one", async () => {
    await on.seed();
    const made = on.spend(on.rooted().root);
    const { header } = on.chain;
    // The sequencer alone asks: blocks that come as often as anybody asks would outrun it on a busy machine.
    on.indexEveryMs = 3_600_000;
    await on.restart();
    Object.assign(on.chain, {
      async header(at: Parameters<typeof header>[0]) {
        if (at === "latest") await on.mine();
        return header(at);
      },
    });
    await on.run();
    await on.isDone(await on.accept(made));
    assert.equal(await on.executions(made), 1);
  });

  it("holds a queued ticket while the chain is unreachable, and sends it when the chain is back", async () => {
    await on.seed();
    await on.sequencer.stop();
    const made = on.spend(on.rooted().root);
    const ticket = await on.accept(made);
    await on.restart();
    on.wire.cut();
    await on.run();
    await until("the sequencer to wait for the chain", () => on.sequencer.state().blockedBy === "chain");
    const held = await on.tickets.view((await on.store.get(ticket.id))!);
    assert.deepEqual([held.state, held.blocked_by, held.error], ["queued", "chain", null]);
    on.wire.repair();
    const done = await on.reaches(ticket, "confirmed");
    assert.equal(await on.executions(made), 1);
    assert.equal((await on.tickets.view(done)).blocked_by, undefined);
    await until("nothing to be blocked", () => on.sequencer.state().blockedBy === undefined);
  });

  it("learns after the chain was unreachable what was mined meanwhile, and sends nothing twice", async () => {
    await on.seed();
    await on.rpc("evm_setAutomine", [false]);
    const made = on.spend(on.rooted().root);
    const ticket = await on.accept(made);
    const hash = await until("it to be sent", async () => {
      const { status } = (await on.store.get(ticket.id))!;
      return status.state === "submitted" && (await on.chain.knows(status.txHash)) && status.txHash;
    });
    on.wire.cut();
    await on.mine();
    await until("the sequencer to wait for the chain", () => on.sequencer.state().blockedBy === "chain");
    const held = await on.tickets.view((await on.store.get(ticket.id))!);
    assert.deepEqual([held.state, held.blocked_by, held.error], ["submitted", "chain", null]);
    on.wire.repair();
    const done = await on.reaches(ticket, "confirmed");
    assert.ok(done.status.state === "confirmed");
    assert.equal(done.status.outcome.txHash, hash);
    assert.equal(await on.executions(made), 1);
  });

  it("executes payments without an enclave for the root, and roots their leaves when one is back", async () => {
    await on.seed();
    const before = on.rooted().leafCount;
    await on.sequencer.stop();
    const ticket = await on.accept(on.spend(on.rooted().root));
    on.link.isUnreachable = true;
    await on.restart();
    await on.run();
    await on.reaches(ticket, "confirmed");
    assert.equal(on.rooted().leafCount, before);
    on.link.isUnreachable = false;
    await until("the leaves to be rooted", () => on.rooted().leafCount === before + 4);
  });

  it("has a ticket attested again when its signer was removed", async () => {
    await on.seed();
    await on.sequencer.stop();
    const made = on.spend(on.rooted().root);
    const ticket = await on.accept(made);
    await poolContract(on).removeSigner(attester(1).address);
    on.link.signer = attester(2);
    await on.restart();
    await on.run();
    const done = await on.reaches(ticket, "confirmed");
    assert.deepEqual(
      done.transaction.attestations.map(({ signer }) => signer),
      [attester(2).address],
    );
  });

  it("adopts stored bytes after a restart: the node forgot them, and they are sent again", async () => {
    await on.seed();
    await on.rpc("evm_setAutomine", [false]);
    const made = on.spend(on.rooted().root);
    const ticket = await on.accept(made);
    await until("it to be sent", async () => (await on.store.get(ticket.id))?.status.state === "submitted");
    const [entry] = (await on.store.outgoing()).slice(-1);
    await on.halt();
    await on.rpc("anvil_dropAllTransactions");
    await on.reopen();
    await on.run();
    await until("the same bytes to be in the node's pool", () => on.chain.knows(entry!.attempts[0]!.hash));
    await on.rpc("evm_setAutomine", [true]);
    await on.mine();
    const done = await on.reaches(ticket, "confirmed");
    assert.ok(done.status.state === "confirmed");
    assert.equal(done.status.outcome.txHash, entry!.attempts[0]!.hash);
    assert.equal(await on.executions(made), 1);
  });

  it("answers a caller that waits for a ticket when the service stops", async () => {
    await on.seed();
    await on.fund(0n);
    const ticket = await on.accept(on.spend(on.rooted().root));
    const waiting = on.tickets.settled(ticket.id, 3_600_000);
    on.tickets.close();
    assert.equal((await waiting).status.state, "queued");
    assert.equal((await on.tickets.settled(ticket.id, 3_600_000)).status.state, "queued");
  });

  it("tells one owner's tickets from another's", async () => {
    await on.seed();
    const made = on.spend(on.rooted().root);
    const ticket = await on.accept(made);
    assert.equal((await on.accept(made)).id, ticket.id);
    await assert.rejects(on.accept(made, { developerId: "d1", sub: "other" }), { code: "NULLIFIER_PENDING" });
    await assert.rejects(on.tickets.find({ developerId: "d2", sub: undefined }, ticket.id), {
      code: "TICKET_UNKNOWN",
    });
    await assert.rejects(on.tickets.find({ developerId: "d1", sub: "other" }, ticket.id), {
      code: "TICKET_UNKNOWN",
    });
    assert.equal((await on.tickets.find({ developerId: "d1", sub: undefined }, ticket.id)).id, ticket.id);
    assert.equal((await on.tickets.find(OWNER, ticket.id)).id, ticket.id);
  });
});

describe("sequencer and a stuck transaction", function () {
  it("replaces it under the same nonce for at least an eighth more, and keeps every hash", async () => {
    const on = await Money.start({ stuckAfterMs: 150 });
    try {
      await on.run();
      const made = await on.deposit();
      await on.rpc("evm_setAutomine", [false]);
      const ticket = await on.accept(made);
      const entry = await until("a replacement", async () =>
        (await on.store.outgoing()).find(({ attempts }) => attempts.length >= 3),
      );
      for (const [i, attempt] of entry.attempts.entries()) {
        const previous = entry.attempts[i - 1];
        if (previous === undefined) continue;
        assert.ok(attempt.maxFeePerGas * 8n >= previous.maxFeePerGas * 9n);
        assert.ok(attempt.maxPriorityFeePerGas * 8n >= previous.maxPriorityFeePerGas * 9n);
      }
      await on.rpc("evm_setAutomine", [true]);
      await on.mine();
      await on.reaches(ticket, "confirmed");
      assert.equal(await on.executions(made), 1);
      assert.equal(await on.chain.nonce(on.sender), 1);
    } finally {
      await on.stop();
    }
  });
});
