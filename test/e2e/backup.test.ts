// A service that goes on with an older copy of its store: what the chain did meanwhile is found again, nothing is executed
// twice, and users pay on. By the operator's own commands, beside the running service and while it stands.
import assert from "node:assert/strict";
import { rename } from "node:fs/promises";
import type { Payment, Wallet } from "../../shared/client/index.ts";
import { runProgram } from "../support/program.ts";
import { startTestStack, type TestStack } from "../support/stack.ts";
import { until } from "../support/until.ts";

const UNIT = 1_000_000n;

describe("a service on an older copy of its store", function () {
  let on: TestStack;
  let payer: Wallet;
  let payee: Wallet;
  before(async () => {
    on = await startTestStack();
    [payer, payee] = [await on.wallet(), await on.wallet()];
    await payer.deposit(100n * UNIT, await on.depositor(100n * UNIT));
  });
  after(() => on.stop());

  const operator = async (...words: string[]): Promise<string> => {
    const args = ["--json", "--data", store(), ...words];
    const { code, out, err } = await runProgram("scripts/operator/main.ts", args);
    if (code !== 0) throw new Error(err);
    return out;
  };
  const store = (): string => on.local.folder.inside("store");
  // eslint-disable-next-line @typescript-eslint/no-explicit-any -- what the tool prints, read by this test alone
  const inspect = async (name: string): Promise<any> => {
    const at = [
      "--rpc",
      on.entry.chain_rpc,
      "--chain-id",
      String(on.entry.chain_id),
      "--pool",
      on.entry.pool,
    ];
    return JSON.parse(await operator("tickets", "inspect", name, ...at));
  };
  const finalized = ({ ticket }: Payment): Promise<unknown> =>
    until("the ticket to become final", async () => {
      const now = await on.client.ticket(ticket.ticket_id);
      assert.ok(now.state !== "failed" && now.state !== "expired", JSON.stringify(now));
      return now.state === "finalized";
    });

  it("executes nothing twice, finds what was executed meanwhile, and takes payments", async () => {
    await on.setMining(false);
    const open = await payer.pay(payee.address, 10n * UNIT, { until: "queued" });
    const sent = await until("its transaction to be signed", async () => {
      const { transactions } = await inspect(open.statement);
      return transactions[0];
    });
    const backup = on.local.folder.inside("backup");
    const { pool } = JSON.parse(await operator("backup", backup));
    assert.equal(pool, on.entry.pool.toLowerCase());
    await on.setMining(true);
    await finalized(open);
    const later = await payer.pay(payee.address, 20n * UNIT, { until: "finalized" });
    const known = await inspect(later.ticket.ticket_id);
    assert.deepEqual([known.ticket.state, known.ticket.is_over], ["finalized", true]);
    assert.deepEqual([known.index.executed.txHash, known.chain.spent], [later.ticket.tx_hash, [true, true]]);
    assert.equal(known.chain.transactions[0].succeeded, true);

    await on.local.proxy().kill();
    await rename(store(), `${store()}-of-before`);
    const instance = `${String(on.entry.chain_id)}:${on.entry.pool}`;
    await operator("--instance", instance, "restore", backup);
    // As the backup has it: the one is under way, and nobody knows of the other.
    assert.equal((await inspect(open.statement)).transactions[0].nonce, sent.nonce);
    await assert.rejects(inspect(later.statement), /there is no ticket/);
    await on.local.restartProxy();

    await finalized(open);
    for (const { statement } of [open, later])
      assert.equal((await on.executions(statement)).length, 1, statement);
    // Its ticket is lost, its outcome is not.
    const lost = await until("the index to have the later one", () =>
      inspect(later.statement).catch(() => undefined),
    );
    assert.deepEqual([lost.ticket, lost.index.executed.txHash], [null, later.ticket.tx_hash]);
    await payee.sync();
    assert.equal(payee.balance().total, 30n * UNIT);

    // The wallet's nonce has moved on without this store.
    const next = await payer.pay(payee.address, 5n * UNIT, { until: "finalized" });
    assert.equal((await on.executions(next.statement)).length, 1);
    await payee.sync();
    assert.equal(payee.balance().total, 35n * UNIT);
  });
});
