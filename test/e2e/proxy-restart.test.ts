/**
 * A ticket that was answered survives the death of the proxy. The process is killed from outside (SIGKILL)
 * while the chain makes no block, so that "answered and not mined" is certain and not a matter of luck.
 */
import assert from "node:assert/strict";
import type { Ticket } from "../../shared/api/transactions.ts";
import type { Payment, Wallet } from "../../shared/client/index.ts";
import { startTestStack, type TestStack } from "../support/stack.ts";
import { until } from "../support/until.ts";

const UNIT = 1_000_000n;

describe('a proxy killed between "ticket answered" and "mined"', function () {
  let on: TestStack;
  let payer: Wallet;
  let payee: Wallet;

  before(async () => {
    on = await startTestStack();
    payer = await on.wallet();
    payee = await on.wallet();
    await payer.deposit(100n * UNIT, await on.depositor(100n * UNIT));
  });
  after(() => on.stop());
  afterEach(() => on.setMining(true));

  /** The ticket after the answer, with no block since. */
  async function answered(pay: () => Promise<Payment>): Promise<Payment> {
    await on.setMining(false);
    const payment = await pay();
    await on.local.proxy().kill();
    assert.deepEqual(await on.executions(payment.statement), []);
    return payment;
  }

  function finalized({ ticket }: Payment): Promise<Ticket> {
    return until("the ticket to become final", async () => {
      const now = await on.client.ticket(ticket.ticket_id);
      assert.ok(now.state !== "failed" && now.state !== "expired", JSON.stringify(now));
      return now.state === "finalized" ? now : undefined;
    });
  }

  async function requireOnce(payment: Payment): Promise<void> {
    const final = await finalized(payment);
    const [hash, ...more] = await on.executions(payment.statement);
    assert.deepEqual(more, []);
    assert.equal(final.tx_hash, hash);
  }

  it("finishes a private payment after its restart, once", async () => {
    const payment = await answered(() => payer.pay(payee.address, 30n * UNIT, { until: "queued" }));
    await on.local.restartProxy();
    await on.setMining(true);
    await requireOnce(payment);
    await payee.sync();
    assert.equal(payee.balance().total, 30n * UNIT);
  });

  it("finds what was mined while it was dead, and sends it no second time", async () => {
    const depositor = await on.depositor(10n * UNIT);
    await on.setMining(false);
    const payment = await payer.deposit(10n * UNIT, depositor, { until: "queued" });
    await until(
      "the ticket to be sent",
      async () => (await on.client.ticket(payment.ticket.ticket_id)).state === "submitted",
    );
    await on.local.proxy().kill();
    await on.mine(1);
    assert.equal((await on.executions(payment.statement)).length, 1);
    await on.local.restartProxy();
    await on.setMining(true);
    await requireOnce(payment);
    assert.equal(await on.usdc.balanceOf(depositor.address), 0n);
  });

  it("sends again what the chain's node has forgotten meanwhile", async () => {
    const depositor = await on.depositor(10n * UNIT);
    const payment = await answered(() => payer.deposit(10n * UNIT, depositor, { until: "queued" }));
    await on.chain.send("anvil_dropAllTransactions", []);
    await on.local.restartProxy();
    await on.setMining(true);
    await requireOnce(payment);
    assert.equal(await on.usdc.balanceOf(depositor.address), 0n);
  });

  it("answers the same ticket to the same statement, and keeps it for its owner", async () => {
    const depositor = await on.depositor(10n * UNIT);
    const payment = await answered(() => payer.deposit(10n * UNIT, depositor, { until: "queued" }));
    await on.local.restartProxy();
    const again = await on.client.ticket(payment.ticket.ticket_id);
    assert.equal(again.statement, payment.statement);
    assert.ok(["queued", "submitted"].includes(again.state));
    await on.setMining(true);
    await requireOnce(payment);
  });
});
