// What the sequencer remembers of the queue, against what follows from the tickets themselves.
import assert from "node:assert/strict";
import type { TicketRecord, TicketStatus } from "../../../../../proxy/base/store/tickets.ts";
import { Queue } from "../../../../../proxy/api/sequencer/queue.ts";
import { isOver } from "../../../../../proxy/base/store/ticket-states.ts";
import { isWaiting } from "../../../../../proxy/api/sequencer/transitions.ts";
import { hash, ticketDraft } from "../../../../support/stores/tickets.ts";

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
const due = (queue: Queue, finalBlock = -1, finalTime = -1): string[] =>
  ids([...queue.due(finalBlock, finalTime)].flat()).sort();
function quiet(queue: Queue): void {
  for (const some of queue.due(-1, -1)) queue.seen(some);
}

describe("sequencer/queue", () => {
  it("knows what the store has, in order, and what waits of it", async () => {
    const submitted: TicketStatus = { state: "submitted", txHash: hash(9), carrier: 4 };
    const again: TicketStatus = { state: "submitted", txHash: hash(9) };
    const confirmed: TicketStatus = { state: "confirmed", outcome: OUTCOME };
    const queue = await Queue.read(
      storeOf([
        ticket(1),
        ticket(2, { status: submitted }),
        ticket(3, { status: again }),
        ticket(4, { status: confirmed }),
        ticket(5),
      ]),
    );
    assert.equal(queue.size, 5);
    assert.deepEqual(ids(queue.waiting()), ["id-1", "id-3", "id-5"]);
    assert.equal(due(queue).length, 5);
  });

  it("learns of new ones also while it reads, and of each once", async () => {
    const store = storeOf([ticket(1), ticket(2), ticket(3), ticket(4)], (tell) => {
      tell(ticket(4));
      tell(ticket(5));
    });
    const queue = await Queue.read(store);
    assert.deepEqual(ids(queue.waiting()), ["id-1", "id-2", "id-3", "id-4", "id-5"]);
    store.tell(ticket(6));
    store.tell(ticket(6));
    assert.deepEqual(ids(queue.waiting()).slice(4), ["id-5", "id-6"]);
    queue.close();
    store.tell(ticket(7));
    assert.equal(queue.size, 6);
  });

  it("learns of one that is executed already, and settles it like the others", async () => {
    const store = storeOf([ticket(1)]);
    const queue = await Queue.read(store);
    const outcome = { txHash: hash(9), block: 7, leafIndexes: [1, 2] };
    const executed = { ...ticket(2), status: { state: "confirmed", outcome } } as const;
    store.tell(executed);
    assert.deepEqual(ids(queue.waiting()), ["id-1"]);
    assert.deepEqual(queue.counts().tickets, { queued: 1, submitted: 0, confirmed: 1 });
    assert.ok(due(queue).includes("id-2"));
    store.tell({ ...ticket(3), status: { state: "finalized", outcome } });
    assert.equal(queue.size, 2);
  });

  it("takes no late news of a ticket that it has brought further, or to its end", async () => {
    const store = storeOf([ticket(1), ticket(2)]);
    const queue = await Queue.read(store);
    queue.apply(
      [
        { id: "id-1", status: { state: "failed", error: ERROR } },
        { id: "id-2", status: { state: "submitted", txHash: hash(9), carrier: 1 } },
      ],
      1,
    );
    store.tell(ticket(1));
    store.tell(ticket(2));
    assert.equal(queue.get("id-1"), undefined);
    assert.deepEqual(ids(queue.waiting()), []);
  });

  it("keeps those that come back to the line in their place", async () => {
    const queue = await Queue.read(storeOf([1, 2, 3, 4].map((n) => ticket(n))));
    for (const id of ["id-2", "id-1", "id-4"])
      queue.apply([{ id, status: { state: "submitted", txHash: hash(9), carrier: 1 } }], 1);
    assert.deepEqual(ids(queue.waiting()), ["id-3"]);
    for (const id of ["id-4", "id-1", "id-2"]) queue.apply([{ id, status: { state: "queued" } }], 2);
    assert.deepEqual(ids(queue.waiting()), ["id-1", "id-2", "id-3", "id-4"]);
  });

  it("looks at those whose statement was executed or whose note was taken, and only at those", async () => {
    const queue = await Queue.read(storeOf([1, 2, 3].map((n) => ticket(n))));
    quiet(queue);
    assert.deepEqual(due(queue), []);
    queue.markDue(hash(1), ticket(1).nullifiers);
    // Another statement, over a note of the third.
    queue.markDue(hash(77), [ticket(3).nullifiers[1]!]);
    assert.deepEqual(due(queue), ["id-1", "id-3"]);
    // Until it was seen.
    assert.deepEqual(due(queue), ["id-1", "id-3"]);
    queue.seen([queue.get("id-1")!]);
    assert.deepEqual(due(queue), ["id-3"]);
    queue.markAllDue();
    assert.deepEqual(due(queue), ["id-1", "id-2", "id-3"]);
  });

  it("looks again when a block is final, and in the second after the last one of a deadline", async () => {
    const transaction = { ...ticket(1).transaction, deadline: 1_000n };
    const queue = await Queue.read(storeOf([ticket(1, { transaction }), ticket(2)]));
    quiet(queue);
    queue.lookAgainAt("id-2", 7);
    assert.deepEqual(due(queue, 6, 1_000), []);
    assert.deepEqual(due(queue, 7, 1_001), ["id-1", "id-2"]);
    queue.forget("id-1");
    queue.forget("id-2");
    assert.deepEqual(due(queue, 100, 10_000), []);
  });

  it("holds a statement that came again after its first ticket ended", async () => {
    const store = storeOf([ticket(1)]);
    const queue = await Queue.read(store);
    queue.apply([{ id: "id-1", status: { state: "expired", error: ERROR } }], 1);
    store.tell({ ...ticket(1), id: "id-9", sequence: 9 });
    queue.forget("id-1");
    quiet(queue);
    queue.markDue(hash(1), []);
    assert.deepEqual(due(queue), ["id-9"]);
    quiet(queue);
    queue.markDue(hash(5), [ticket(1).nullifiers[0]!]);
    assert.deepEqual(due(queue), ["id-9"]);
  });

  it("tells each step once, with when the ticket came into the state that it leaves", async () => {
    const steps: unknown[] = [];
    const store = storeOf([
      ticket(1, { createdAt: 10, updatedAt: 40, status: { state: "confirmed", outcome: OUTCOME } }),
    ]);
    const queue = await Queue.read(store, ({ id, since, wasExecuted }, from, { state }, at) =>
      steps.push([id, from, since, state, at, wasExecuted]),
    );
    const sent: TicketStatus = { state: "submitted", txHash: hash(9), carrier: 1 };
    const apply = (id: string, status: TicketStatus, at: number): void => queue.apply([{ id, status }], at);
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
    assert.deepEqual(queue.counts(), {
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
    const queue = await Queue.read(store);
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
      queue.apply([{ id, status }], n);
      assert.equal(queue.size, model.length);
      assert.deepEqual(ids(queue.waiting()), ids(model.filter((one) => isWaiting(one.status))));
      const count = (state: string): number => model.filter((one) => one.status.state === state).length;
      assert.deepEqual(queue.counts(), {
        tickets: { queued: count("queued"), submitted: count("submitted"), confirmed: count("confirmed") },
        oldestAt: model.find((one) => one.status.state !== "confirmed")?.createdAt,
      });
      if (random(20) === 0) {
        const gone = model.splice(random(model.length), 1)[0];
        if (gone !== undefined) queue.forget(gone.id);
      }
    }
  });

  it("needs memory for those that are open, not for all that were within the longest deadline", async () => {
    const store = storeOf([]);
    const queue = await Queue.read(store);
    const day = (n: number) => ({ ...ticket(n).transaction, deadline: BigInt(86_400 + n) });
    // The oldest never ends, so that nothing behind it comes to the top.
    for (let n = 1; n <= 20_000; n++) {
      store.tell(ticket(n, { transaction: day(n), createdAt: n }));
      queue.lookAgainAt(`id-${String(n)}`, 50_000 + n);
      if (n > 200)
        queue.apply([{ id: `id-${String(n - 100)}`, status: { state: "failed", error: ERROR } }], n);
      assert.ok(queue.reminders <= 3 * 1_024, String(queue.reminders));
    }
    assert.equal(queue.size, 200);
    assert.equal(queue.counts().oldestAt, 1);
    const left = [...Array(100).keys()].flatMap((n) => [n + 1, n + 19_901]).map((n) => `id-${String(n)}`);
    quiet(queue);
    assert.deepEqual(due(queue, -1, 86_400 + 20_001), left.toSorted());
    quiet(queue);
    assert.deepEqual(due(queue, 70_000), left.toSorted());
  });
});
