// What the submitter remembers of the queue, against what follows from the tickets themselves.
import assert from "node:assert/strict";
import type { TicketRecord, TicketStatus } from "../../../../proxy/store/tickets.ts";
import { OpenTickets } from "../../../../proxy/sequencer/queue.ts";
import { isOver } from "../../../../proxy/store/ticket-states.ts";
import { isWaiting } from "../../../../proxy/sequencer/transitions.ts";
import { hash, ticketDraft } from "../../../support/stores/tickets.ts";

const ERROR = { code: "REJECTED", detail: "no", retryable: false } as const;
const OUTCOME = { txHash: hash(3), block: 3, leafIndexes: [] };

const ticket = (n: number, more: Partial<TicketRecord> = {}): TicketRecord => ({
  ...ticketDraft(n, [2 * n, 2 * n + 1]),
  sequence: n,
  status: { state: "queued" },
  updatedAt: 0,
  ...more,
});

/** A store that has these tickets, and whose news is told by hand. */
function storeOf(
  tickets: readonly TicketRecord[],
  onRead: (tell: (ticket: TicketRecord) => void) => void = () => {},
) {
  let listener: (ticket: TicketRecord) => void = () => assert.fail("nobody listens");
  return {
    follow: (one: typeof listener) => {
      listener = one;
      return () => (listener = () => undefined);
    },
    async *open() {
      for (let at = 0; at < tickets.length; at += 3) {
        yield tickets.slice(at, at + 3);
        onRead(listener);
      }
    },
    tell: (one: TicketRecord) => listener(one),
  };
}

const ids = (tickets: readonly { id: string }[]): string[] => tickets.map(({ id }) => id);
const due = (open: OpenTickets, finalBlock = -1, finalTime = -1): string[] =>
  ids([...open.due(finalBlock, finalTime)].flat()).sort();
function quiet(open: OpenTickets): void {
  for (const some of open.due(-1, -1)) open.seen(some);
}

