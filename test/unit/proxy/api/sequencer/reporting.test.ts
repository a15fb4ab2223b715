import assert from "node:assert/strict";
import { createChain } from "../../../../../proxy/base/chain/provider.ts";
import { createLogger } from "../../../../../proxy/base/logging.ts";
import { createMetrics, type Metrics } from "../../../../../proxy/base/observe/metrics.ts";
import { embeddedStores } from "../../../../../proxy/base/store/instance.ts";
import type { TicketRecord, TicketStatus } from "../../../../../proxy/base/store/tickets.ts";
import { Queue } from "../../../../../proxy/api/sequencer/queue.ts";
import { createBalanceWatch } from "../../../../../proxy/api/sequencer/balance-watch.ts";
import { Sequencer } from "../../../../../proxy/api/sequencer/sequencer.ts";
import type { SequencerParts } from "../../../../../proxy/api/sequencer/term.ts";
import { logSteps } from "../../../../../proxy/api/sequencer/reporting.ts";
import { readExposition, type Exposition } from "../../../../support/exposition.ts";
import { Money, OWNER, SILENT } from "../../../../support/money.ts";
import { hash, ticketDraft } from "../../../../support/stores/tickets.ts";
import { until } from "../../../../support/until.ts";

const OUTCOME = { txHash: hash(8), block: 7, leafIndexes: [] };

const QUEUED: TicketStatus = { state: "queued" };
const SENT: TicketStatus = { state: "submitted", carrier: 1, txHash: hash(9) };
const CONFIRMED: TicketStatus = { state: "confirmed", outcome: OUTCOME };
const FINALIZED: TicketStatus = { state: "finalized", outcome: OUTCOME };

describe("sequencer/reporting", () => {
  let metrics: Metrics;
  let queue: Queue;

  const aTicket = (n: number, updatedAt: number, status: TicketStatus): TicketRecord => ({
    ...ticketDraft(n, [n]),
    sequence: n,
    status,
    updatedAt,
  });
  const begin = async (tickets: readonly TicketRecord[]): Promise<void> => {
    metrics = createMetrics();
    queue = await Queue.read(
      {
        async *open() {
          yield tickets;
        },
        follow: () => () => undefined,
      },
      logSteps(metrics, SILENT),
    );
  };
  const step = (n: number, status: TicketStatus, at: number): void =>
    queue.apply([{ id: `id-${String(n)}`, status }], at);
  const scrape = async (): Promise<Exposition> => readExposition(await metrics.text());

  it("times each step, and the way to the first confirmation once, also when a reorganisation takes it back", async () => {
    await begin([aTicket(1, 1_000, QUEUED)]);
    step(1, SENT, 3_000);
    step(1, CONFIRMED, 7_000);
    step(1, { state: "submitted", txHash: hash(9) }, 8_000);
    step(1, CONFIRMED, 9_000);
    step(1, FINALIZED, 19_000);
    const { value } = await scrape();
    const sum = (state: string): number => value("cloister_ticket_state_seconds_sum", { state });
    assert.deepEqual(["queued", "submitted", "confirmed"].map(sum), [2, 5, 11]);
    assert.equal(value("cloister_ticket_confirmation_seconds_count"), 1);
    assert.equal(value("cloister_ticket_confirmation_seconds_sum"), 6);
    assert.equal(value("cloister_tickets_ended_total", { state: "finalized", code: "none" }), 1);
  });

  it("times those of an earlier lease from their last change, and counts no confirmation of then", async () => {
    await begin([aTicket(1, 2_000, CONFIRMED), aTicket(2, 2_000, SENT)]);
    step(1, FINALIZED, 5_000);
    step(2, FINALIZED, 6_000);
    const { value } = await scrape();
    assert.equal(value("cloister_ticket_state_seconds_sum", { state: "confirmed" }), 3);
    assert.equal(value("cloister_ticket_state_seconds_sum", { state: "submitted" }), 4);
    assert.equal(value("cloister_ticket_confirmation_seconds_count"), 1);
    assert.equal(value("cloister_ticket_confirmation_seconds_sum"), 5);
    assert.equal(value("cloister_tickets_ended_total", { state: "finalized", code: "none" }), 2);
  });

  it("counts endings by their reason, and no time that runs backwards", async () => {
    await begin([aTicket(1, 9_000, QUEUED), aTicket(2, 1_000, QUEUED)]);
    const error = { code: "NULLIFIER_SPENT", detail: "", retryable: false } as const;
    step(1, { state: "failed", error }, 4_000);
    step(2, { state: "expired", error: { ...error, code: "DEADLINE_PASSED" } }, 4_000);
    const { value } = await scrape();
    assert.equal(value("cloister_tickets_ended_total", { state: "failed", code: "NULLIFIER_SPENT" }), 1);
    assert.equal(value("cloister_tickets_ended_total", { state: "expired", code: "DEADLINE_PASSED" }), 1);
    assert.equal(value("cloister_ticket_state_seconds_sum", { state: "queued" }), 3);
    assert.equal(value("cloister_ticket_confirmation_seconds_count"), 0);
  });
});

