// Idempotency-Key with two proxies around one real Redis: one is killed in the middle of a request, or held still and let go.
import assert from "node:assert/strict";
import { once, EventEmitter } from "node:events";
import { PATIENCE_MS } from "../../../scripts/base/poll.ts";
import { openDurableRedis, type DurableRedis } from "../../../proxy/base/store/redis/durable.ts";
import { storesIn } from "../../../proxy/base/store/instance.ts";
import { LEASE_MS } from "../../../proxy/base/store/redis/live-claims.ts";
import { startDurableRedis, type RedisServer } from "../../support/redis.ts";
import { until } from "../../support/until.ts";
import { startEdge, type Answer, type Edge } from "../../support/edge.ts";

interface Proxy {
  readonly edge: Edge;
  readonly link: DurableRedis;
  readonly runs: () => number;
  readonly gate: EventEmitter;
  /** Until then no request of this proxy comes to its end. */
  release(): void;
}

async function startProxy(name: string, url: string): Promise<Proxy> {
  const link = await openDurableRedis({
    url,
    instance: { chainId: 1, pool: "0xPool" },
    deadlineMs: PATIENCE_MS,
  });
  const gate = new EventEmitter();
  let runs = 0;
  let release = (): void => undefined;
  const released = new Promise<void>((resolve) => (release = resolve));
  const edge = await startEdge({
    idempotency: storesIn(link).idempotency,
    handlers: {
      sequenceSpend: async (ctx) => {
        runs++;
        gate.emit("running");
        await released;
        ctx.status = 202;
        ctx.body = { ticket_id: name };
      },
    },
  });
  return { edge, link, runs: () => runs, gate, release };
}

describe("Idempotency-Key, two proxies and one Redis", function () {
  let redis: RedisServer;
  let one: Proxy;
  let other: Proxy;
  beforeEach(async () => {
    redis = await startDurableRedis();
    one = await startProxy("one", redis.url);
    other = await startProxy("other", redis.url);
    other.release();
  });
  afterEach(async () => {
    for (const { edge, link, release } of [one, other]) {
      release();
      await edge.stop();
      link.close();
    }
    await redis.kill();
  });

  const send = ({ edge }: Proxy): Promise<Answer> =>
    edge.call("POST", "/sequence/spend", { json: { a: 1 }, headers: { "Idempotency-Key": "pay-1" } });
  /** Its request is under way at the first proxy; the answer comes when that is released. */
  async function begun(): Promise<{ readonly answer: Promise<Answer> }> {
    const running = once(one.gate, "running");
    const answer = send(one);
    await running;
    return { answer };
  }

  it("a slow one keeps its claim by renewing it", async () => {
    const first = await begun();
    const end = performance.now() + 2 * LEASE_MS;
    let asked = 0;
    await until("two leases to pass", async () => {
      const { body, headers } = await send(other);
      assert.equal(body.code, "IDEMPOTENCY_IN_PROGRESS");
      const wait = Number(headers.get("retry-after"));
      assert.ok(wait >= 1 && wait * 1000 <= LEASE_MS, String(wait));
      asked++;
      return performance.now() > end;
    });
    assert.ok(asked > 2);
    one.release();
    const { body } = await first.answer;
    assert.deepEqual(body, { ticket_id: "one" });
    assert.deepEqual((await send(other)).body, body);
    assert.deepEqual([one.runs(), other.runs()], [1, 0]);
  });

  it("a dead one's is free for another when the time has passed that the refusal named", async () => {
    const first = await begun();
    // What Redis sees of a proxy that is killed.
    one.link.close();
    const refusal = await send(other);
    assert.equal(refusal.body.code, "IDEMPOTENCY_IN_PROGRESS");
    const wait = Number(refusal.headers.get("retry-after")) * 1000;
    const [claim] = (await other.link.send(["KEYS", "*:idempotency:live:*"])) as [string];
    assert.ok(Number(await other.link.send(["PTTL", claim])) <= wait);
    await until("the claim to be free", async () => (await send(other)).status === 202);
    one.release();
    await first.answer;
    assert.deepEqual([one.runs(), other.runs()], [1, 1]);
  });

  it("one that was held still past its lease writes nothing over the other's answer", async () => {
    const first = await begun();
    for (const key of (await other.link.send(["KEYS", "*:idempotency:live:*"])) as string[])
      await other.link.send(["DEL", key]);
    const answer = await send(other);
    assert.deepEqual(answer.body, { ticket_id: "other" });
    one.release();
    assert.equal((await first.answer).status, 202);
    for (const proxy of [one, other]) assert.deepEqual((await send(proxy)).body, answer.body);
    assert.deepEqual([one.runs(), other.runs()], [1, 1]);
  });
});