describe("submission/open-tickets", () => {
  it("knows what the store has, in order, and what waits of it", async () => {
    const submitted: TicketStatus = { state: "submitted", txHash: hash(9), carrier: 4 };
    const again: TicketStatus = { state: "submitted", txHash: hash(9) };
    const confirmed: TicketStatus = { state: "confirmed", outcome: OUTCOME };
    const open = await OpenTickets.of(
      storeOf([
        ticket(1),
        ticket(2, { status: submitted }),
        ticket(3, { status: again }),
        ticket(4, { status: confirmed }),
        ticket(5),
      ]),
    );
    assert.equal(open.size, 5);
    assert.deepEqual(ids(open.waiting()), ["id-1", "id-3", "id-5"]);
    assert.equal(due(open).length, 5);
  });

  it("hears of new ones also while it reads, and of each once", async () => {
    const store = storeOf([ticket(1), ticket(2), ticket(3), ticket(4)], (tell) => {
      tell(ticket(4));
      tell(ticket(5));
    });
    const open = await OpenTickets.of(store);
    assert.deepEqual(ids(open.waiting()), ["id-1", "id-2", "id-3", "id-4", "id-5"]);
    store.tell(ticket(6));
    store.tell(ticket(6));
    assert.deepEqual(ids(open.waiting()).slice(4), ["id-5", "id-6"]);
    open.close();
    store.tell(ticket(7));
    assert.equal(open.size, 6);
  });

  it("hears of one that is executed already, and settles it like the others", async () => {
    const store = storeOf([ticket(1)]);
    const open = await OpenTickets.of(store);
    const outcome = { txHash: hash(9), block: 7, leafIndexes: [1, 2] };
    const executed = { ...ticket(2), status: { state: "confirmed", outcome } } as const;
    store.tell(executed);
    assert.deepEqual(ids(open.waiting()), ["id-1"]);
    assert.deepEqual(open.standing().tickets, { queued: 1, submitted: 0, confirmed: 1 });
    assert.ok(due(open).includes("id-2"));
    store.tell({ ...ticket(3), status: { state: "finalized", outcome } });
    assert.equal(open.size, 2);
  });

  it("takes no late news of a ticket that it has brought further, or to its end", async () => {
    const store = storeOf([ticket(1), ticket(2)]);
    const open = await OpenTickets.of(store);
    open.apply(
      [
        { id: "id-1", status: { state: "failed", error: ERROR } },
        { id: "id-2", status: { state: "submitted", txHash: hash(9), carrier: 1 } },
      ],
      1,
    );
    store.tell(ticket(1));
    store.tell(ticket(2));
    assert.equal(open.get("id-1"), undefined);
    assert.deepEqual(ids(open.waiting()), []);
  });

  it("keeps those that come back to the line in their place", async () => {
    const open = await OpenTickets.of(storeOf([1, 2, 3, 4].map((n) => ticket(n))));
    for (const id of ["id-2", "id-1", "id-4"])
      open.apply([{ id, status: { state: "submitted", txHash: hash(9), carrier: 1 } }], 1);
    assert.deepEqual(ids(open.waiting()), ["id-3"]);
    for (const id of ["id-4", "id-1", "id-2"]) open.apply([{ id, status: { state: "queued" } }], 2);
    assert.deepEqual(ids(open.waiting()), ["id-1", "id-2", "id-3", "id-4"]);
  });

  it("looks at those whose statement was executed or whose note was taken, and only at those", async () => {
    const open = await OpenTickets.of(storeOf([1, 2, 3].map((n) => ticket(n))));
    quiet(open);
    assert.deepEqual(due(open), []);
    open.touch(hash(1), ticket(1).nullifiers);
    // Another statement, over a note of the third.
    open.touch(hash(77), [ticket(3).nullifiers[1]!]);
    assert.deepEqual(due(open), ["id-1", "id-3"]);
    // Until it was seen.
    assert.deepEqual(due(open), ["id-1", "id-3"]);
    open.seen([open.get("id-1")!]);
    assert.deepEqual(due(open), ["id-3"]);
    open.touchAll();
    assert.deepEqual(due(open), ["id-1", "id-2", "id-3"]);
  });

  it("looks again when a block is final, and in the second after the last one of a deadline", async () => {
    const transaction = { ...ticket(1).transaction, deadline: 1_000n };
    const open = await OpenTickets.of(storeOf([ticket(1, { transaction }), ticket(2)]));
    quiet(open);
    open.lookAgainAt("id-2", 7);
    assert.deepEqual(due(open, 6, 1_000), []);
    assert.deepEqual(due(open, 7, 1_001), ["id-1", "id-2"]);
    open.forget("id-1");
    open.forget("id-2");
    assert.deepEqual(due(open, 100, 10_000), []);
  });

  it("holds a statement that came again after its first ticket ended", async () => {
    const store = storeOf([ticket(1)]);
    const open = await OpenTickets.of(store);
    open.apply([{ id: "id-1", status: { state: "expired", error: ERROR } }], 1);
    store.tell({ ...ticket(1), id: "id-9", sequence: 9 });
    open.forget("id-1");
    quiet(open);
    open.touch(hash(1), []);
    assert.deepEqual(due(open), ["id-9"]);
    quiet(open);
    open.touch(hash(5), [ticket(1).nullifiers[0]!]);
    assert.deepEqual(due(open), ["id-9"]);
  });

  it("tells each step once, with when the ticket came into the state that it leaves", async () => {
    const steps: unknown[] = [];
    const store = storeOf([
      ticket(1, { createdAt: 10, updatedAt: 40, status: { state: "confirmed", outcome: OUTCOME } }),
    ]);
    const open = await OpenTickets.of(store, ({ id, since, wasExecuted }, from, { state }, at) =>
      steps.push([id, from, since, state, at, wasExecuted]),
    );
    const sent: TicketStatus = { state: "submitted", txHash: hash(9), carrier: 1 };
    const apply = (id: string, status: TicketStatus, at: number): void => open.apply([{ id, status }], at);
    store.tell(ticket(2, { createdAt: 100, updatedAt: 100 }));
    // No steps: another reason to wait, another transaction.
    apply("id-2", { state: "queued", error: ERROR }, 150);
    apply("id-2", sent, 200);
    apply("id-2", { ...sent, carrier: 2 }, 250);
    apply("id-2", { state: "confirmed", outcome: OUTCOME }, 300);
    apply("id-2", sent, 400);
    // By a clock that went back.
    apply("id-2", { state: "confirmed", outcome: OUTCOME }, 350);
    apply("id-2", { state: "finalized", outcome: OUTCOME }, 500);
    apply("id-2", { state: "finalized", outcome: OUTCOME }, 600);
    apply("id-1", { state: "finalized", outcome: OUTCOME }, 700);
    assert.deepEqual(steps, [
      ["id-2", "queued", 100, "submitted", 200, false],
      ["id-2", "submitted", 200, "confirmed", 300, false],
      ["id-2", "confirmed", 300, "submitted", 400, true],
      ["id-2", "submitted", 400, "confirmed", 350, true],
      ["id-2", "confirmed", 400, "finalized", 500, true],
      ["id-1", "confirmed", 40, "finalized", 700, true],
    ]);
    assert.deepEqual(open.standing(), {
      tickets: { queued: 0, submitted: 0, confirmed: 0 },
      oldestAt: undefined,
    });
  });

  it("has the same line and standing as a plain list, through any changes", async () => {
    let seed = 5;
    const random = (below: number): number => (seed = (seed * 48_271) % 2_147_483_647) % below;
    const states: readonly TicketStatus[] = [
      { state: "queued" },
      { state: "submitted", txHash: hash(9) },
      { state: "submitted", txHash: hash(9), carrier: 1 },
      { state: "confirmed", outcome: OUTCOME },
      { state: "finalized", outcome: OUTCOME },
      { state: "failed", error: ERROR },
    ];
    const store = storeOf([]);
    const open = await OpenTickets.of(store);
    let model: TicketRecord[] = [];
    for (let n = 1; n <= 400; n++) {
      const one = ticket(n, { createdAt: 1_000 + n });
      model.push(one);
      store.tell(one);
      const { id } = model[random(model.length)]!;
      const status = states[random(states.length)]!;
      model = model
        .map((other) => (other.id === id ? { ...other, status } : other))
        .filter((other) => !isOver(other.status));
      open.apply([{ id, status }], n);
      assert.equal(open.size, model.length);
      assert.deepEqual(ids(open.waiting()), ids(model.filter((one) => isWaiting(one.status))));
      const count = (state: string): number => model.filter((one) => one.status.state === state).length;
      assert.deepEqual(open.standing(), {
        tickets: { queued: count("queued"), submitted: count("submitted"), confirmed: count("confirmed") },
        oldestAt: model.find((one) => one.status.state !== "confirmed")?.createdAt,
      });
      if (random(20) === 0) {
        const gone = model.splice(random(model.length), 1)[0];
        if (gone !== undefined) open.forget(gone.id);
      }
    }
  });

  it("needs memory for those that are open, not for all that were within the longest deadline", async () => {
    const store = storeOf([]);
    const open = await OpenTickets.of(store);
    const day = (n: number) => ({ ...ticket(n).transaction, deadline: BigInt(86_400 + n) });
    // The oldest never ends, so that nothing behind it comes to the top.
    for (let n = 1; n <= 20_000; n++) {
      store.tell(ticket(n, { transaction: day(n), createdAt: n }));
      open.lookAgainAt(`id-${String(n)}`, 50_000 + n);
      if (n > 200)
        open.apply([{ id: `id-${String(n - 100)}`, status: { state: "failed", error: ERROR } }], n);
      assert.ok(open.reminders <= 3 * 1_024, String(open.reminders));
    }
    assert.equal(open.size, 200);
    assert.equal(open.standing().oldestAt, 1);
    const left = [...Array(100).keys()].flatMap((n) => [n + 1, n + 19_901]).map((n) => `id-${String(n)}`);
    quiet(open);
    assert.deepEqual(due(open, -1, 86_400 + 20_001), left.toSorted());
    quiet(open);
    assert.deepEqual(due(open, 70_000), left.toSorted());
  });
});
