import assert from "node:assert/strict";
import { createChain } from "../../../../proxy/chain/provider.ts";
import { createLogger } from "../../../../proxy/logging.ts";
import { createMetrics, type Metrics } from "../../../../proxy/observe/metrics.ts";
import type { TicketRecord, TicketStatus } from "../../../../proxy/store/tickets.ts";
import { createBalanceWatch } from "../../../../proxy/submission/balance-watch.ts";
import { followTickets, type TicketSteps } from "../../../../proxy/submission/ticket-steps.ts";
import { countReorganisations } from "../../../../proxy/merkle/count-reorganisations.ts";
import { readExposition, type Exposition } from "../../../support/exposition.ts";
import { Money, OWNER, SILENT } from "../../../support/money.ts";
import { until } from "../../../support/until.ts";

const HASH = `0x${"ab".repeat(32)}` as const;
const OUTCOME = { txHash: HASH as never, block: 7, leafIndexes: [] };

describe("submission/ticket-steps", () => {
  let listener: (ticket: TicketRecord) => void;
  let metrics: Metrics;
  let steps: TicketSteps;
  let now: number;

  const aTicket = (id: string, updatedAt: number, status: TicketStatus): TicketRecord =>
    ({ id, status, createdAt: 1_000, updatedAt, transaction: { kind: "spend" } }) as unknown as TicketRecord;
  const follow = async (open: TicketRecord[]): Promise<void> => {
    metrics = createMetrics();
    const tickets = {
      open: () => Promise.resolve(open),
      onChange: (one: typeof listener) => {
        listener = one;
        return () => undefined;
      },
    };
    steps = await followTickets({ tickets, metrics, logger: SILENT, now: () => now });
  };
  const scrape = async (): Promise<Exposition> => readExposition(await metrics.text());

  beforeEach(async () => {
    now = 1_000;
    await follow([]);
  });

  it("times each step, and the way to the first confirmation once, also when a reorganisation takes it back", async () => {
    listener(aTicket("a", 1_000, { state: "queued" }));
    listener(aTicket("a", 3_000, { state: "submitted", carrier: 1, txHash: HASH as never }));
    listener(aTicket("a", 7_000, { state: "confirmed", outcome: OUTCOME }));
    listener(aTicket("a", 8_000, { state: "submitted", txHash: HASH as never }));
    listener(aTicket("a", 9_000, { state: "confirmed", outcome: OUTCOME }));
    listener(aTicket("a", 19_000, { state: "finalized", outcome: OUTCOME }));
    const { value } = await scrape();
    const sum = (state: string): number => value("cloister_ticket_state_seconds_sum", { state });
    assert.deepEqual(["queued", "submitted", "confirmed"].map(sum), [2, 5, 11]);
    assert.equal(value("cloister_ticket_confirmation_seconds_count"), 1);
    assert.equal(value("cloister_ticket_confirmation_seconds_sum"), 6);
    assert.equal(value("cloister_tickets_accepted_total", { kind: "spend" }), 1);
    assert.equal(value("cloister_tickets_ended_total", { state: "finalized", code: "none" }), 1);
    assert.deepEqual(steps.standing().tickets, { queued: 0, submitted: 0, confirmed: 0 });
  });

  it("knows how many stand where and how old the oldest is that waits, earlier runs' tickets included", async () => {
    await follow([
      aTicket("a", 2_000, { state: "confirmed", outcome: OUTCOME }),
      aTicket("b", 2_000, { state: "submitted", carrier: 1, txHash: HASH as never }),
    ]);
    listener({ ...aTicket("c", 5_000, { state: "queued" }), createdAt: 5_000 });
    now = 6_000;
    assert.deepEqual(steps.standing(), {
      tickets: { queued: 1, submitted: 1, confirmed: 1 },
      oldestWaitingSecs: 5,
    });
    const error = { code: "NULLIFIER_SPENT", detail: "", retryable: false } as const;
    listener(aTicket("b", 6_000, { state: "failed", error }));
    assert.equal(steps.standing().oldestWaitingSecs, 1);
    const { value } = await scrape();
    assert.equal(value("cloister_tickets_accepted_total", { kind: "spend" }), 1);
    assert.equal(value("cloister_tickets_ended_total", { state: "failed", code: error.code }), 1);
  });

  it("is not led astray by news that comes late, twice, or of a ticket that is over", async () => {
    listener(aTicket("a", 2_000, { state: "submitted", carrier: 1, txHash: HASH as never }));
    listener(aTicket("a", 1_000, { state: "queued" }));
    listener(aTicket("a", 2_000, { state: "submitted", carrier: 1, txHash: HASH as never }));
    listener(aTicket("a", 1_000, { state: "queued" }));
    assert.deepEqual(steps.standing().tickets, { queued: 0, submitted: 1, confirmed: 0 });
    listener(aTicket("a", 3_000, { state: "finalized", outcome: OUTCOME }));
    listener(aTicket("a", 3_000, { state: "finalized", outcome: OUTCOME }));
    assert.deepEqual(steps.standing().tickets, { queued: 0, submitted: 0, confirmed: 0 });
    const { value } = await scrape();
    assert.equal(value("cloister_tickets_ended_total", { state: "finalized", code: "none" }), 1);
    assert.equal(value("cloister_ticket_confirmation_seconds_count"), 1);
  });
});

describe("from a request to its transaction, on a real chain", function () {
  this.timeout(60_000);
  let on: Money;
  let lines: Record<string, unknown>[];

  /** A new process on the same folder, with a log to read. */
  async function restart(): Promise<TicketSteps> {
    lines = [];
    on.logger = createLogger("info", {
      write: (line: string) => void lines.push(JSON.parse(line) as Record<string, unknown>),
    });
    on.metrics = createMetrics();
    await on.restart();
    countReorganisations(on.indexer, on.metrics);
    return followTickets({ tickets: on.tickets, metrics: on.metrics, logger: on.logger, now: Date.now });
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

    const steps = await restart();
    assert.deepEqual(steps.standing().tickets, { queued: 1, submitted: 0, confirmed: 0 });
    await on.run();
    const done = await on.reaches(ticket, "confirmed");
    assert.ok(done.status.state === "confirmed");
    const { txHash: tx, block } = done.status.outcome;
    const sent = await line("a batch is sent");
    assert.deepEqual([sent["tx"], sent["carries"]], [tx, [trace]]);
    const mined = await line("a batch is mined");
    assert.deepEqual([mined["tx"], mined["block"], mined["carries"]], [tx, block, [trace]]);
    await on.mine(3);
    const ended = await line("a ticket has ended");
    const { ticket: id, request_id, state, tx: last, block: where } = ended;
    assert.deepEqual({ ticket: id, request_id }, trace);
    assert.deepEqual([state, last, where], ["finalized", tx, block]);

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
    const away = createChain("http://127.0.0.1:1", 1n, { onAsked });
    const blind = createBalanceWatch(away, on.sender, 60_000);
    blind.start();
    await blind.stop();
    assert.equal(blind.balance(), undefined);
    const { value } = readExposition(await metrics.text());
    const count = (method: string, outcome: string): number =>
      value("cloister_rpc_requests_total", { method, outcome });
    assert.ok(count("eth_getBalance", "answered") >= 1);
    assert.equal(count("eth_getBalance", "away"), 1);
    assert.equal(count("eth_sendRawTransaction", "refused"), 1);
    assert.equal(
      value("cloister_rpc_seconds_count", { method: "eth_getBalance" }),
      count("eth_getBalance", "answered") + 1,
    );
  });
});
