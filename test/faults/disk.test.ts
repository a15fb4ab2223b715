/**
 * A whole service whose disk fills up under the embedded store, as its process sees it: nothing new is accepted, what
 * was accepted comes to its end, the process lives, and with room again it goes on by itself.
 */
import assert from "node:assert/strict";
import { stat } from "node:fs/promises";
import path from "node:path";
import { open } from "lmdb";
import type { Health } from "../../shared/api/service.ts";
import type { DepositBody, Ticket } from "../../shared/api/transactions.ts";
import { capture, capturing } from "../support/captured.ts";
import { canLimitDisk, limitFiles } from "../support/disk-limit.ts";
import { documentedFetch } from "../support/documented.ts";
import { startTestStack, type TestStack } from "../support/stack.ts";
import { until } from "../support/until.ts";

const UNIT = 1_000_000n;
const MIB = 1 << 20;
/** One row of the filling, with its pages. */
const ROW = 64 << 10;

(canLimitDisk() ? describe : describe.skip)("a proxy whose disk is full", function () {
  let on: TestStack;

  before(async () => {
    on = await startTestStack();
  });
  after(() => on.stop());

  const store = (): string => path.join(on.local.folder.inside("store"), "store.lmdb");

  /** Uses up what the store has written ahead of itself, but for so much, as months of work would. */
  async function leave(bytes: number): Promise<void> {
    const root = open({ path: store(), noSubdir: true, maxDbs: 64 });
    const filling = root.openDB<Uint8Array, number>({ name: "filling", encoding: "binary" });
    const used = (): number => {
      const { lastPageNumber, pageSize } = root.getStats() as { lastPageNumber: number; pageSize: number };
      return (lastPageNumber + 1) * pageSize;
    };
    const { size } = await stat(store());
    for (let row = filling.getKeysCount(); size - used() > bytes; row++)
      root.transactionSync(() => filling.putSync(row, new Uint8Array(ROW)));
    await root.close();
  }

  async function ask(
    at: string,
    body?: DepositBody,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<{ readonly status: number; readonly answer: unknown }> {
    const response = await documentedFetch(on.entry.base_url)(`${on.entry.base_url}${at}`, {
      ...(body === undefined ? {} : { method: "POST", body: JSON.stringify(body) }),
      headers: { "X-API-Key": on.stack.file.api_key, "Content-Type": "application/json", ...headers },
    });
    return { status: response.status, answer: await response.json() };
  }
  const post = (body: DepositBody, headers?: Readonly<Record<string, string>>): ReturnType<typeof ask> =>
    ask("/sequence/deposit-shield", body, headers);
  async function requireRefused(body: DepositBody): Promise<void> {
    for (const headers of [{}, { "Idempotency-Key": `for ${String(body.deadline)}` }]) {
      const { status, answer } = await post(body, headers);
      assert.deepEqual([status, (answer as { code?: string }).code], [503, "STORE_UNAVAILABLE"]);
    }
    const { status, answer } = await ask("/health");
    assert.deepEqual([status, (answer as Health).checks?.store.state], [503, "down"]);
  }

  async function aDeposit(): Promise<DepositBody> {
    const wallet = await on.wallet({ through: capturing(on.client) });
    const depositor = await on.depositor(10n * UNIT);
    return capture<DepositBody>(wallet, () => wallet.deposit(10n * UNIT, depositor));
  }
  const stateOf = async ({ ticket_id }: Ticket): Promise<string> => (await on.client.ticket(ticket_id)).state;
  async function requireOnce(tickets: readonly Ticket[]): Promise<void> {
    const leaves: number[] = [];
    for (const ticket of tickets) {
      await until("the ticket to become final", async () => {
        const state = await stateOf(ticket);
        // In a block: nothing is learned from waiting for the next ones.
        if (state === "confirmed") await on.mine();
        return state === "finalized";
      });
      assert.equal((await on.executions(ticket.statement)).length, 1);
      leaves.push((await on.client.ticket(ticket.ticket_id)).leaf_index[0]!);
    }
    assert.deepEqual(
      leaves,
      [...leaves].sort((a, b) => a - b),
      "in order of acceptance",
    );
  }

  it("accepts nothing new, ends what it accepted, waits when nothing is left, and goes on without a restart", async () => {
    const [one, two, three, four] = [await aDeposit(), await aDeposit(), await aDeposit(), await aDeposit()];
    const { pid, ended } = on.local.proxy();
    let hasEnded = false;
    void ended.then(() => (hasEnded = true));
    await on.setMining(false);
    const first = await on.client.sequenceDeposit(one);
    await until("it to be sent", async () => (await stateOf(first)) === "submitted");
    const second = await on.client.sequenceDeposit(two);

    limitFiles(pid, (await stat(store())).size);
    await leave(3 * MIB);
    await requireRefused(three);
    await on.setMining(true);
    await requireOnce([first, second]);
    await requireRefused(three);

    // Nothing at all can be written now: what is mined is not even indexed.
    await leave(MIB / 2);
    await requireRefused(four);
    const { block_number: before } = await tip();
    await on.mine(3);
    await until("blocks that are not indexed", async () => (await on.chain.getBlockNumber()) > before + 2);
    assert.equal((await tip()).block_number, before);
    assert.equal(await stateOf(second), "finalized", "reading goes on");
    assert.equal(hasEnded, false, "it lives");

    limitFiles(pid, "unlimited");
    const third = await until("the request to be taken", async () => {
      const { status, answer } = await post(three, { "Idempotency-Key": `for ${String(three.deadline)}` });
      return status === 202 && (answer as Ticket);
    });
    const last = await on.client.sequenceDeposit(four);
    await requireOnce([first, second, third, last]);
    await until("good health", async () => (await ask("/health")).status === 200);
    assert.equal(on.local.proxy().pid, pid);

    await on.local.proxy().kill();
    await on.local.restartProxy();
    await requireOnce([first, second, third, last]);
  });

  const tip = async (): Promise<{ block_number: number }> =>
    (await ask("/merkle/root")).answer as { block_number: number };
});
