/**
 * P7. A proxy that stops, loses its disk or holds a payment back costs time. The wallet comes back from its key
 * and the chain, and what the enclave attested anybody can carry.
 */
import assert from "node:assert/strict";
import { Contract, Interface, Wallet } from "ethers";
import { loadArtifact } from "../../scripts/build/contracts.ts";
import { POOL_ABI } from "../../shared/contracts/abi.ts";
import { NO_UPDATE } from "../../scripts/stack/pool-transaction.ts";
import { SpendingKey } from "../../shared/notes/keys.ts";
import {
  Battlefield,
  freshAddress,
  freshKeys,
  poolTransaction,
  restoreFrom,
  type Signed,
} from "../support/adversary.ts";

describe("P7 a stopped or hostile proxy loses nothing", function () {
  this.timeout(600_000);
  let field: Battlefield;
  const seed = new Uint8Array(32).fill(7);
  const payee = freshKeys();
  const out = freshAddress();
  let payment: Signed;
  let attestation: Uint8Array;

  before(async () => {
    field = await Battlefield.start();
    const keys = SpendingKey.fromSeed(seed);
    await field.settle(await field.deposit(keys, 100_000_000n), await field.deposit(keys, 20_000_000n));
    const wallet = await field.restore(keys);
    await field.settle(
      await field.spend(wallet, {
        notes: wallet.notes.slice(0, 1),
        payment: { type: "transfer", to: payee.viewing.address, value: 30_000_000n },
      }),
    );
    const now = await field.restore(keys);
    payment = await field.spend(now, {
      notes: now.notes,
      payment: { type: "withdraw", recipient: out, value: 12_500_000n },
    });
    ({ signature: attestation } = await field.attest(payment));
  });
  after(() => field.stop());

  it("P7 the key and the chain's events alone give back every note, the payee's too", async () => {
    const events = await field.events();
    const restored = restoreFrom(SpendingKey.fromSeed(seed), events);
    assert.equal(restored.balance, 90_000_000n);
    assert.deepEqual(restored.notes.map(({ value }) => value).sort(), [20_000_000n, 70_000_000n]);
    assert.equal([...restored.state.notes.values()].filter(({ spent }) => spent !== undefined).length, 1);
    assert.equal(restoreFrom(payee, events).balance, 30_000_000n);
    assert.equal(restoreFrom(freshKeys(), events).balance, 0n);
  });

  it("P7 a payment that the proxy held back is carried by a stranger, from the calldata alone", async () => {
    const data = new Interface(POOL_ABI).encodeFunctionData("execute", [
      [poolTransaction(payment, attestation)],
      NO_UPDATE,
    ]);
    const stranger = Wallet.createRandom().connect(field.provider);
    await field.provider.send("anvil_setBalance", [stranger.address, "0xde0b6b3a7640000"]);
    const sent = await stranger.sendTransaction({ to: field.home.pool, data });
    await sent.wait();
    assert.equal(await field.usdc.getFunction("balanceOf")(out), 12_500_000n);
    const restored = await field.restore(SpendingKey.fromSeed(seed));
    assert.equal(restored.balance, 77_500_000n);
  });

  it("P7 the proxy that carries it after all changes nothing: the payment is not made twice", async () => {
    const proxy = await field.account(3);
    assert.equal(await field.executeOne(poolTransaction(payment, attestation), proxy), "NullifierSpent");
    assert.equal(await field.usdc.getFunction("balanceOf")(out), 12_500_000n);
  });

  it("P7 a payment held back past its deadline is dead, and made again it is made once", async () => {
    const { timestamp } = (await field.provider.getBlock("latest"))!;
    const wallet = await field.restore(payee);
    const to = freshAddress();
    const terms = {
      notes: wallet.notes,
      payment: { type: "withdraw", recipient: to, value: 5_000_000n },
    } as const;
    const held = await field.transaction(await field.spend(wallet, { ...terms, deadline: timestamp + 120 }));
    await field.provider.send("evm_increaseTime", [121]);
    await field.provider.send("evm_mine", []);
    assert.equal(await field.executeOne(held), "DeadlinePassed");
    assert.equal(
      await field.executeOne(await field.transaction(await field.spend(wallet, terms))),
      "executed",
    );
    assert.equal(await field.executeOne(held), "DeadlinePassed");
    assert.equal(await field.usdc.getFunction("balanceOf")(to), 5_000_000n);
  });

  it("P7 leaves that the proxy left without a root are rooted by another carrier", async () => {
    // The withdrawals above were carried without an update: their change waits.
    const [, rooted] = (await field.pool.getFunction("currentRoot")()) as [bigint, bigint];
    const [queued] = (await field.pool.getFunction("queue")()) as [bigint];
    assert.ok(rooted < queued);
    const update = await field.attestRoot(await field.rootRequest());
    const stranger = await field.account(4);
    assert.equal((await field.execute([], update, { sender: stranger })).update, "taken");
    const restored = await field.restore(SpendingKey.fromSeed(seed));
    assert.equal(restored.state.latestRoot?.leafCount, Number(queued));
    await field.settle(
      await field.spend(restored, {
        notes: restored.notes,
        payment: { type: "withdraw", recipient: out, value: restored.balance },
      }),
    );
    assert.equal(await field.usdc.getFunction("balanceOf")(out), 90_000_000n);
  });

  it("P7 nobody but the pool itself can reach the step that moves tokens", async () => {
    const inner = (await loadArtifact("Pool")).abi as never;
    const member = new Contract(field.home.pool, inner, await field.account(4));
    const nothing = `0x${"00".repeat(32)}`;
    const call = member.getFunction("executeMember").staticCall(
      poolTransaction(payment, attestation),
      {
        ...{ kind: 2, deadline: payment.statement.deadline, inputs: 2, outputs: 4, leaves: 4 },
        ...{ extHash: nothing, hash: nothing, token: field.usdcAddress, amount: 1n },
        ...{ proofHash: nothing, rootNumber: 0, isProved: false, isPaid: false, isAgain: false },
      },
      out,
    );
    await assert.rejects(
      call,
      (error: { revert?: { name: string } | null }) => error.revert?.name === "OnlySelf",
    );
  });
});
