// What every store promises of tickets that are over: where they are listed, and how they go.
import assert from "node:assert/strict";
import { LeaseLost } from "../../../proxy/base/store/lease.ts";
import type { EndedQuery } from "../../../proxy/base/store/ended-tickets.ts";
import type { InstanceStores } from "../../../proxy/base/store/instance.ts";
import type { TicketWrites } from "../../../proxy/base/store/ticket-store.ts";
import type { TicketDraft, TicketOwner, TicketStatus } from "../../../proxy/base/store/tickets.ts";
import { mustField } from "../../../shared/protocol/brands.ts";
import { ERROR, hash, leased, ticketDraft } from "./tickets.ts";

const OUTCOME = { txHash: hash(3), block: 3, leafIndexes: [4, 5] };
const STATUSES = {
  finalized: { state: "finalized", outcome: OUTCOME },
  failed: { state: "failed", error: ERROR },
  expired: { state: "expired", error: ERROR },
} as const satisfies Record<string, TicketStatus>;
const OPEN = { state: "submitted", txHash: hash(3) } as const;

type Stores = Pick<InstanceStores, "tickets" | "lease">;

/** Accepts it and ends it at this time. */
export async function end(
  { tickets }: Stores,
  writes: TicketWrites,
  draft: TicketDraft,
  state: keyof typeof STATUSES,
  at: number,
): Promise<void> {
  assert.equal((await tickets.accept(draft, 1_000)).kind, "accepted");
  await writes.change([{ id: draft.id, status: STATUSES[state] }], at);
}

const of = (n: number, owner: TicketOwner): TicketDraft => ({ ...ticketDraft(n, [n]), owner });

/** Ids without their prefix, page by page. */
async function pages({ tickets }: Stores, query: EndedQuery): Promise<string[][]> {
  const found: string[][] = [];
  let cursor: string | undefined;
  do {
    const page = await tickets.ended({ ...query, ...(cursor === undefined ? {} : { cursor }) });
    found.push(page.tickets.map(({ id }) => id.replace("id-", "")));
    cursor = page.next;
  } while (cursor !== undefined);
  return found;
}

