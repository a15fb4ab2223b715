// The window store in a real Redis: the promises of every store, Redis's own clock, and what it keeps.
import assert from "node:assert/strict";
import { connectRedis, type RedisConnection } from "../../../proxy/base/store/redis/connection.ts";
import { openRedisLimits } from "../../../proxy/base/store/redis/limits.ts";
import type { WindowRule } from "../../../proxy/base/store/windows.ts";
import { startRedis, type RedisServer } from "../../support/redis.ts";
import { aRule, windowStoreSuite } from "../../support/window-stores.ts";

/** As if so many milliseconds had passed: all that Redis remembers lies so much further back. */
const PASS = `
for _, key in ipairs(redis.call('KEYS', '*')) do
  if redis.call('TYPE', key).ok == 'list' then
    for i, at in ipairs(redis.call('LRANGE', key, 0, -1)) do
      redis.call('LSET', key, i - 1, string.format('%.0f', at - ARGV[1]))
    end
  end
  redis.call('PEXPIRE', key, redis.call('PTTL', key) - ARGV[1])
end`;

describe("windows in Redis", () => {
  let server: RedisServer;
  let connection: RedisConnection;
  let store: ReturnType<typeof openRedisLimits>;
  before(async () => {
    server = await startRedis();
    connection = connectRedis(server.url);
    store = openRedisLimits(connection, "31337:0xpool");
    await store.revive();
  });
  after(async () => {
    connection.close();
    await server.kill();
  });
  async function pass(ms: number): Promise<void> {
    await connection.send(["EVAL", PASS, "0", String(ms)]);
  }
  windowStoreSuite(() => ({ store, pass }));

  const keys = async (): Promise<string[]> => (await connection.send(["KEYS", "*"])) as string[];

  it("names no user, marks every key with the instance and an end, and forgets what has left", async () => {
    await connection.send(["FLUSHALL"]);
    const rule = aRule({ key: "alice@example.org", windowMs: 50_000 });
    await store.take([rule]);
    await store.openLease("streams alice@example.org", "1", 5);
    const held = await keys();
    assert.equal(held.length, 2);
    for (const key of held) {
      assert.match(key, /^cloister:\{31337:0xpool\}:limits:/);
      assert.ok(!key.includes("alice"));
      assert.ok(Number(await connection.send(["PTTL", key])) > 0);
    }
    await pass(50_001);
    assert.deepEqual(
      (await keys()).map((key) => key.includes(":leases:")),
      [true],
    );
  });

  it("keeps instances that share one Redis apart", async () => {
    const other = openRedisLimits(connection, "1:0xpool");
    const rule = aRule({ quota: 1 });
    assert.deepEqual(
      [await store.take([rule]), await other.take([rule]), await store.take([rule])].map(
        ({ isAdmitted }) => isAdmitted,
      ),
      [true, true, false],
    );
  });

  it("holds a day of 10,000 requests in less than 200 kB", async () => {
    await connection.send(["FLUSHALL"]);
    const rule: WindowRule = aRule({ windowMs: 86_400_000, quota: 10_000 });
    for (let i = 0; i < 10; i++) await Promise.all(Array.from({ length: 1_000 }, () => store.take([rule])));
    const last = await store.take([rule]);
    assert.deepEqual([last.isAdmitted, last.states[0]?.used], [false, 10_000]);
    const [key = ""] = await keys();
    assert.ok(Number(await connection.send(["MEMORY", "USAGE", key, "SAMPLES", "0"])) < 200_000);
  });

  it("goes by Redis's clock, and stays in order when that is set back", async () => {
    await connection.send(["FLUSHALL"]);
    const rule = aRule({ quota: 3 });
    await store.take([rule]);
    const [key = ""] = await keys();
    const ahead = Date.now() + 30_000;
    await connection.send(["RPUSH", key, String(ahead)]);
    await store.take([rule]);
    const times = (await connection.send(["LRANGE", key, "0", "-1"])) as string[];
    assert.deepEqual(times, [...times].sort());
    assert.equal((await store.take([rule])).isAdmitted, false);
  });

  it("a proxy's streams are forgotten when it no longer keeps them, and count again after Redis lost its memory", async () => {
    const group = "streams of somebody";
    assert.equal(await store.openLease(group, "killed", 1), true);
    const key = (await keys()).find((name) => name.includes(":leases:")) ?? "";
    // Nobody waits a minute here: the lease's end is moved to now, as if the minute had passed.
    await connection.send(["ZADD", key, String(Date.now() - 1), "killed"]);
    assert.equal(await store.openLease(group, "next", 1), true);
    await connection.send(["FLUSHALL"]);
    await store.keepLeases(group, ["next"]);
    assert.equal(await store.openLease(group, "third", 1), false);
  });

  it("knows its scripts again after Redis forgot them", async () => {
    await connection.send(["SCRIPT", "FLUSH"]);
    assert.equal((await store.take([aRule()])).isAdmitted, true);
  });
});
