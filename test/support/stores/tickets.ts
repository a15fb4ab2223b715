// What every store of tickets promises, and the lease under which its sequencer writes.
import assert from "node:assert/strict";
import { LeaseLost, type Lease } from "../../../proxy/base/store/lease.ts";
import type { TicketStore, TicketWrites } from "../../../proxy/base/store/ticket-store.ts";
import type { Outgoing, TicketDraft, TicketRecord, TicketStatus } from "../../../proxy/base/store/tickets.ts";
import { mustField, type Bytes32 } from "../../../shared/protocol/brands.ts";
import { until } from "../until.ts";

export interface TicketStores {
  readonly tickets: TicketStore;
  readonly lease: Lease;
}

export const hash = (n: number): Bytes32 => `0x${n.toString(16).padStart(64, "0")}` as Bytes32;

export function ticketDraft(
  n: number,
  nullifiers: readonly number[],
  sub: string | undefined = "user",
): TicketDraft {
  return {
    id: `id-${String(n)}`,
    owner: { developerId: "d", sub },
    statement: hash(n),
    nullifiers: nullifiers.map((value) => mustField(BigInt(value))),
    transaction: {
      kind: "spend",
      deadline: 2n ** 63n,
      signals: [mustField(2n ** 250n)],
      ext: Uint8Array.of(1, 2),
      proof: new Uint8Array(256).fill(7),
      authorization: new Uint8Array(0),
      attestations: [{ signer: `0x${"11".repeat(20)}` as never, signature: new Uint8Array(65).fill(9) }],
    },
    createdAt: 1_000,
  };
}

const entry = (nonce: number, attempts: number, ticketIds: string[] = []): Outgoing => ({
  sender: `0x${"22".repeat(20)}` as never,
  nonce,
  ticketIds,
  gasLimit: 5n,
  data: "0x",
  attempts: Array.from({ length: attempts }, (_, i) => ({
    hash: hash(900 + i),
    raw: "0x02",
    maxFeePerGas: 2n ** 70n,
    maxPriorityFeePerGas: 1n,
    signedAt: i,
  })),
});

export const ERROR = { code: "REJECTED", detail: "no", retryable: false } as const;
const OUTCOME = { txHash: hash(3), block: 3, leafIndexes: [4, 5] };

export async function leased({ tickets, lease }: TicketStores, holder = "holder"): Promise<TicketWrites> {
  const fence = await lease.take(holder, 60_000);
  assert.ok(fence !== undefined);
  return tickets.underLease(fence);
}

/** All of them. */
export async function openOf(store: Pick<TicketStore, "open">): Promise<TicketRecord[]> {
  const all: TicketRecord[] = [];
  for await (const page of store.open()) all.push(...page);
  return all;
}

/** What the store says beside the tickets themselves, against what follows from them. */
export async function assertCounted(store: TicketStore): Promise<void> {
  const open = await openOf(store);
  for (const { sequence } of open) {
    const before = open.filter((other) => other.sequence < sequence && other.status.state === "queued");
    assert.equal(await store.queuedBefore(sequence), before.length);
  }
  const ids = (tickets: readonly { id: string }[]): string[] => tickets.map(({ id }) => id);
  for (const developerId of ["d", "dd", "e"]) {
    const theirs = open.filter(({ owner }) => owner.developerId === developerId);
    assert.deepEqual(ids(await store.openOf(developerId, undefined)), ids(theirs));
    for (const sub of ["user", "other", "~"]) {
      const own = theirs.filter(({ owner }) => owner.sub === sub);
      assert.deepEqual(ids(await store.openOf(developerId, sub)), ids(own));
    }
  }
  const waiting = open.filter(
    ({ status }) => status.state === "queued" || status.state === "submitted",
  ).length;
  assert.equal((await store.accept(ticketDraft(1_000_000, [1_000_000]), waiting)).kind, "full");
}