export function endedTicketsSuite(stores: () => [Stores, Stores]): void {
  let [one, other]: [Stores, Stores] = [undefined as never, undefined as never];
  let writes: TicketWrites;
  beforeEach(async () => {
    [one, other] = stores();
    writes = await leased(one);
  });
  const ids = async (query: Omit<EndedQuery, "limit">): Promise<string> =>
    (await pages(other, { ...query, limit: 3 })).flat().join(" ");

  /** 1 and 2 of d's alice, 3 of d's bob, 4 of d's key, 5 of e's alice; 6 is open. */
  async function endFive(): Promise<void> {
    await end(one, writes, of(1, { developerId: "d", sub: "alice" }), "finalized", 2_000);
    await end(one, writes, of(2, { developerId: "d", sub: "alice" }), "failed", 3_000);
    await end(one, writes, of(3, { developerId: "d", sub: "bob" }), "expired", 4_000);
    await end(one, writes, of(4, { developerId: "d", sub: undefined }), "finalized", 5_000);
    await end(one, writes, of(5, { developerId: "e", sub: "alice" }), "finalized", 6_000);
    await one.tickets.accept(of(6, { developerId: "d", sub: "alice" }), 1_000);
  }

  it("lists them by developer, user, state and time, the last first", async () => {
    await endFive();
    assert.equal(await ids({}), "5 4 3 2 1");
    assert.equal(await ids({ developerId: "d" }), "4 3 2 1");
    assert.equal(await ids({ developerId: "d", sub: "alice" }), "2 1");
    assert.equal(await ids({ developerId: "e", sub: "bob" }), "");
    assert.equal(await ids({ state: "finalized" }), "5 4 1");
    assert.equal(await ids({ developerId: "d", state: "finalized" }), "4 1");
    assert.equal(await ids({ developerId: "d", sub: "alice", state: "failed" }), "2");
    assert.equal(await ids({ developerId: "d", sub: "alice", state: "expired" }), "");
    assert.equal(await ids({ developerId: "d", from: 3_000, before: 5_000 }), "3 2");
    assert.equal(await ids({ from: 5_000, state: "finalized" }), "5 4");
    assert.equal(await ids({ before: 2_000 }), "");
    await assert.rejects(other.tickets.ended({ sub: "alice", limit: 1 }), RangeError);
    await assert.rejects(other.tickets.ended({ cursor: "x", limit: 1 }), RangeError);
  });

  it("goes on behind each page, also where one block ended many at one moment and more end meanwhile", async () => {
    const owner = { developerId: "d", sub: "u" };
    for (let n = 10; n < 20; n++) await one.tickets.accept(of(n, owner), 1_000);
    const all = Array.from({ length: 10 }, (_, i) => ({
      id: `id-${String(10 + i)}`,
      status: STATUSES.finalized,
    }));
    await writes.change(all.slice(0, 7), 2_000);
    await writes.change(all.slice(7), 3_000);
    assert.deepEqual(await pages(other, { developerId: "d", limit: 4 }), [
      ...[
        ["19", "18", "17", "16"],
        ["15", "14", "13", "12"],
        ["11", "10"],
      ],
    ]);
    const first = await other.tickets.ended({ developerId: "d", limit: 5 });
    await end(one, writes, of(30, owner), "failed", 4_000);
    // A clock that went back: it is behind the page that was shown, in its place.
    await end(one, writes, of(31, owner), "failed", 2_500);
    const next = await other.tickets.ended({ developerId: "d", limit: 9, cursor: first.next ?? "" });
    assert.deepEqual(
      [...first.tickets, ...next.tickets].map(({ id }) => id),
      [19, 18, 17, 16, 15, 14, 13, 12, 11, 10].map((n) => `id-${String(n)}`),
    );
    assert.equal(next.next, undefined);
  });

  it("leaves out one that is open again, and takes it in where it ends at last", async () => {
    await endFive();
    await writes.change([{ id: "id-4", status: OPEN }], 7_000);
    assert.equal(await ids({ developerId: "d" }), "3 2 1");
    await writes.change([{ id: "id-4", status: STATUSES.failed }], 8_000);
    assert.equal(await ids({ developerId: "d" }), "4 3 2 1");
    assert.equal(await ids({ developerId: "d", state: "finalized" }), "1");
  });

  it("removes the oldest that ended before a time, so many at once, from every list", async () => {
    await endFive();
    assert.deepEqual(await writes.removeEnded(5_000, 2, 0), { gone: 2, stay: 0 });
    assert.equal(await ids({}), "5 4 3");
    assert.deepEqual(await writes.removeEnded(5_000, 2, 0), { gone: 1, stay: 0 });
    assert.deepEqual(await writes.removeEnded(5_000, 2, 0), { gone: 0, stay: 0 });
    assert.equal(await ids({ developerId: "d" }), "4");
    assert.equal(await ids({ developerId: "d", sub: "alice" }), "");
    assert.equal(await ids({ developerId: "d", state: "failed" }), "");
    for (const n of [1, 2, 3]) {
      assert.equal(await other.tickets.get(`id-${String(n)}`), undefined);
      assert.equal(await other.tickets.byStatement(hash(n)), undefined);
    }
    assert.equal((await other.tickets.get("id-6"))?.status.state, "queued");
  });

  it("takes no reservation away, and no statement that has a later ticket", async () => {
    await end(one, writes, of(1, { developerId: "d", sub: "u" }), "failed", 2_000);
    // Its notes are used by another, and its statement is tried again.
    await other.tickets.accept({ ...ticketDraft(2, [1]) }, 10);
    await end(one, writes, of(3, { developerId: "d", sub: "u" }), "failed", 2_000);
    await other.tickets.accept({ ...of(3, { developerId: "d", sub: "u" }), id: "id-9" }, 10);
    assert.deepEqual(await writes.removeEnded(9_000, 9, 0), { gone: 2, stay: 0 });
    assert.equal(await other.tickets.reservedBy(mustField(1n)), hash(2));
    assert.equal(await other.tickets.reservedBy(mustField(3n)), hash(3));
    assert.equal((await other.tickets.byStatement(hash(3)))?.id, "id-9");
  });

  it("keeps what a transaction of ours still carries, and goes on behind it", async () => {
    await endFive();
    const attempt = { hash: hash(9), raw: "0x", maxFeePerGas: 1n, maxPriorityFeePerGas: 1n, signedAt: 1 };
    const sent = { sender: `0x${"22".repeat(20)}` as never, nonce: 1, gasLimit: 1n, data: "0x" };
    await writes.putOutgoing({ ...sent, ticketIds: ["id-1"], attempts: [attempt] }, 0, [], 7_000);
    assert.deepEqual(await writes.removeEnded(9_000, 2, 0), { gone: 1, stay: 1 });
    assert.deepEqual(await writes.removeEnded(9_000, 9, 1), { gone: 3, stay: 0 });
    assert.equal(await ids({}), "1");
  });

  it("gives a statement whose ticket is gone a new one, also where it goes at that moment", async () => {
    const owner = { developerId: "d", sub: "u" };
    await end(one, writes, of(1, owner), "failed", 2_000);
    const again = { ...of(1, owner), id: "id-2" };
    const [accepted] = await Promise.all([other.tickets.accept(again, 10), writes.removeEnded(9_000, 9, 0)]);
    assert.equal(accepted.kind, "accepted");
    assert.equal((await one.tickets.byStatement(hash(1)))?.id, "id-2");
    // The chain executed this one; what the index knows of it makes its new ticket (payments/earlier.ts).
    await end(one, writes, of(5, owner), "finalized", 2_000);
    await writes.removeEnded(9_000, 9, 0);
    const executed = await other.tickets.accept({ ...of(5, owner), id: "id-6", outcome: OUTCOME }, 10);
    assert.ok(executed.kind === "accepted");
    assert.deepEqual(executed.ticket.status, { state: "confirmed", outcome: OUTCOME });
  });

  it("removes nothing for who has lost the lease", async () => {
    await endFive();
    await one.lease.giveBack("holder");
    await leased(other, "next");
    await assert.rejects(writes.removeEnded(9_000, 9, 0), LeaseLost);
    assert.equal(await ids({}), "5 4 3 2 1");
  });
}
