/**
 * A whole service whose chain goes back further than the confirmations: money that was final is not there any more.
 * Its tickets say so, are executed again in their order, and every wallet ends with what it had.
 */
import assert from "node:assert/strict";
import { lineOfLog } from "../../scripts/base/service.ts";
import type { SpendBody, Ticket } from "../../shared/api/transactions.ts";
import type { Client } from "../../shared/client/index.ts";
import { startTestStack, type TestStack } from "../support/stack.ts";
import { until } from "../support/until.ts";

const UNIT = 1_000_000n;

describe("a chain that takes back what was final", function () {
  let on: TestStack;

  before(async () => {
    on = await startTestStack();
  });
  after(() => on.stop());

  const now = (ticket: Ticket): Promise<Ticket> => on.client.ticket(ticket.ticket_id);

  it("says of each ticket that it is not final, executes all of them again, and no wallet loses a unit", async () => {
    let posted: SpendBody | undefined;
    const listening: Client = {
      ...on.client,
      sequenceSpend: (body, ...rest) => on.client.sequenceSpend((posted = body), ...rest),
    };
    const [payer, payee] = [await on.wallet({ through: listening }), await on.wallet()];
    const depositor = await on.depositor(100n * UNIT);
    // What the depositor holds is older than what will be reorganised out.
    await on.mine(3);
    const deposit = await payer.deposit(100n * UNIT, depositor, { until: "finalized" });
    const payment = await payer.pay(payee.address, 30n * UNIT, { until: "finalized" });
    await payee.sync();
    const balances = [payer.balance().total, payee.balance().total];
    const tickets = [deposit.ticket, payment.ticket];
    const blocks = (await Promise.all(tickets.map(now))).map(({ block_number }) => block_number!);

    await on.setMining(false);
    const head = await on.chain.getBlockNumber();
    await on.chain.send("anvil_reorg", [head - blocks[0]! + 1, []]);
    assert.equal(await on.usdc.balanceOf(depositor.address), 100n * UNIT, "it is reorganised out");
    for (const ticket of tickets) {
      const open = await until("the ticket to be open again", async () => {
        const { state, ...rest } = await now(ticket);
        return state === "submitted" && rest;
      });
      assert.deepEqual([open.block_number, open.confirmations, open.leaf_index], [null, 0, []]);
    }
    await payee.sync();
    assert.equal(payee.balance().total, 0n, "a wallet shows nothing that the chain has not");
    // Whoever posts it again, for fear that it is lost, pays no second time.
    assert.equal((await on.client.sequenceSpend(posted!)).ticket_id, payment.ticket.ticket_id);

    await on.setMining(true);
    const leaves: number[] = [];
    for (const ticket of tickets) {
      const { leaf_index, statement } = await until("the ticket to be final again", async () => {
        const again = await now(ticket);
        assert.ok(!["failed", "expired"].includes(again.state), JSON.stringify(again.error));
        // In a block: nothing is learned from waiting for the next ones.
        if (again.state === "confirmed") await on.mine();
        return again.state === "finalized" && again;
      });
      assert.equal((await on.executions(statement)).length, 1);
      leaves.push(leaf_index[0]!);
    }
    assert.ok(leaves[0]! < leaves[1]!, "in order of acceptance");
    assert.equal(await on.usdc.balanceOf(depositor.address), 0n);
    await Promise.all([payer.sync(), payee.sync()]);
    assert.deepEqual([payer.balance().total, payee.balance().total], balances);

    for (const { ticket_id } of tickets) {
      const alarm = await lineOfLog(
        on.local.folder.log("proxy"),
        ({ level, ...rest }) => level === "fatal" && JSON.stringify(rest).includes(ticket_id),
      );
      assert.ok(alarm !== undefined, "the operator is told of each");
    }
    // What was received is money: it can be paid on.
    await payee.withdraw(depositor.address, 20n * UNIT);
    assert.equal(await on.usdc.balanceOf(depositor.address), 20n * UNIT);
  });
});
