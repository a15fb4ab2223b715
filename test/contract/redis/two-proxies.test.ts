// Two proxies of one instance and one real Redis: callers meet one limit, whatever becomes of Redis.
import assert from "node:assert/strict";
import { LocalWindows } from "../../../proxy/base/limits/local-windows.ts";
import { SharedWindows } from "../../../proxy/base/limits/shared-windows.ts";
import { connectRedis, type RedisConnection } from "../../../proxy/base/store/redis/connection.ts";
import { openRedisLimits } from "../../../proxy/base/store/redis/limits.ts";
import type { WindowStore } from "../../../proxy/base/store/windows.ts";
import { startRedis, type RedisServer } from "../../support/redis.ts";
import { until } from "../../support/until.ts";
import { startEdge, type Answer, type Edge } from "../../support/edge.ts";

interface Proxy {
  readonly edge: Edge;
  readonly windows: SharedWindows;
  readonly alarms: string[];
  stop(): Promise<void>;
}

// eslint-disable-next-line no-restricted-syntax -- runs out where Redis is held still, and nowhere else
const DEADLINE_MS = 5_000;

async function startProxy(url: string): Promise<Proxy> {
  const alarms: string[] = [];
  const connection: RedisConnection = connectRedis(url);
  const windows = new SharedWindows(new LocalWindows(), openRedisLimits(connection, "31337:0xpool"), {
    // Longer than in production: this machine may be busy with other tests, and a needless alarm is no finding.
    deadlineMs: DEADLINE_MS,
    reviveEveryMs: 200,
    onUnreachable: () => alarms.push("unreachable"),
    onReachable: () => alarms.push("back"),
  });
  await windows.start();
  // On a busy machine the first look may come too late: the next one finds it, and that is no finding either.
  await until("Redis to be reached", () => !windows.isUnreachable);
  alarms.length = 0;
  const edge = await startEdge({ windows: (): WindowStore => windows });
  return {
    edge,
    windows,
    alarms,
    stop: async () => {
      await edge.stop();
      windows.close();
      connection.close();
    },
  };
}

describe("two proxies and one Redis", () => {
  let redis: RedisServer;
  let proxies: [Proxy, Proxy];
  beforeEach(async () => {
    redis = await startRedis();
    proxies = [await startProxy(redis.url), await startProxy(redis.url)];
  });
  afterEach(async () => {
    redis.thaw();
    for (const proxy of proxies) await proxy.stop();
    await redis.kill();
  });

  /** A developer known to both, as with a shared store; each proxy of this test has a store and a pepper of its own. */
  const developer = async (id: string, keyPerMinute: number): Promise<[string, string]> => {
    const wanted = { name: "Shared", id, limits: { keyPerMinute } };
    const [one, two] = [
      await proxies[0].edge.newDeveloper(wanted),
      await proxies[1].edge.newDeveloper(wanted),
    ];
    return [one.key, two.key];
  };
  const ask = (at: 0 | 1, key: string): Promise<Answer> =>
    proxies[at].edge.call("GET", "/whoami", { credential: false, headers: { "X-API-Key": key } });
  const okOf = (answers: readonly Answer[]): number => answers.filter(({ status }) => status === 200).length;

  it("admit together exactly what one may, and tell the same", async () => {
    const keys = await developer("dev", 25);
    const answers = await Promise.all(
      Array.from({ length: 60 }, (_, i) => ask(i % 2 === 0 ? 0 : 1, keys[i % 2 === 0 ? 0 : 1])),
    );
    assert.equal(okOf(answers), 25);
    const refused = answers.filter(({ status }) => status === 429);
    assert.equal(refused.length, 35);
    for (const { body, headers } of refused) {
      assert.equal(body.policy, "key-minute");
      assert.match(headers.get("ratelimit") ?? "", /^"key-minute";r=0;t=\d+, "key-day";r=9975;t=\d+$/);
      const wait = Number(headers.get("retry-after"));
      assert.ok(wait >= 1 && wait <= 60);
    }
  });

  it("one after the other: what one proxy admitted, the other shows in its headers", async () => {
    const keys = await developer("dev", 5);
    for (let i = 0; i < 5; i++) {
      const { headers } = await ask(i % 2 === 0 ? 0 : 1, keys[i % 2 === 0 ? 0 : 1]);
      assert.match(headers.get("ratelimit") ?? "", new RegExp(`^"key-minute";r=${String(4 - i)};`));
    }
    assert.deepEqual([(await ask(0, keys[0])).status, (await ask(1, keys[1])).status], [429, 429]);
  });

  it("Redis killed: nobody notices, nobody is unlimited, and after its return one count holds again", async () => {
    const keys = await developer("dev", 6);
    const [first, second] = keys;
    assert.equal(okOf([await ask(0, first), await ask(0, first), await ask(1, second)]), 3);
    await redis.kill();
    // Each for itself now; what a proxy admitted before still counts there.
    const alone: Answer[] = [];
    for (let i = 0; i < 8; i++) alone.push(await ask(0, first));
    assert.equal(okOf(alone), 4);
    assert.deepEqual(new Set(alone.map(({ status }) => status)), new Set([200, 429]));
    assert.equal(okOf([await ask(1, second)]), 1);
    for (const { alarms } of proxies) assert.deepEqual(alarms, ["unreachable"]);

    await redis.start();
    await until("both to be back", () => proxies.every(({ windows }) => !windows.isUnreachable));
    for (const { alarms } of proxies) assert.deepEqual(alarms, ["unreachable", "back"]);
    assert.equal((await ask(0, first)).status, 429);
    const fresh = await developer("other", 4);
    const answers: Answer[] = [];
    for (let i = 0; i < 8; i++) answers.push(await ask(i % 2 === 0 ? 0 : 1, fresh[i % 2 === 0 ? 0 : 1]));
    assert.equal(okOf(answers), 4);
  });

  it("Redis frozen: every request is answered, within the limit, and only the first ones wait for a deadline", async () => {
    const keys = await developer("dev", 10);
    await ask(0, keys[0]);
    redis.freeze();
    const answers = await Promise.all(Array.from({ length: 20 }, () => ask(0, keys[0])));
    assert.equal(okOf(answers), 9);
    assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([200, 429]));
    assert.equal(proxies[0].windows.isUnreachable, true);
    redis.thaw();
    await until("the return", () => !proxies[0].windows.isUnreachable);
    assert.deepEqual(proxies[0].alarms, ["unreachable", "back"]);
  });

  it("refused credentials and exchanges are counted together, too", async () => {
    const guess = (at: 0 | 1): Promise<Answer> =>
      proxies[at].edge.call("GET", "/whoami", { credential: false, headers: { "X-API-Key": "ck_guess" } });
    for (let i = 0; i < 30; i++) assert.equal((await guess(i % 2 === 0 ? 0 : 1)).status, 401);
    assert.deepEqual(
      [(await guess(0)).body.policy, (await guess(1)).body.policy],
      Array(2).fill("failed-credentials"),
    );
    const exchange = (at: 0 | 1): Promise<Answer> =>
      proxies[at].edge.call("POST", "/session/exchange", {
        credential: false,
        json: { app_id: "app_none", access_token: "x" },
      });
    for (let i = 0; i < 30; i++) assert.equal((await exchange(i % 2 === 0 ? 0 : 1)).status, 404);
    assert.deepEqual([(await exchange(0)).status, (await exchange(1)).status], [429, 429]);
    // A good credential from the same address is never refused for it.
    assert.equal((await proxies[1].edge.call("GET", "/whoami")).status, 200);
  });
});