describe("from a request to its transaction, on a real chain", function () {
  let on: Money;
  let lines: Record<string, unknown>[];

  /** A new process on the same folder, with a log to read. */
  async function restart(): Promise<void> {
    lines = [];
    on.logger = createLogger("info", {
      write: (line: string) => void lines.push(JSON.parse(line) as Record<string, unknown>),
    });
    on.metrics = createMetrics();
    await on.restart();
    on.indexer.onChange((change) => {
      if (change.type === "reorg") on.metrics.reorganised(change.tip.number - change.ancestor);
    });
  }
  const line = (msg: string): Promise<Record<string, unknown>> =>
    until(`the line "${msg}"`, () => lines.find((one) => one["msg"] === msg));

  beforeEach(async () => {
    on = await Money.start();
  });
  afterEach(() => on.stop());

  it("the request's id is in every line of its ticket, its batch and its transaction, also after a restart", async () => {
    await restart();
    const ticket = await on.accept(await on.deposit(), OWNER, "req-of-alice");
    const trace = { ticket: ticket.id, request_id: "req-of-alice" };
    const accepted = await line("a ticket is accepted");
    assert.deepEqual({ ...accepted, ...trace }, accepted);
    const view = await on.tickets.view(ticket);
    assert.ok(!JSON.stringify(view).includes("req-of-alice"), "it is for the log alone");

    await restart();
    assert.equal(on.sequencer.state().queue, undefined);
    await on.run();
    const done = await on.reaches(ticket, "confirmed");
    assert.ok(done.status.state === "confirmed");
    const { txHash: tx, block } = done.status.outcome;
    assert.deepEqual(await until("the queue to be known", () => on.sequencer.state().queue), {
      tickets: { queued: 0, submitted: 0, confirmed: 1 },
      oldestAt: undefined,
    });
    const sent = await line("a batch is sent");
    assert.deepEqual([sent["tx"], sent["carries"]], [tx, [trace]]);
    const mined = await line("a batch is mined");
    assert.deepEqual([mined["tx"], mined["block"], mined["carries"]], [tx, block, [trace]]);
    await on.mine(3);
    const ended = await line("a ticket has ended");
    const { ticket: id, request_id, state, tx: last, block: where } = ended;
    assert.deepEqual({ ticket: id, request_id }, trace);
    assert.deepEqual([state, last, where], ["finalized", tx, block]);
    assert.deepEqual(on.sequencer.state().queue?.tickets, { queued: 0, submitted: 0, confirmed: 0 });

    const { value } = readExposition(await on.metrics.text());
    const receipt = await on.provider.getTransactionReceipt(tx);
    assert.equal(mined["gas"], receipt?.gasUsed.toString());
    assert.equal(value("cloister_gas_per_ticket_sum"), Number(receipt?.gasUsed));
    assert.equal(value("cloister_gas_used_total", { carries: "tickets" }), Number(receipt?.gasUsed));
    assert.equal(value("cloister_batch_tickets_count"), 1);
    assert.equal(value("cloister_batch_tickets_sum"), 1);
    assert.equal(value("cloister_transactions_total", { event: "mined" }), 1);
    assert.equal(value("cloister_tickets_ended_total", { state: "finalized", code: "none" }), 1);
    assert.equal(value("cloister_reorganisations_total"), 0);
  });

  it("a ticket without the id of a request is carried and told like any other", async () => {
    await restart();
    await on.run();
    const ticket = await on.accept(await on.deposit());
    await on.reaches(ticket, "confirmed");
    assert.deepEqual((await line("a batch is sent"))["carries"], [{ ticket: ticket.id }]);
  });

  it("who loses the lease says so once, and nothing of a queue that another carries on", async () => {
    await on.stop();
    // It asks for the lease again after four seconds, so that it writes before it can know.
    on = await Money.start({ leaseMs: 12_000 });
    await restart();
    assert.equal(on.sequencer.state().hasLease, false);
    await on.run();
    const made = await on.deposit();
    await until("the queue to be known", () => on.sequencer.state().queue);
    assert.equal(on.sequencer.state().hasLease, true);
    const lease = async (event: string): Promise<number> =>
      readExposition(await on.metrics.text()).value("cloister_lease_events_total", { event });
    assert.equal(await lease("taken"), 1);

    const rival = embeddedStores(on.database).lease;
    const fence = await rival.take("rival", 60_000);
    assert.ok(fence !== undefined);
    const ticket = await on.accept(made);
    await until("the loss to be told", async () => (await lease("lost")) === 1);
    // It had tried to send, and the store refused the write.
    assert.ok((await lease("fenced")) >= 1);
    const { hasLease, queue } = on.sequencer.state();
    assert.deepEqual([hasLease, queue], [false, undefined]);

    // What the other does is for the other to tell.
    const error = { code: "REJECTED", detail: "", retryable: false } as const;
    await on.store
      .underLease(fence)
      .change([{ id: ticket.id, status: { state: "failed", error } }], Date.now());
    await on.sequencer.stop();
    const { value } = readExposition(await on.metrics.text());
    assert.equal(value("cloister_tickets_accepted_total", { kind: "deposit-shield" }), 1);
    assert.equal(value("cloister_tickets_ended_total", { state: "failed", code: "REJECTED" }), 0);
    assert.equal(value("cloister_lease_events_total", { event: "taken" }), 1);
    assert.equal(value("cloister_lease_events_total", { event: "unanswered" }), 0);
  });

  it("a store that does not say who has the lease is counted each time", async () => {
    const metrics = createMetrics();
    const unreachable = (): Promise<never> => Promise.reject(new Error("unreachable"));
    const sequencer = new Sequencer(
      {
        ...({} as Omit<SequencerParts, "lease" | "logger" | "metrics" | "now">),
        lease: { isShared: true, take: unreachable, giveBack: unreachable, report: unreachable },
        logger: SILENT,
        metrics,
        now: Date.now,
      },
      { confirmations: 1, pollIntervalMs: 1_000, leaseMs: 30 },
    );
    sequencer.start();
    await until("two tries", async () => {
      const { value } = readExposition(await metrics.text());
      return value("cloister_lease_events_total", { event: "unanswered" }) >= 2;
    });
    assert.equal(sequencer.state().hasLease, false);
    await sequencer.stop();
    const { value } = readExposition(await metrics.text());
    assert.equal(value("cloister_lease_events_total", { event: "taken" }), 0);
  });

  it("a reorganisation is counted with the blocks that it took back", async () => {
    await restart();
    await on.run();
    await on.reaches(await on.accept(await on.deposit()), "confirmed");
    await on.rpc("anvil_reorg", [2, []]);
    const counted = await until("it to be noticed", async () => {
      const { value } = readExposition(await on.metrics.text());
      return value("cloister_reorganisations_total") === 1 ? value : false;
    });
    assert.equal(counted("cloister_reorganised_blocks_total"), 2);
  });

  it("what the node is asked is counted by method and outcome, and a balance is not kept when it says none", async () => {
    const metrics = createMetrics();
    const onAsked = metrics.rpc.bind(metrics);
    const chain = createChain(on.wire.url, on.home.chainId, { onAsked });
    const watch = createBalanceWatch(chain, on.sender, 20);
    await on.fund(123n);
    watch.start();
    await until("the balance to be known", () => watch.balance() === 123n);
    await assert.rejects(chain.broadcast("0x00"));
    await watch.stop();
    const unreachable = createChain("http://127.0.0.1:1", 1n, { onAsked });
    const blind = createBalanceWatch(unreachable, on.sender, 60_000);
    blind.start();
    await blind.stop();
    assert.equal(blind.balance(), undefined);
    const { value } = readExposition(await metrics.text());
    const count = (method: string, outcome: string): number =>
      value("cloister_rpc_requests_total", { method, outcome });
    assert.ok(count("eth_getBalance", "answered") >= 1);
    assert.equal(count("eth_getBalance", "unreachable"), 1);
    assert.equal(count("eth_sendRawTransaction", "refused"), 1);
    assert.equal(
      value("cloister_rpc_seconds_count", { method: "eth_getBalance" }),
      count("eth_getBalance", "answered") + 1,
    );
  });
});
