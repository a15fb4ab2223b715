// Tickets in a real Redis where it goes wrong: a holder of the lease that does not come back, a full server, one that is
// killed, a record that somebody has damaged, news that was missed.
import assert from "node:assert/strict";
import { PATIENCE_MS } from "../../../scripts/base/poll.ts";
import { storesIn } from "../../../proxy/base/store/instance.ts";
import { openDurableRedis, type DurableRedis } from "../../../proxy/base/store/redis/durable.ts";
import { LEASE, LeaseLost } from "../../../proxy/base/store/lease.ts";
import type { TicketRecord } from "../../../proxy/base/store/tickets.ts";
import { StoreUnavailable } from "../../../proxy/base/store/unavailable.ts";
import { mustField } from "../../../shared/protocol/brands.ts";
import { startByteRelay } from "../../support/byte-relay.ts";
import { startDurableRedis, type RedisServer } from "../../support/redis.ts";
import { hash, leased, openOf, ticketDraft, type TicketStores } from "../../support/stores/tickets.ts";
import { until } from "../../support/until.ts";

const PREFIX = "cloister:{31337-0xabcd}:";
const ERROR = { code: "REJECTED", detail: "no", retryable: false } as const;

const MINUTE_MS = 60_000;

describe("tickets in Redis", function () {
  let server: RedisServer;
  let setAside: string[];
  const opened: DurableRedis[] = [];
  beforeEach(async () => {
    server = await startDurableRedis();
    setAside = [];
  });
  afterEach(async () => {
    for (const link of opened.splice(0)) link.close();
    server.thaw();
    await server.kill();
  });

  async function proxy(deadlineMs = PATIENCE_MS, url = server.url): Promise<TicketStores> {
    const link = await openDurableRedis({
      url,
      instance: { chainId: 31_337, pool: "0xAbCd" },
      deadlineMs,
      onBrokenRecord: (table, field) => setAside.push(`${table} ${field}`),
    });
    opened.push(link);
    return storesIn(link);
  }

  /** As if so much of Redis's time had passed since it was taken. */
  async function passLease(ms: number): Promise<void> {
    const [link] = opened as [DurableRedis];
    await link.send(["HINCRBY", link.key(LEASE), "until", String(-ms)]);
  }

  it("gives the lease to another when its holder does not come back, and then not to him", async () => {
    const [one, other] = [await proxy(), await proxy()];
    const first = (await one.lease.take("first", MINUTE_MS))!;
    await passLease(MINUTE_MS - 10_000);
    assert.equal(await other.lease.take("second", MINUTE_MS), undefined);
    await passLease(10_000);
    assert.equal(await other.lease.take("second", MINUTE_MS), first + 1);
    assert.equal(await one.lease.take("first", MINUTE_MS), undefined);
    await one.tickets.accept(ticketDraft(1, [5]), 10);
    const change = { id: "id-1", status: { state: "failed", error: ERROR } } as const;
    await assert.rejects(one.tickets.underLease(first).change([change], 1), LeaseLost);
  });

  it("keeps the fence of a holder that came late, but before anybody else", async () => {
    const { lease } = await proxy();
    const first = await lease.take("first", MINUTE_MS);
    await passLease(2 * MINUTE_MS);
    assert.equal(await lease.take("first", MINUTE_MS), first);
  });

  it("refuses a write that arrives late, once its own sender has taken the lease again", async () => {
    const relay = await startByteRelay(0, Number(new URL(server.url).port));
    try {
      const { tickets, lease } = await proxy(500, `redis://127.0.0.1:${String(relay.port)}`);
      const [link] = opened.slice(-1);
      const fence = (await lease.take("holder", 60_000))!;
      await tickets.underLease(fence).report("early");
      const written = async (): Promise<number> => {
        const stats = String(await server.command("INFO", "commandstats"));
        return Number(/cmdstat_evalsha:calls=(\d+)/.exec(stats)?.[1]);
      };
      /** What is kept in the end when "late" got no answer, "new" is written, and "late" arrives after it. */
      const kept = async (underNewFence: boolean): Promise<string> => {
        relay.swallow();
        await assert.rejects(tickets.underLease(fence).report("late"), StoreUnavailable);
        relay.repair();
        await until("the return", () => link!.isReady);
        const now = (await lease.take("holder", 60_000, underNewFence))!;
        assert.equal(now, underNewFence ? fence + 1 : fence);
        await tickets.underLease(now).report("new");
        const before = await written();
        await relay.release();
        await until("the late one to arrive", async () => (await written()) > before);
        return lease.report();
      };
      assert.equal(await kept(false), "late", "so it is without another fence");
      assert.equal(await kept(true), "new");
    } finally {
      await relay.close();
    }
  });

  it("full: accepts nothing, not even in part, and brings to its end what it had accepted", async () => {
    const [one, other] = [await proxy(), await proxy()];
    const writes = await leased(one);
    await one.tickets.accept(ticketDraft(1, [5]), 10);
    await server.command("CONFIG", "SET", "maxmemory", "1");
    await assert.rejects(other.tickets.accept(ticketDraft(2, [6]), 10), StoreUnavailable);
    assert.equal(await other.tickets.get("id-2"), undefined);
    assert.equal(await other.tickets.byStatement(hash(2)), undefined);
    assert.equal(await other.tickets.reservedBy(mustField(6n)), undefined);
    assert.equal((await openOf(other.tickets)).length, 1);
    assert.ok((await one.lease.take("holder", 1_000)) !== undefined);
    await writes.change([{ id: "id-1", status: { state: "failed", error: ERROR } }], 2_000);
    assert.equal((await other.tickets.get("id-1"))?.status.state, "failed");
    await server.command("CONFIG", "SET", "maxmemory", "0");
    const accepted = await other.tickets.accept(ticketDraft(2, [6]), 1);
    assert.ok(accepted.kind === "accepted" && accepted.ticket.sequence === 2);
  });

  it("killed while many write: has every ticket that was answered, in the order of the answers' places", async () => {
    const [one, other] = [await proxy(2_000), await proxy(2_000)];
    const answered: TicketRecord[] = [];
    let next = 0;
    const writer = async ({ tickets }: TicketStores): Promise<void> => {
      for (;;) {
        const n = next++;
        const result = await tickets.accept(ticketDraft(n, [n]), 1_000_000);
        assert.ok(result.kind === "accepted");
        answered.push(result.ticket);
      }
    };
    const writers = Array.from({ length: 16 }, (_, i) =>
      writer(i % 2 === 0 ? one : other).catch(() => undefined),
    );
    await until("a few hundred", () => answered.length > 300);
    await server.kill();
    await Promise.all(writers);
    await server.start();
    const { tickets } = await proxy();
    const open = await openOf(tickets);
    const kept = new Map(open.map(({ id, sequence }) => [id, sequence]));
    for (const { id, sequence } of answered) assert.equal(kept.get(id), sequence);
    assert.deepEqual(
      open.map(({ sequence }) => sequence),
      open.map((_, i) => i + 1),
    );
    assert.equal(await tickets.queuedBefore(open.length + 1), open.length);
  });

  it("sets a damaged record aside once, gives it to nobody, and goes on with the others", async () => {
    const [one] = [await proxy()];
    for (const n of [1, 2, 3]) await one.tickets.accept(ticketDraft(n, [n]), 10);
    const text = String(await server.command("HGET", `${PREFIX}tickets`, "id-2"));
    const damaged = [text.replace(/"kind":"\w+"/, '"kind":"gift"'), text.slice(2), `${text}x`, ""];
    for (const [i, bad] of damaged.entries()) {
      const { tickets } = await proxy();
      await server.command("HSET", `${PREFIX}tickets`, "id-2", bad);
      const ids = async (): Promise<string[]> => (await openOf(tickets)).map(({ id }) => id);
      assert.deepEqual(await ids(), ["id-1", "id-3"]);
      assert.deepEqual(await ids(), ["id-1", "id-3"]);
      await assert.rejects(tickets.get("id-2"), StoreUnavailable);
      assert.deepEqual(setAside, Array(i + 1).fill("tickets id-2"));
    }
    const writes = await leased(one);
    await writes.change([{ id: "id-3", status: { state: "failed", error: ERROR } }], 2_000);
    assert.equal((await one.tickets.get("id-3"))?.status.state, "failed");
  });

  it("tells every open ticket again when more was missed than the news holds", async () => {
    const [one, other] = [await proxy(), await proxy()];
    const heard: string[] = [];
    const stop = other.tickets.follow(({ id }) => heard.push(id));
    // Who follows and then reads misses nothing from there on.
    await other.tickets.get("none");
    await one.tickets.accept(ticketDraft(1, [1]), 10);
    await until("the first", () => heard.length === 1);
    await server.command("XTRIM", `${PREFIX}ticket-news`, "MAXLEN", "0");
    await until("all again", () => heard.length === 2);
    await one.tickets.accept(ticketDraft(2, [2]), 10);
    await until("the next", () => heard.includes("id-2"));
    assert.deepEqual(heard, ["id-1", "id-1", "id-2"]);
    stop();
  });

  it("tells after a break of the connection what was written during it", async () => {
    const [one, other] = [await proxy(), await proxy(300)];
    const heard: string[] = [];
    const stop = other.tickets.follow(({ id }) => heard.push(id));
    // Who follows and then reads misses nothing from there on.
    await other.tickets.get("none");
    await one.tickets.accept(ticketDraft(1, [1]), 10);
    await until("the first", () => heard.length === 1);
    await server.command("CLIENT", "KILL", "TYPE", "normal");
    const writer = await proxy();
    for (const n of [2, 3]) await writer.tickets.accept(ticketDraft(n, [n]), 10);
    await until("the rest", () => heard.length === 3);
    assert.deepEqual(heard, ["id-1", "id-2", "id-3"]);
    stop();
  });
});
