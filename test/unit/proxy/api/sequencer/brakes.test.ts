/** Tickets that meet the pool's brakes, before they are sent and in the very block that was to execute them. */
import assert from "node:assert/strict";
import type { TicketRecord, TicketStatus } from "../../../../../proxy/base/store/tickets.ts";
import type { Address } from "../../../../../shared/protocol/brands.ts";
import { spendDraft } from "../../../../support/drafts.ts";
import { Money, NO_PROOF, type MadeStatement } from "../../../../support/money.ts";
import { poolContract } from "../../../../support/pool-contract.ts";
import { poolOf } from "../../../../support/refuting.ts";
import { until } from "../../../../support/until.ts";
import { assertInOrder } from "./order.ts";

const DAY_SECS = 86_400;
const DEPOSIT = 10n ** 16n;
const RECIPIENT = `0x${"7e".repeat(20)}` as Address;

describe("sequencer: the pool's brakes on a real chain", function () {
  let on: Money;

  beforeEach(async () => {
    on = await Money.start();
    await on.run();
    await on.reaches(await on.accept(await on.deposit(DEPOSIT)), "confirmed");
  });
  afterEach(() => on.stop());

  const pay = (): MadeStatement => on.spend(on.rooted().root, { deadline: farOff() });
  const farOff = (): bigint => on.setting.deadline + 10n * BigInt(DAY_SECS);
  function withdrawal(amount: bigint): MadeStatement {
    const payout = { asset: on.usdcAddress, amount, recipient: RECIPIENT };
    return on.stated({ ...spendDraft(on.setting, on.rooted().root, payout), deadline: farOff() });
  }
  const statusOf = async ({ id }: TicketRecord): Promise<TicketStatus> => (await on.store.get(id))!.status;
  const shownOf = async ({ id }: TicketRecord) => on.tickets.view((await on.store.get(id))!);
  const room = async (): Promise<bigint> => (await on.pool.room(on.usdcAddress)).attested;

  async function passDays(days: number): Promise<void> {
    await on.rpc("evm_increaseTime", [days * DAY_SECS]);
    await on.mine();
  }
  async function sentOf(made: MadeStatement): Promise<TicketRecord> {
    await on.rpc("evm_setAutomine", [false]);
    const ticket = await on.accept(made);
    await until("it to be sent", async () => (await statusOf(ticket)).state === "submitted");
    return ticket;
  }
  /** What holds it is asked anew in every turn, and until then nothing is said. */
  const heldOf = (ticket: TicketRecord) =>
    until("it to be held", async () => {
      const shown = await shownOf(ticket);
      return shown.blocked_by === undefined ? undefined : shown;
    });
  /** In front of all that waits for the next block. */
  const AHEAD = { maxFeePerGas: 10n ** 12n, maxPriorityFeePerGas: 10n ** 12n };
  async function refusedInItsBlock(ticket: TicketRecord): Promise<TicketStatus> {
    await on.mine();
    await on.rpc("evm_setAutomine", [true]);
    return until("the refusal", async () => {
      const status = await statusOf(ticket);
      return status.state === "submitted" && status.carrier === undefined ? status : undefined;
    });
  }

  it("holds what waits while the attested path is closed, pays for nothing, and goes on by itself", async () => {
    await (await poolOf(on).getFunction("pause")()).wait();
    const nonce = await on.chain.nonce(on.sender);
    const made = pay();
    const ticket = await on.accept(made);
    await until("it to be held", () => on.sequencer.blockedBy("spend") === "pause");
    await on.mine(5);
    assert.deepEqual(await statusOf(ticket), { state: "queued" });
    assert.equal((await heldOf(ticket)).blocked_by, "pause");
    assert.equal(await on.chain.nonce(on.sender), nonce);
    await passDays(3);
    await on.isDone(ticket);
    assert.equal(await on.executions(made), 1);
  });

  it("lets nobody pass whoever came before him where the path opens between two looks at the chain", async () => {
    await on.stop();
    on = await Money.start({ maxBatch: 1 });
    await on.run();
    await on.reaches(await on.accept(await on.deposit(DEPOSIT)), "confirmed");
    await (await poolOf(on).getFunction("pause")()).wait();
    const simulate = on.pool.simulate.bind(on.pool);
    let isToOpen = false;
    Object.assign(on.pool, {
      simulate: async (...given: Parameters<typeof simulate>) => {
        const answer = await simulate(...given);
        if (isToOpen) {
          isToOpen = false;
          await passDays(3);
        }
        return answer;
      },
    });
    const tickets = [await on.accept(pay()), await on.accept(pay()), await on.accept(pay())];
    await until("them to be held", () => on.sequencer.blockedBy("spend") === "pause");
    // Its own clock says that the path is open, so the sequencer asks; the chain's is behind.
    on.now = () => Date.now() + 4 * DAY_SECS * 1_000;
    isToOpen = true;
    await on.mine();
    const done = [];
    for (const ticket of tickets) done.push(await on.isDone(ticket));
    assert.equal(isToOpen, false, "the path opened in the middle");
    assertInOrder(done);
  });

  it("a member that meets the closed path in its block waits without a fault of its own, and goes again", async () => {
    const made = pay();
    const ticket = await sentOf(made);
    await poolOf(on).getFunction("pause")(AHEAD);
    const status = await refusedInItsBlock(ticket);
    assert.equal("error" in status, false);
    const events = await on.events();
    const refusal = events.find((event) => event.kind === "rejected");
    assert.ok(refusal?.kind === "rejected");
    assert.equal(on.pool.readReason(refusal.reason).name, "AttestedPathShut");
    await until("it to be held", () => on.sequencer.blockedBy("spend") === "pause");
    const shown = await heldOf(ticket);
    assert.deepEqual([shown.state, shown.blocked_by, shown.error], ["submitted", "pause", null]);
    await passDays(3);
    await on.isDone(ticket);
    assert.equal(await on.executions(made), 1);
  });

  it("a withdrawal above what there is room for waits without gas, lets its neighbour pass, is told when, and goes", async () => {
    await passDays(1);
    await on.isDone(await on.accept(withdrawal(await room())));
    assert.equal(await room(), 0n);
    const nonce = await on.chain.nonce(on.sender);
    const made = withdrawal(1n);
    const ticket = await on.accept(made);
    await until("the reason", async () => "error" in (await statusOf(ticket)));
    const status = await statusOf(ticket);
    assert.ok(status.state === "queued" && status.error?.code === "TRANSFER_REFUSED");
    assert.match(status.error.detail, /room for it from 20\d\d-\S+Z on at the earliest/);
    await on.isDone(await on.accept(pay()));
    assert.equal(await on.chain.nonce(on.sender), nonce + 1);
    await passDays(1);
    await on.mine(8);
    await on.isDone(ticket);
    assert.equal(await on.executions(made), 1);
  });

  it("one whose room somebody else took in its block is refused alone, and goes when there is room again", async () => {
    await passDays(1);
    const all = await room();
    const taken = withdrawal(all);
    const attestations = await on.attestor.attest(taken.statement, NO_PROOF);
    // Less is held afterwards, so less may leave.
    const made = withdrawal(all / 2n);
    const ticket = await sentOf(made);
    const rival = poolContract(on).execute(taken, attestations, AHEAD);
    await until("the rival to wait, too", async () => {
      const { pending } = (await on.provider.send("txpool_status", [])) as { pending: string };
      return pending === "0x2";
    });
    const status = await refusedInItsBlock(ticket);
    await rival;
    assert.ok("error" in status && status.error.code === "TRANSFER_REFUSED");
    assert.match(status.error.detail, /room for it from 20\d\d-\S+Z on at the earliest/);
    assert.deepEqual([await on.executions(taken), await on.executions(made)], [1, 0]);
    await passDays(1);
    await on.mine(8);
    await on.isDone(ticket);
    assert.equal(await on.executions(made), 1);
  });
});
