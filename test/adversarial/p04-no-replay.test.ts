/** P4. What was proved and attested for one chain, pool and kind is worth nothing anywhere else, nor a second time. */
import assert from "node:assert/strict";
import type { Contract } from "ethers";
import { deployTestUsdc } from "../../scripts/deploy/pool.ts";
import { NO_UPDATE, type PoolRootUpdate } from "../../scripts/stack/pool-transaction.ts";
import { contextOf } from "../../shared/protocol/statements.ts";
import {
  attestRequest,
  Battlefield,
  connect,
  deployPoolFor,
  freshAddress,
  freshKeys,
  mustAddress,
  poolTransaction,
  withSignal,
  type Attested,
  type Signed,
} from "../support/adversary.ts";
import { startAnvil, type Anvil } from "../support/chain.ts";
import { codeOf } from "../unit/enclave/support/frame-client.ts";

describe("P4 nothing is good on another chain, in another pool, as another kind, or twice", function () {
  this.timeout(600_000);
  let field: Battlefield;
  /** Accepts the same signer and the same token, on the same chain. */
  let neighbour: Contract;
  /** Everything at the same addresses, on a chain with another number. */
  let fork: Anvil;
  let forkPool: Contract;
  let closeFork: () => void;
  let payment: Signed;
  let deposit: Signed;
  let attested: Attested;
  let firstUpdate: PoolRootUpdate;

  before(async () => {
    field = await Battlefield.start();
    neighbour = await deployPoolFor(field.owner, field.signer, field.usdcAddress);
    fork = await startAnvil({ chainId: 31_338 });
    const provider = connect(fork);
    closeFork = () => provider.destroy();
    const owner = await provider.getSigner(0);
    const usdc = (await deployTestUsdc(owner)).address;
    forkPool = await deployPoolFor(owner, field.signer, usdc);
    assert.equal(mustAddress(await forkPool.getAddress()), field.home.pool);
    assert.equal(usdc, field.usdcAddress);

    const keys = freshKeys();
    const money = await field.deposit(keys, 100_000_000n);
    firstUpdate = await field.attestRoot(await field.rootRequest(money.statement.facts.commitments));
    const { members, update } = await field.execute([await field.transaction(money)], firstUpdate);
    assert.deepEqual([...members, update], ["executed", "taken"]);
    const wallet = await field.restore(keys);
    payment = await field.spend(wallet, {
      notes: wallet.notes,
      payment: { type: "withdraw", recipient: freshAddress(), value: 12_500_000n },
    });
    deposit = await field.deposit(keys, 7_000_000n);
    attested = await field.attest(payment);
  });
  after(async () => {
    closeFork();
    await fork.stop();
    await field.stop();
  });

  it("P4 the enclave refuses another chain, pool or kind, and PROOF_INVALID when the context is made to fit", async () => {
    const { statement } = payment;
    const pool = mustAddress(await neighbour.getAddress());
    for (const home of [
      { ...field.home, chainId: 1n },
      { ...field.home, pool },
    ]) {
      assert.equal(codeOf(await field.enclave.ask(attestRequest(payment, home))), "CONTEXT_MISMATCH");
      const signals = withSignal(
        statement.signals,
        0,
        contextOf(home, "spend", statement.deadline, statement.extBytes),
      );
      assert.equal(
        codeOf(await field.enclave.ask(attestRequest(payment, { ...home, signals }))),
        "PROOF_INVALID",
      );
    }
    for (const kindId of [1, 3, 4]) {
      assert.equal(codeOf(await field.enclave.ask(attestRequest(payment, { kindId }))), "SIGNAL_COUNT");
    }
    for (const kindId of [0, 5, 6, 255]) {
      assert.equal(codeOf(await field.enclave.ask(attestRequest(payment, { kindId }))), "UNKNOWN_KIND");
    }
  });

  it("P4 another pool on the same chain and the same pool on another chain refuse a spend", async () => {
    const transaction = poolTransaction(payment, attested.signature);
    const { statement } = payment;
    const homes = [
      { pool: neighbour, home: { ...field.home, pool: mustAddress(await neighbour.getAddress()) } },
      { pool: forkPool, home: { ...field.home, chainId: 31_338n } },
    ];
    for (const { pool, home } of homes) {
      const plain = await field.execute([transaction], NO_UPDATE, { pool });
      assert.deepEqual(plain.members, ["ContextMismatch"]);
      const context = contextOf(home, "spend", statement.deadline, statement.extBytes);
      const signals = withSignal(transaction.signals, 0, context);
      const fitted = await field.execute([{ ...transaction, signals }], NO_UPDATE, { pool });
      // Their pools do not know the root; were it known, the signature would be over another domain.
      assert.deepEqual(fitted.members, ["RootUnknown"]);
    }
  });

  it("P4 they refuse a deposit, attestation and authorization included", async () => {
    const { signature } = await field.attest(deposit);
    const transaction = poolTransaction(deposit, signature);
    const { statement } = deposit;
    const pool = mustAddress(await neighbour.getAddress());
    for (const [target, home] of [
      [neighbour, { ...field.home, pool }],
      [forkPool, { ...field.home, chainId: 31_338n }],
    ] as const) {
      assert.deepEqual((await field.execute([transaction], NO_UPDATE, { pool: target })).members, [
        "ContextMismatch",
      ]);
      const context = contextOf(home, "deposit-shield", statement.deadline, statement.extBytes);
      const fitted = { ...transaction, signals: withSignal(transaction.signals, 0, context) };
      assert.deepEqual((await field.execute([fitted], NO_UPDATE, { pool: target })).members, [
        "SignerUnknown",
      ]);
    }
    assert.equal(await field.usdc.getFunction("balanceOf")(pool), 0n);
  });

  it("P4 as another kind the pool refuses it", async () => {
    const transaction = poolTransaction(payment, attested.signature);
    for (const kind of [0, 5, 6, 255]) {
      assert.equal(await field.executeOne({ ...transaction, kind }), "UnknownKind");
    }
    for (const kind of [1, 3, 4]) {
      assert.equal(await field.executeOne({ ...transaction, kind }), "SignalCount");
    }
  });

  it("P4 a root update is good once, in its own pool", async () => {
    assert.equal((await field.execute([], firstUpdate)).update, "RootUpdateStale");
    // The other pools stand where this one stood, with the same empty tree; their queue has no such head.
    assert.equal((await field.execute([], firstUpdate, { pool: neighbour })).update, "RootUpdateHead");
    assert.equal((await field.execute([], firstUpdate, { pool: forkPool })).update, "RootUpdateHead");
  });

  it("P4 it is good at home, once", async () => {
    const transaction = poolTransaction(payment, attested.signature);
    assert.equal(await field.executeOne(transaction), "executed");
    assert.equal(await field.executeOne(transaction), "NullifierSpent");
    const money = await field.transaction(deposit);
    assert.equal(await field.executeOne(money), "executed");
    assert.equal(await field.executeOne(money), "StatementRepeated");
  });

  it("P4 after its deadline it is good nowhere, and a batch goes on without it", async () => {
    const { timestamp } = (await field.provider.getBlock("latest"))!;
    const late = await field.deposit(freshKeys(), 3_000_000n, timestamp + 60);
    const transaction = await field.transaction(late);
    await field.provider.send("evm_increaseTime", [61]);
    await field.provider.send("evm_mine", []);
    const fresh = await field.transaction(await field.deposit(freshKeys(), 3_000_000n));
    const { members } = await field.execute([transaction, fresh]);
    assert.deepEqual(members, ["DeadlinePassed", "executed"]);
  });
});