/** Acceptances and changes, as a seed has them. */
export async function liveThrough(
  { tickets }: TicketStores,
  writes: TicketWrites,
  steps: number,
): Promise<void> {
  let seed = 7;
  const random = (below: number): number => (seed = (seed * 48_271) % 2_147_483_647) % below;
  const states: readonly TicketStatus[] = [
    { state: "queued" },
    { state: "submitted", txHash: hash(900) },
    { state: "confirmed", outcome: OUTCOME },
    { state: "finalized", outcome: OUTCOME },
    { state: "failed", error: ERROR },
    { state: "expired", error: ERROR },
  ];
  for (let n = 1; n <= steps; n++) {
    const developerId = ["d", "dd", "e"][random(3)]!;
    const sub = ["user", "other", "~", undefined][random(4)];
    await tickets.accept({ ...ticketDraft(n, [n]), owner: { developerId, sub } }, 1_000);
    const open = await openOf(tickets);
    const some = [...new Set([random(open.length), random(open.length)])].map((i) => open[i]!.id);
    await writes.change(
      some.map((id) => ({ id, status: states[random(states.length)]! })),
      n,
    );
  }
}

export function ticketStoreSuite(of: () => [TicketStores, TicketStores]): void {
  it("gives back what it took, to both", async () => {
    const [one, other] = of();
    const accepted = await one.tickets.accept({ ...ticketDraft(1, [5, 6]), requestId: "req-1" }, 10);
    assert.ok(accepted.kind === "accepted");
    for (const { tickets } of [one, other]) {
      assert.equal((await tickets.get("id-1"))?.requestId, "req-1");
      assert.deepEqual(plain((await tickets.get("id-1"))!), plain(accepted.ticket));
      assert.equal((await tickets.byStatement(hash(1)))?.id, "id-1");
      assert.equal(await tickets.reservedBy(mustField(6n)), hash(1));
    }
    assert.equal(await other.tickets.get("id-2"), undefined);
    assert.equal(await other.tickets.byStatement(hash(2)), undefined);
    assert.equal(await other.tickets.reservedBy(mustField(7n)), undefined);
  });

  it("gives back every form of state and reason, and new attestations", async () => {
    const [one, other] = of();
    const writes = await leased(one);
    const states: readonly TicketStatus[] = [
      { state: "queued", error: ERROR },
      { state: "submitted", txHash: hash(8), carrier: 0 },
      { state: "submitted", txHash: hash(8), error: ERROR },
      { state: "confirmed", outcome: OUTCOME },
      { state: "finalized", outcome: { ...OUTCOME, leafIndexes: [] } },
      { state: "failed", error: ERROR },
      { state: "expired", error: ERROR },
    ];
    const attestations = [{ signer: `0x${"33".repeat(20)}` as never, signature: new Uint8Array(65).fill(1) }];
    for (const [n, status] of states.entries()) {
      await one.tickets.accept({ ...ticketDraft(n, [n]), owner: { developerId: "d", sub: undefined } }, 100);
      await writes.change([{ id: `id-${String(n)}`, status, attestations }], 2_000 + n);
      const found = (await other.tickets.get(`id-${String(n)}`))!;
      assert.deepEqual(found.status, status);
      assert.equal(found.updatedAt, 2_000 + n);
      assert.equal(found.owner.sub, undefined);
      assert.ok(!("requestId" in found));
      assert.deepEqual(Buffer.from(found.transaction.attestations[0]!.signature), Buffer.alloc(65, 1));
    }
  });

  it("keeps the order of acceptance, whoever accepts", async () => {
    const stores = of();
    for (let n = 1; n <= 20; n++) await stores[n % 2]!.tickets.accept(ticketDraft(n, [n + 100]), 50);
    const open = await openOf(stores[0].tickets);
    assert.deepEqual(
      open.map(({ id }) => id),
      Array.from({ length: 20 }, (_, i) => `id-${String(i + 1)}`),
    );
    for (const [i, { sequence }] of open.entries()) assert.ok(i === 0 || sequence > open[i - 1]!.sequence);
  });

  it("lets one of many rivals for a note win", async () => {
    const stores = of();
    const results = await Promise.all(
      [1, 2, 3, 4].map((n) => stores[n % 2]!.tickets.accept(ticketDraft(n, [7, 50 + n]), 10)),
    );
    assert.deepEqual(results.map(({ kind }) => kind).sort(), [
      "accepted",
      "reserved",
      "reserved",
      "reserved",
    ]);
    // The losers reserved nothing of their own either.
    const own = await Promise.all(
      [51, 52, 53, 54].map((n) => stores[0].tickets.reservedBy(mustField(BigInt(n)))),
    );
    assert.equal(own.filter((by) => by !== undefined).length, 1);
  });

  it("makes one ticket of many copies of a statement, and gives it to each of its owner's", async () => {
    const stores = of();
    const results = await Promise.all(
      Array.from({ length: 10 }, (_, n) =>
        stores[n % 2]!.tickets.accept({ ...ticketDraft(1, [7]), id: `copy-${String(n)}` }, 10),
      ),
    );
    assert.equal(results.filter(({ kind }) => kind === "accepted").length, 1);
    assert.equal(results.filter(({ kind }) => kind === "same").length, 9);
    const ids = new Set(results.map((result) => ("ticket" in result ? result.ticket.id : "")));
    assert.equal(ids.size, 1);
  });

  it("gives the owner of a statement its ticket, refuses everybody else, and counts what waits", async () => {
    const [one, other] = of();
    const writes = await leased(one);
    await one.tickets.accept(ticketDraft(1, [5]), 1);
    assert.equal((await other.tickets.accept(ticketDraft(1, [5]), 1)).kind, "same");
    assert.equal((await other.tickets.accept(ticketDraft(1, [5], "other"), 1)).kind, "reserved");
    const another = { ...ticketDraft(3, [8]), owner: { developerId: "e", sub: "user" } };
    const full = { kind: "full" } as const;
    assert.deepEqual(await other.tickets.accept(another, 1), { ...full, of: "instance" });
    // One developer cannot fill it, whatever users it names.
    const more = ticketDraft(2, [6], "more");
    assert.deepEqual(await other.tickets.accept(more, 2), { ...full, of: "developer" });
    assert.equal((await other.tickets.accept(another, 2)).kind, "accepted");
    assert.equal(await one.tickets.reservedBy(mustField(6n)), undefined);
    await writes.change([{ id: "id-1", status: { state: "confirmed", outcome: OUTCOME } }], 2_000);
    assert.equal((await other.tickets.accept(more, 2)).kind, "accepted");
  });

  it("frees the notes of a failed ticket and lets its statement be tried again", async () => {
    const [one, other] = of();
    const writes = await leased(one);
    await one.tickets.accept(ticketDraft(1, [5]), 10);
    await writes.change([{ id: "id-1", status: { state: "failed", error: ERROR } }], 2_000);
    assert.deepEqual(await openOf(other.tickets), []);
    assert.equal(await other.tickets.reservedBy(mustField(5n)), undefined);
    const again = await other.tickets.accept({ ...ticketDraft(1, [5]), id: "id-9" }, 10);
    assert.equal(again.kind, "accepted");
    assert.equal((await one.tickets.byStatement(hash(1)))?.id, "id-9");
    assert.equal((await one.tickets.get("id-1"))?.status.state, "failed");
    // Told once more, the end of the first must not free what the second holds.
    await writes.change([{ id: "id-1", status: { state: "failed", error: ERROR } }], 3_000);
    assert.equal(await one.tickets.reservedBy(mustField(5n)), hash(1));
    assert.equal((await one.tickets.byStatement(hash(1)))?.id, "id-9");
  });

  it("opens a final ticket again in its place, with what it held and nobody holds by now", async () => {
    const [one, other] = of();
    const writes = await leased(one);
    await one.tickets.accept(ticketDraft(1, [5, 6]), 10);
    await one.tickets.accept(ticketDraft(2, [7]), 10);
    await writes.change([{ id: "id-1", status: { state: "finalized", outcome: OUTCOME } }], 2_000);
    await other.tickets.accept(ticketDraft(3, [6]), 10);
    const status = { state: "submitted", txHash: hash(3) } as const;
    await writes.change([{ id: "id-1", status }], 3_000);
    const open = await openOf(other.tickets);
    assert.deepEqual(
      open.map(({ id }) => id),
      ["id-1", "id-2", "id-3"],
    );
    assert.deepEqual(open[0]?.status, status);
    assert.equal((await other.tickets.openOf("d", "user")).length, 3);
    await assertCounted(other.tickets);
    assert.equal(await other.tickets.reservedBy(mustField(5n)), hash(1));
    assert.equal(await other.tickets.reservedBy(mustField(6n)), hash(3));
    await writes.change([{ id: "id-1", status: { state: "failed", error: ERROR } }], 4_000);
    assert.equal(await other.tickets.reservedBy(mustField(5n)), undefined);
    assert.equal(await other.tickets.reservedBy(mustField(6n)), hash(3), "that is another's");
    assert.equal((await openOf(one.tickets)).length, 2);
    await assertCounted(one.tickets);
  });

  it("takes an executed statement as such, also when all is full, and leaves others what they hold", async () => {
    const [one, other] = of();
    const writes = await leased(one);
    await one.tickets.accept(ticketDraft(1, [5]), 1);
    const executed = { ...ticketDraft(2, [5, 6]), outcome: OUTCOME };
    const accepted = await one.tickets.accept(executed, 1);
    assert.ok(accepted.kind === "accepted");
    assert.deepEqual(accepted.ticket.status, { state: "confirmed", outcome: OUTCOME });
    for (const { tickets } of [one, other]) {
      assert.deepEqual(plain((await tickets.get("id-2"))!), plain(accepted.ticket));
      assert.equal((await tickets.byStatement(hash(2)))?.id, "id-2");
      assert.equal(await tickets.reservedBy(mustField(5n)), hash(1));
      assert.equal(await tickets.reservedBy(mustField(6n)), hash(2));
      assert.equal((await tickets.openOf("d", "user")).length, 2);
    }
    assert.deepEqual(await other.tickets.accept({ ...executed, id: "id-3" }, 1), {
      kind: "same",
      ticket: (await other.tickets.get("id-2"))!,
    });
    const foreign = { ...executed, id: "id-4", owner: { developerId: "e", sub: "user" } };
    assert.equal((await other.tickets.accept(foreign, 1)).kind, "reserved");
    assert.equal((await other.tickets.accept(ticketDraft(7, [6]), 9)).kind, "reserved");
    await assertCounted(other.tickets);
    await writes.change([{ id: "id-2", status: { state: "finalized", outcome: OUTCOME } }], 2_000);
    assert.equal(await other.tickets.reservedBy(mustField(5n)), hash(1));
    assert.equal(await other.tickets.reservedBy(mustField(6n)), undefined);
    await assertCounted(one.tickets);
  });

  it("stores signed bytes with their tickets or not at all, and only over what the writer has seen", async () => {
    const [one, other] = of();
    const writes = await leased(one);
    await one.tickets.accept(ticketDraft(1, [5]), 10);
    const status = { state: "submitted", carrier: 4, txHash: hash(900) } as const;
    assert.equal(await writes.putOutgoing(entry(4, 1, ["id-1"]), 0, [{ id: "id-1", status }], 2_000), true);
    assert.deepEqual((await other.tickets.get("id-1"))?.status, status);
    assert.equal(await writes.putOutgoing(entry(4, 1, ["id-1"]), 0, [], 2_000), false);
    assert.equal(await writes.putOutgoing(entry(4, 2, ["id-1"]), 1, [], 2_000), true);
    assert.deepEqual(await other.tickets.outgoing(), [entry(4, 2, ["id-1"])]);
    await assert.rejects(writes.putOutgoing(entry(5, 1), 0, [{ id: "nobody", status }], 2_000));
    assert.equal((await one.tickets.outgoing()).length, 1);
    await writes.putOutgoing(entry(10, 1), 0, [], 2_000);
    await writes.putOutgoing(entry(5, 1), 0, [], 2_000);
    assert.deepEqual(
      (await other.tickets.outgoing()).map(({ nonce }) => nonce),
      [4, 5, 10],
    );
    await writes.markMined(4, 77);
    assert.equal((await other.tickets.outgoing())[0]?.minedIn, 77);
    await writes.markMined(4, undefined);
    assert.equal((await other.tickets.outgoing())[0]?.minedIn, undefined);
    await writes.markMined(99, 77);
    const errand = { ...entry(11, 1), to: `0x${"33".repeat(20)}` as never };
    await writes.putOutgoing(errand, 0, [], 2_000);
    assert.deepEqual((await other.tickets.outgoing()).at(-1), errand);
    await writes.dropOutgoing(11, [], 2_500);
    await writes.dropOutgoing(4, [{ id: "id-1", status: { state: "submitted", txHash: hash(900) } }], 3_000);
    await writes.dropOutgoing(5, [], 3_000);
    await writes.dropOutgoing(10, [], 3_000);
    assert.deepEqual(await other.tickets.outgoing(), []);
    assert.deepEqual((await other.tickets.get("id-1"))?.status, { state: "submitted", txHash: hash(900) });
  });

  it("counts what waits, before a ticket and of an owner, through every change of state", async () => {
    const [one, other] = of();
    await liveThrough(one, await leased(one), 80);
    await assertCounted(other.tickets);
  });

  it("writes nothing for who has lost the lease, and says so", async () => {
    const [one, other] = of();
    const old = await leased(one, "first");
    await one.tickets.accept(ticketDraft(1, [5]), 10);
    await old.putOutgoing(entry(4, 1, ["id-1"]), 0, [], 2_000);
    await one.lease.giveBack("first");
    const young = await leased(other, "second");
    const status = { state: "failed", error: ERROR } as const;
    const change = { id: "id-1", status };
    await assert.rejects(old.change([change], 3_000), LeaseLost);
    await assert.rejects(old.putOutgoing(entry(4, 2), 1, [change], 3_000), LeaseLost);
    await assert.rejects(old.putOutgoing(entry(9, 1), 0, [change], 3_000), LeaseLost);
    await assert.rejects(old.markMined(4, 7), LeaseLost);
    await assert.rejects(old.dropOutgoing(4, [change], 3_000), LeaseLost);
    assert.equal((await one.tickets.get("id-1"))?.status.state, "queued");
    assert.deepEqual(await one.tickets.outgoing(), [entry(4, 1, ["id-1"])]);
    await young.change([change], 3_000);
    assert.equal((await one.tickets.get("id-1"))?.status.state, "failed");
  });

  it("gives the lease to one of two, keeps it for him, and to nobody who was before him", async () => {
    const [one, other] = of();
    const first = await one.lease.take("first", 60_000);
    assert.ok(first !== undefined);
    assert.equal(await one.lease.take("first", 60_000), first);
    await one.lease.giveBack("first");
    const second = await other.lease.take("second", 60_000);
    assert.ok(second !== undefined && second > first);
    assert.equal(await one.lease.take("first", 60_000), undefined);
    // Late, and of a lease that is no longer his.
    await one.lease.giveBack("first");
    assert.equal(await other.lease.take("second", 60_000), second);
  });

  it("shows everybody what the holder says of itself, and nothing of one who was", async () => {
    const [one, other] = of();
    assert.equal(await other.lease.report(), "");
    const old = await leased(one, "first");
    await old.report("gas");
    assert.equal(await other.lease.report(), "gas");
    assert.equal(await one.lease.take("first", 60_000), await one.lease.take("first", 60_000));
    assert.equal(await other.lease.report(), "gas");
    await one.lease.giveBack("first");
    const young = await leased(other, "second");
    await young.report("chain executor");
    await assert.rejects(old.report("gas"), LeaseLost);
    assert.equal(await one.lease.report(), "chain executor");
  });

  it("tells of every acceptance and change, in order, until it is told to stop", async () => {
    const [one, other] = of();
    const writes = await leased(one);
    const heard: string[] = [];
    const hear = ({ id, status }: TicketRecord): void => void heard.push(`${id} ${status.state}`);
    const stop = other.tickets.follow(hear);
    const toTheEnd: string[] = [];
    const stopOther = other.tickets.follow(({ id, status }) => void toTheEnd.push(`${id} ${status.state}`));
    // Who follows and then reads misses nothing from there on.
    await other.tickets.get("none");
    await one.tickets.accept(ticketDraft(1, [5]), 10);
    await one.tickets.accept(ticketDraft(1, [5]), 10);
    await other.tickets.accept(ticketDraft(2, [6]), 10);
    await until("both", () => heard.includes("id-2 queued"));
    const submitted = { state: "submitted", carrier: 4, txHash: hash(900) } as const;
    await writes.putOutgoing(entry(4, 1, ["id-1"]), 0, [{ id: "id-1", status: submitted }], 2_000);
    await until("the sending", () => heard.includes("id-1 submitted"));
    await writes.dropOutgoing(4, [{ id: "id-1", status: { state: "confirmed", outcome: OUTCOME } }], 3_000);
    await writes.change([{ id: "id-2", status: { state: "expired", error: ERROR } }], 3_000);
    await until("the ends", () => heard.includes("id-2 expired"));
    const whole = ["id-1 queued", "id-2 queued", "id-1 submitted", "id-1 confirmed", "id-2 expired"];
    assert.deepEqual(heard, whole);
    stop();
    await one.tickets.accept(ticketDraft(3, [7]), 10);
    await until("one who still follows to hear of it", () => toTheEnd.includes("id-3 queued"));
    stopOther();
    assert.deepEqual(heard, whole);
  });
}

/** Without the difference between kinds of byte arrays, and as text where JSON has no numbers. */
function plain(value: unknown): unknown {
  if (value instanceof Uint8Array) return Buffer.from(value).toString("hex");
  if (typeof value === "bigint") return String(value);
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, plain(one)]));
}
