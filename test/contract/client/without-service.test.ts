import assert from "node:assert/strict";
import { developmentProver } from "../../../shared/client/node/development.ts";
import { ClientError, memoryStorage, type Prover } from "../../../shared/client/index.ts";
import { LonePool, PROVED_DELAY_SECS, SILENCE_SECS } from "../../support/lone-pool.ts";

describe("a wallet without its service", function () {
  let prover: Prover;
  let lone: LonePool;
  before(async () => {
    prover = await developmentProver();
    lone = await LonePool.start(prover);
  });
  after(async () => {
    await lone.stop();
    await prover.close();
  });

  it("deposits, waits for the tree and for the root's age, pays, and takes everything out", async () => {
    const account = await lone.account(100n);
    const first = await lone.wallet({ seed: 1 });
    const second = await lone.wallet({ seed: 2 });
    const alone = await first.withoutService(account);

    const deposit = await alone.deposit(100n);
    assert.equal(first.balance().total, 100n);
    assert.equal(first.balance().unverified, 100n);
    assert.equal(await lone.publicBalance(lone.pool), 100n);
    assert.match(deposit.transactionHash ?? "", /^0x/);

    await assert.rejects(alone.pay(second.address, 30n), { code: "NOTES_YOUNG", usableFrom: undefined });
    const early = await alone.advance().catch((error: unknown) => error);
    assert.ok(early instanceof ClientError && early.code === "ADVANCE_EARLY");
    const { allowedFrom } = early as ClientError & { allowedFrom: number };
    assert.ok(allowedFrom > alone.time);

    await lone.pass(SILENCE_SECS);
    assert.deepEqual((await alone.advance())?.leafCount, 3);
    assert.equal(await alone.advance(), undefined);
    assert.equal(first.balance().unverified, 0n);
    // The leaves are as old as their checkpoint, and that is older than the root needs to be.
    const [outlook] = await alone.outlook();
    assert.deepEqual([outlook?.provable, outlook?.later, outlook?.uncovered], [100n, [], 0n]);

    const paid = await alone.pay(second.address, 30n);
    assert.equal(first.balance().total, 70n);
    await second.sync();
    assert.equal(second.balance().total, 30n);
    assert.notEqual(paid.statement, deposit.statement);
    // The change is young, and no root covers it.
    await assert.rejects(alone.withdraw(account.address, 70n), { code: "NOTES_YOUNG" });

    await lone.pass(SILENCE_SECS);
    await alone.advance();
    const [both] = await alone.outlook();
    if (both?.provable === 0n) await lone.pass(PROVED_DELAY_SECS);
    const out = await alone.withdraw(account.address, 20n);
    assert.equal(out.claim, undefined);
    assert.equal(await lone.publicBalance(account.address), 20n);
    assert.equal(first.balance().total, 50n);

    const receiver = await lone.account();
    const theirs = await second.withoutService(receiver);
    const left = await theirs.leave(receiver.address);
    assert.equal(left.amount, 30n);
    assert.equal(await lone.publicBalance(receiver.address), 30n);
    assert.equal(await lone.publicBalance(lone.pool), 50n);
    await first.close();
    await second.close();
  });

  it("resumes from its storage, and reads the same from the beginning", async () => {
    const storage = memoryStorage();
    const account = await lone.account(50n);
    const one = await lone.wallet({ seed: 7, storage });
    await (await one.withoutService(account)).deposit(50n);
    await one.close();
    const again = await lone.wallet({ seed: 7, storage });
    await again.sync();
    const anew = await lone.wallet({ seed: 7 });
    await anew.sync();
    assert.deepEqual(again.notes(), anew.notes());
    assert.equal(again.balance().total, 50n);
    await again.close();
    await anew.close();
  });
});
