import assert from "node:assert/strict";
import { openOf } from "../../../support/stores/tickets.ts";
import { Signature, Wallet, type HDNodeWallet } from "ethers";
import { attester } from "../../../../scripts/dev/statement-maker.ts";
import { isOver } from "../../../../proxy/store/ticket-states.ts";
import { asAddress } from "../../../../shared/protocol/brands.ts";
import { poolContract } from "../../../support/pool-contract.ts";
import { Money, NO_PROOF, OWNER } from "../../../support/money.ts";
import { until } from "../../../support/until.ts";

describe("submission/submitter on a real chain with the real pool", function () {
  this.timeout(60_000);
  let on: Money;

  beforeEach(async () => {
    on = await Money.start();
  });
  afterEach(() => on.stop());

  /** Something rooted to spend against. */
  async function seeded(): Promise<void> {
    await on.run();
    await on.reaches(await on.accept(await on.deposit()), "confirmed");
  }
  const rooted = () => on.data.currentRoot()!;
  /** A deposit whose depositor gave a part of the amount away in the newest block. */
  async function unfunded() {
    const depositor = await on.depositor(5_000_000n);
    const made = await on.deposit(5_000_000n, { depositor });
    await on.rpc("anvil_setBalance", [depositor.address, "0xde0b6b3a7640000"]);
    const away = Wallet.createRandom().address;
    const data = on.usdc.interface.encodeFunctionData("transfer", [away, 1n]);
    await (await depositor.sendTransaction({ to: on.usdcAddress, data })).wait();
    return { made, depositor };
  }

  it("executes a deposit and puts its leaves into the tree in the same call", async () => {
    await on.run();
    const made = await on.deposit();
    const ticket = await on.reaches(await on.accept(made), "confirmed");
    assert.ok(ticket.status.state === "confirmed");
    assert.deepEqual(ticket.status.outcome.leafIndexes, [0, 1, 2]);
    assert.equal(rooted().leafCount, 3);
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
    await seeded();
    on.link.isAway = false;
    await on.rpc("evm_setAutomine", [false]);
    const first = await on.accept(on.spend(rooted().root));
    await until(
      "the first to be sent",
      async () => (await on.store.get(first.id))?.status.state === "submitted",
    );
    const rest = [];
    for (let i = 0; i < 5; i++) rest.push(await on.accept(on.spend(rooted().root)));
    await on.rpc("evm_setAutomine", [true]);
    await on.mine();
    const done = [];
    for (const ticket of [first, ...rest]) done.push(await on.reaches(ticket, "confirmed"));
    const outcomes = done.map(({ status }) =>
      status.state === "confirmed" ? status.outcome : assert.fail(),
    );
    assert.equal(new Set(outcomes.slice(1).map(({ txHash }) => txHash)).size, 1);
    const leaves = outcomes.map(({ leafIndexes }) => leafIndexes[0]!);
    assert.deepEqual(
      leaves,
      [...leaves].sort((a, b) => a - b),
    );
    assert.equal(rooted().leafCount, 27);
  });

  it("sets an impossible ticket aside with its reason and no gas, lets its neighbour pass, and executes it once it can", async () => {
    await seeded();
    const { made, depositor } = await unfunded();
    const nonce = await on.chain.nonce(on.sender);
    const ticket = await on.accept(made);
    const neighbour = await on.accept(on.spend(rooted().root));
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
    await seeded();
    const before = rooted();
    const stranger = on.spend(before.root);
    const attestations = await on.attestor.attest(stranger.statement, NO_PROOF);
    await poolContract(on).execute(stranger, attestations);
    await until("the stranger's leaves to be in the tree", () => rooted().leafCount === before.leafCount + 4);
    assert.equal((await on.pool.currentRoot()).leafCount, 7);
  });

  it("confirms a statement that somebody else carried, with that transaction's hash", async () => {
    await seeded();
    await on.submitter.stop();
    const made = on.spend(rooted().root);
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
    await seeded();
    await on.submitter.stop();
    const mine = on.spend(rooted().root);
    const [shared, other] = mine.statement.facts.nullifiers;
    const theirs = on.spend(rooted().root, { nullifiers: [shared!, 99n] });
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
    await seeded();
    await on.fund(0n);
    const depositor = await on.depositor(5_000_000n);
    const made = await on.deposit(5_000_000n, { depositor });
    const ticket = await on.accept(made);
    await until("the submitter to ask for gas", () => on.submitter.state().blockedBy === "gas");
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
    await seeded();
    const made = await on.deposit(5_000_000n, { deadline: BigInt(Math.floor(Date.now() / 1000) + 600) });
    await on.fund(0n);
    const ticket = await on.accept(made);
    await until("the submitter to ask for gas", () => on.submitter.state().blockedBy === "gas");
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
    await seeded();
    await on.fund(0n);
    const ticket = await on.accept(on.spend(rooted().root));
    await until("the submitter to ask for gas", () => on.submitter.state().blockedBy === "gas");
    await on.fund(10n ** 20n);
    await on.reaches(ticket, "confirmed");
    assert.equal(on.submitter.state().blockedBy, undefined);
  });

  it("holds a queued ticket while the chain is away, and sends it when the chain is back", async () => {
    await seeded();
    await on.submitter.stop();
    const made = on.spend(rooted().root);
    const ticket = await on.accept(made);
    await on.restart();
    on.wire.cut();
    await on.run();
    await until("the submitter to wait for the chain", () => on.submitter.state().blockedBy === "chain");
    const held = await on.tickets.view((await on.store.get(ticket.id))!);
    assert.deepEqual([held.state, held.blocked_by, held.error], ["queued", "chain", null]);
    on.wire.mend();
    const done = await on.reaches(ticket, "confirmed");
    assert.equal(await on.executions(made), 1);
    assert.equal((await on.tickets.view(done)).blocked_by, undefined);
    await until("nothing to be blocked", () => on.submitter.state().blockedBy === undefined);
  });

  it("learns after the chain was away what was mined meanwhile, and sends nothing twice", async () => {
    await seeded();
    await on.rpc("evm_setAutomine", [false]);
    const made = on.spend(rooted().root);
    const ticket = await on.accept(made);
    const hash = await until("it to be sent", async () => {
      const { status } = (await on.store.get(ticket.id))!;
      return status.state === "submitted" && (await on.chain.knows(status.txHash)) && status.txHash;
    });
    on.wire.cut();
    await on.mine();
    await until("the submitter to wait for the chain", () => on.submitter.state().blockedBy === "chain");
    const held = await on.tickets.view((await on.store.get(ticket.id))!);
    assert.deepEqual([held.state, held.blocked_by, held.error], ["submitted", "chain", null]);
    on.wire.mend();
    const done = await on.reaches(ticket, "confirmed");
    assert.ok(done.status.state === "confirmed");
    assert.equal(done.status.outcome.txHash, hash);
    assert.equal(await on.executions(made), 1);
  });

  it("executes payments without an enclave for the root, and roots their leaves when one is back", async () => {
    await seeded();
    const before = rooted().leafCount;
    await on.submitter.stop();
    const ticket = await on.accept(on.spend(rooted().root));
    on.link.isAway = true;
    await on.restart();
    await on.run();
    await on.reaches(ticket, "confirmed");
    assert.equal(rooted().leafCount, before);
    on.link.isAway = false;
    await until("the leaves to be rooted", () => rooted().leafCount === before + 4);
  });

  it("has a ticket attested again when its signer was removed", async () => {
    await seeded();
    await on.submitter.stop();
    const made = on.spend(rooted().root);
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
    await seeded();
    await on.rpc("evm_setAutomine", [false]);
    const made = on.spend(rooted().root);
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

  it("sends what a reorganisation took back again, and executes it once", async () => {
    await seeded();
    await on.mine(3);
    const made = on.spend(rooted().root);
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
    assert.equal((await on.pool.currentRoot()).root, on.indexer.tree.root(rooted().leafCount));
  });

  it("tries again at once what was refused on a block that a reorganisation took back, so that nobody passes", async () => {
    await seeded();
    const { made } = await unfunded();
    const ticket = await on.accept(made);
    await until("the reason", async () => "error" in (await on.store.get(ticket.id))!.status);
    // The transfer is gone, and nobody mines a block: only the ticket itself can.
    await on.rpc("anvil_reorg", [1, []]);
    await on.reaches(ticket, "confirmed");
  });

  it("sends nothing that it chose while the chain went back: who was refused before still goes first", async () => {
    await seeded();
    const { made } = await unfunded();
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
    const neighbour = await on.accept(on.spend(rooted().root));
    const done = [await on.reaches(ticket, "confirmed"), await on.reaches(neighbour, "confirmed")];
    const [first, second] = done.map(({ status }) =>
      status.state === "confirmed" ? status.outcome.leafIndexes[0]! : assert.fail(),
    );
    assert.ok(first! < second!, `${String(first)} and ${String(second)}`);
  });

  it("knows its own transaction where the node shows no receipt, and keeps its bytes until they are final", async () => {
    await seeded();
    await on.mine(3);
    const made = on.spend(rooted().root);
    const next = on.spend(rooted().root);
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
    await seeded();
    await on.mine(3);
    const made = on.spend(rooted().root);
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
    await on.reaches(await on.accept(on.spend(rooted().root)), "confirmed");
    assert.ok((await on.metrics.text()).includes('{event="foreign-nonce"} 0\n'));
  });

  it("opens final tickets again that a deep reorganisation took back, and executes them once, in their order", async () => {
    await seeded();
    await on.mine(3);
    const made = [on.spend(rooted().root), on.spend(rooted().root)];
    const tickets = [];
    for (const one of made) {
      const ticket = await on.reaches(await on.accept(one), "confirmed");
      await on.mine(3);
      tickets.push(await on.reaches(ticket, "finalized"));
    }
    // Sent and not final: it will stand behind nonces whose bytes are forgotten.
    const last = await on.reaches(await on.accept(on.spend(rooted().root)), "confirmed");
    const [first] = tickets.map(({ status }) => (status.state === "finalized" ? status.outcome.block : 0));
    const head = await on.rpc("eth_blockNumber");
    await on.rpc("anvil_reorg", [Number(head) - first! + 1, []]);
    await until("them to be open again", async () =>
      (await on.metrics.text()).includes("cloister_final_tickets_taken_back_total 2\n"),
    );
    const again = [...tickets, last];
    await until("all to be final again", async () => {
      await on.mine();
      const now = await Promise.all(again.map(({ id }) => on.store.get(id)));
      return now.every((ticket) => ticket?.status.state === "finalized");
    });
    const leaves = [];
    for (const ticket of again) {
      const { status } = await on.reaches(ticket, "finalized");
      assert.ok(status.state === "finalized");
      leaves.push(status.outcome.leafIndexes[0]!);
    }
    for (const one of made) assert.equal(await on.executions(one), 1);
    assert.deepEqual(
      leaves,
      [...leaves].sort((a, b) => a - b),
      "in order of acceptance",
    );
    assert.deepEqual(on.data.takenBack(), []);
    assert.deepEqual(await openOf(on.store), []);
    // The next one is not held up by what stood behind the hole.
    await on.mine(3);
    await on.reaches(await on.accept(on.spend(rooted().root)), "confirmed");
  });

  it("goes on after a foreign transaction took its nonce, also when a reorganisation takes that one back", async () => {
    await seeded();
    await on.rpc("evm_setAutomine", [false]);
    const made = on.spend(rooted().root);
    const ticket = await on.accept(made);
    await until("it to be sent", async () => (await on.store.get(ticket.id))?.status.state === "submitted");
    await on.rpc("anvil_dropAllTransactions");
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

  /** In which the wallet's transaction with this nonce was mined. */
  async function blockOfNonce(nonce: number): Promise<number> {
    for (let block = (await on.chain.header("latest"))!.number; ; block--) {
      const before = await on.rpc("eth_getTransactionCount", [on.sender, `0x${(block - 1).toString(16)}`]);
      if (Number(before) <= nonce) return block;
    }
  }

  it("answers a caller that waits for a ticket when the service stops", async () => {
    await seeded();
    await on.fund(0n);
    const ticket = await on.accept(on.spend(rooted().root));
    const waiting = on.tickets.settled(ticket.id, 3_600_000);
    on.tickets.close();
    assert.equal((await waiting).status.state, "queued");
    assert.equal((await on.tickets.settled(ticket.id, 3_600_000)).status.state, "queued");
  });

  it("tells one owner's tickets from another's", async () => {
    await seeded();
    const made = on.spend(rooted().root);
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

describe("submission/submitter and a stuck transaction", function () {
  this.timeout(60_000);

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
