// A real Redis that holds what must not be lost: which ones are refused, and what becomes of the stores when it is
// killed, frozen, made a replica, filled, emptied or given other settings.
import assert from "node:assert/strict";
import { PATIENCE_MS } from "../../../scripts/base/poll.ts";
import { ClocksApart } from "../../../proxy/base/clocks.ts";
import { storesIn, type InstanceStores } from "../../../proxy/base/store/instance.ts";
import {
  openDurableRedis,
  type DurableOptions,
  type DurableRedis,
} from "../../../proxy/base/store/redis/durable.ts";
import { UnfitRedis } from "../../../proxy/base/store/redis/fitness.ts";
import { FORMAT } from "../../../proxy/base/store/redis/format.ts";
import { StoreUnavailable } from "../../../proxy/base/store/unavailable.ts";
import { startDurableRedis, startRedis, type RedisServer } from "../../support/redis.ts";
import { anApp } from "../../support/stores/apps.ts";
import { aFeeNote } from "../../support/stores/fee-notes.ts";
import { aRuleOf } from "../../support/stores/fee-rules.ts";
import { AN_ANSWER, tokenOf } from "../../support/stores/idempotency.ts";
import { aDeveloper, aKey } from "../../support/stores/keys.ts";
import { until } from "../../support/until.ts";

const INSTANCE = { chainId: 31_337, pool: "0xAbCd" };
const PREFIX = "cloister:{31337-0xabcd}:";

const isUnreachable = (error: unknown): boolean => error instanceof StoreUnavailable;

describe("durable Redis", function () {
  let server: RedisServer;
  const opened: DurableRedis[] = [];
  beforeEach(async () => {
    server = await startDurableRedis();
  });
  afterEach(async () => {
    for (const link of opened.splice(0)) link.close();
    server.thaw();
    await server.kill();
  });

  async function link(change: Partial<DurableOptions> = {}): Promise<DurableRedis> {
    // Longer than in production: this machine may be busy with other tests.
    const options = { url: server.url, instance: INSTANCE, deadlineMs: PATIENCE_MS, ...change };
    const made = await openDurableRedis(options);
    opened.push(made);
    return made;
  }
  const set = (name: string, value: string): Promise<unknown> => server.command("CONFIG", "SET", name, value);

  it("finds out that its clock and this machine's are apart", async () => {
    const stores = storesIn(await link());
    await stores.check(Date.now());
    for (const ms of [-3_600_000, 3_600_000])
      await assert.rejects(stores.check(Date.now() + ms), ClocksApart);
  });

  describe("is refused at the start", () => {
    const faults: readonly [setting: string, bad: string, good: string][] = [
      ["appendonly", "no", "yes"],
      ["appendfsync", "everysec", "always"],
      ["no-appendfsync-on-rewrite", "yes", "no"],
      ["maxmemory-policy", "allkeys-lru", "noeviction"],
    ];
    for (const [setting, bad, good] of faults) {
      it(`with ${setting} ${bad}, and taken with ${good}`, async () => {
        await set(setting, bad);
        const words = new RegExp(`${setting} is ${bad} and must be ${good}: `);
        await assert.rejects(link(), (error) => error instanceof UnfitRedis && words.test(error.message));
        assert.deepEqual(await server.command("KEYS", "*"), []);
        await set(setting, good);
        assert.equal((await link()).isReady, true);
      });
    }

    it("when it is the volatile one", async () => {
      const volatile = await startRedis();
      try {
        await assert.rejects(link({ url: volatile.url }), /appendonly is no and must be yes/);
      } finally {
        await volatile.kill();
      }
    });

    it("when it is a replica", async () => {
      await server.command("REPLICAOF", "127.0.0.1", "1");
      await assert.rejects(link(), /it is a replica; name its primary/);
      await server.command("REPLICAOF", "NO", "ONE");
      assert.equal((await link()).isReady, true);
    });

    it("when its settings may not be read", async () => {
      await server.command("ACL", "SETUSER", "default", "-config");
      await assert.rejects(link(), /CONFIG GET is not allowed/);
    });

    it("when nobody answers, with the code of a store that is unreachable", async () => {
      await server.kill();
      await assert.rejects(link(), isUnreachable);
    });

    it("when a newer program wrote it, or its format cannot be read, and nothing is touched", async () => {
      const key = (await link()).key("format");
      const id = await server.command("HGET", key, "id");
      for (const format of [String(FORMAT + 1), "1x", ""]) {
        await server.command("HSET", key, "format", format);
        await assert.rejects(link(), UnfitRedis);
        assert.deepEqual(await server.command("HGETALL", key), ["format", format, "id", id]);
      }
      await server.command("HSET", key, "format", String(FORMAT));
      assert.equal((await link()).isReady, true);
    });

    it("and no fault repeats a password", async () => {
      await set("requirepass", "hunter2");
      const port = new URL(server.url).port;
      for (const url of [`redis://:hunter3@127.0.0.1:${port}`, "redis://:hunter3@[bad:1"]) {
        await assert.rejects(link({ url }), (error) => {
          const all = error instanceof Error ? `${String(error)} ${String(error.cause)}` : "";
          return (
            /unreachable|could not|refused/.test(all) && !JSON.stringify([all, error]).includes("hunter")
          );
        });
      }
      assert.equal((await link({ url: `redis://:hunter2@127.0.0.1:${port}` })).isReady, true);
    });
  });

  /** One of everything. */
  async function fill(stores: InstanceStores): Promise<string> {
    await stores.keys.addDeveloper(aDeveloper("shop"));
    await stores.keys.addKey(aKey("aa"));
    await stores.keys.raiseUserEpoch("shop", "alice@example.org");
    await stores.apps.addApp(anApp("app_a"));
    await stores.feeRules.changeRules("shop", () => [aRuleOf(7n)]);
    await stores.feeNotes.keep([aFeeNote(1)]);
    await stores.prices.keepPrice(aFeeNote(1).asset, { answer: 5n, decimals: 8, updatedAt: 1 });
    const token = tokenOf(await stores.idempotency.claim("alice@example.org", "f", 0));
    await stores.idempotency.answer("alice@example.org", token, AN_ANSWER, 0);
    return tokenOf(await stores.idempotency.claim("running", "f", 0));
  }
  async function assertFilled(stores: InstanceStores): Promise<void> {
    assert.deepEqual(await stores.keys.developers(), [aDeveloper("shop")]);
    assert.deepEqual(await stores.keys.keys(), [aKey("aa")]);
    assert.equal(await stores.keys.userEpoch("shop", "alice@example.org"), 1);
    assert.deepEqual(await stores.apps.apps(), [anApp("app_a")]);
    assert.deepEqual(await stores.feeRules.rules("shop"), [aRuleOf(7n)]);
    assert.deepEqual(await stores.feeNotes.notesOf("shop", 0, 9), [aFeeNote(1)]);
    assert.equal((await stores.prices.price(aFeeNote(1).asset))?.answer, 5n);
    const claims = await Promise.all([
      stores.idempotency.claim("alice@example.org", "f", 1),
      // Its lease may be over by now; the record is there still.
      stores.idempotency.claim("running", "g", 1),
    ]);
    assert.deepEqual(claims, [{ kind: "answered", answer: AN_ANSWER }, { kind: "other-body" }]);
  }

  it("keeps everything over a restart, and is used again without one of ours", async () => {
    const redis = await link();
    const stores = storesIn(redis);
    await fill(stores);
    await server.command("SHUTDOWN").catch(() => undefined);
    await until("the loss to be noticed", () => !redis.isReady);
    await server.start();
    await until("the return", () => redis.isReady);
    await assertFilled(stores);
    await assertFilled(storesIn(await link()));
  });

  it("killed in the middle of writing, it has lost nothing that was answered", async () => {
    const links = [await link(), await link()];
    const answered: string[] = [];
    const faults: unknown[] = [];
    let isOver = false;
    const write = async (name: string, stores: InstanceStores): Promise<void> => {
      for (let i = 0; !isOver; i++) {
        const id = `${name}-${String(i)}`;
        try {
          await stores.keys.addKey(aKey(id));
          answered.push(id);
        } catch (error) {
          faults.push(error);
          return;
        }
      }
    };
    const writers = links.flatMap((redis, at) =>
      Array.from({ length: 8 }, (_, i) => write(`${String(at)}-${String(i)}`, storesIn(redis))),
    );
    await until("some answers", () => answered.length >= 200);
    await server.kill();
    await Promise.all(writers);
    isOver = true;
    assert.equal(faults.length, 16);
    for (const fault of faults) assert.ok(isUnreachable(fault), String(fault));

    await server.start();
    await until("the return", () => links.every(({ isReady }) => isReady));
    const kept = new Set((await storesIn(links[0]!).keys.keys()).map(({ id }) => id));
    assert.deepEqual(
      answered.filter((id) => !kept.has(id)),
      [],
    );
    // Of each writer at most the one change that got no answer.
    assert.ok(kept.size <= answered.length + 16);
  });

  it("frozen, everybody is told within the deadline, then at once, and nothing is left half done", async () => {
    const seen: string[] = [];
    const redis = await link({
      // eslint-disable-next-line no-restricted-syntax -- runs out once it is held still, and not before
      deadlineMs: 5_000,
      onUnreachable: () => seen.push("unreachable"),
      onReachable: () => seen.push("back"),
    });
    const stores = storesIn(redis);
    await fill(stores);
    server.freeze();
    const asked = await Promise.allSettled([
      stores.keys.developer("shop"),
      stores.keys.addDeveloper(aDeveloper("late")),
      stores.feeNotes.keep([aFeeNote(2), aFeeNote(2, { output: 4 })]),
      stores.idempotency.claim("new", "f", 0),
    ]);
    for (const one of asked) assert.ok(one.status === "rejected" && isUnreachable(one.reason));
    assert.equal(redis.isReady, false);
    await assert.rejects(stores.keys.developer("shop"), isUnreachable);
    server.thaw();
    await until("the return", () => redis.isReady);
    assert.deepEqual(seen, ["unreachable", "back"]);
    const notes = (await stores.feeNotes.notesOf("shop", 0, 9)).length;
    assert.ok(notes === 1 || notes === 3, String(notes));
    const late = await stores.keys.developer("late");
    assert.equal(await stores.keys.addDeveloper(aDeveloper("late")), late === undefined);
    assert.deepEqual(await stores.keys.developer("shop"), aDeveloper("shop"));
  });

  it("made a replica, it takes no write and, from then on, is not read either", async () => {
    const redis = await link();
    const stores = storesIn(redis);
    await fill(stores);
    await server.command("REPLICAOF", "127.0.0.1", "1");
    await assert.rejects(stores.keys.addDeveloper(aDeveloper("late")), isUnreachable);
    await assert.rejects(stores.keys.key("aa"), isUnreachable);
    await server.command("REPLICAOF", "NO", "ONE");
    await until("the return", () => redis.isReady);
    await assertFilled(stores);
  });

  it("given settings that lose data while it runs, it is left, and the reason is told", async () => {
    const reasons: unknown[] = [];
    const redis = await link({ checkEveryMs: 50, onUnreachable: (error) => reasons.push(error) });
    await set("appendfsync", "no");
    await until("the loss to be noticed", () => !redis.isReady);
    assert.match(String(reasons[0]), /appendfsync is no and must be always/);
    await assert.rejects(storesIn(redis).keys.developers(), isUnreachable);
    await set("appendfsync", "always");
    await until("the return", () => redis.isReady);
  });

  it("come back without its data, it is not taken for the same", async () => {
    const reasons: unknown[] = [];
    const redis = await link({ checkEveryMs: 50, onUnreachable: (error) => reasons.push(error) });
    const stores = storesIn(redis);
    await fill(stores);
    await server.command("FLUSHALL");
    await until("the loss to be noticed", () => !redis.isReady);
    assert.match(String(reasons[0]), /it lost its data or is another one than before/);
    await assert.rejects(stores.keys.addDeveloper(aDeveloper("late")), isUnreachable);
    // Nor when another proxy has begun again on it.
    await link();
    await assert.rejects(stores.keys.addDeveloper(aDeveloper("late")), isUnreachable);
  });

  it("full, it takes nothing new, shows what it has, and lets begun work end and rights be taken away", async () => {
    const stores = storesIn(await link());
    const token = await fill(stores);
    const before = await server.command("DBSIZE");
    await set("maxmemory", "1");
    const refused = await Promise.allSettled([
      stores.keys.addDeveloper(aDeveloper("late")),
      stores.keys.addKey(aKey("bb")),
      stores.apps.addApp(anApp("app_b")),
      stores.feeRules.changeRules("shop", () => [aRuleOf(8n)]),
      stores.feeRules.promise(
        [{ asset: aFeeNote(1).asset, operation: "swap", terms: undefined, goodUntil: 9 }],
        0,
      ),
      stores.feeNotes.keep([aFeeNote(2), aFeeNote(3)]),
      stores.prices.keepPrice(aFeeNote(1).asset, { answer: 6n, decimals: 8, updatedAt: 2 }),
      stores.idempotency.claim("new", "f", 0),
    ]);
    for (const one of refused) assert.ok(one.status === "rejected" && isUnreachable(one.reason));
    assert.equal(await server.command("DBSIZE"), before);
    await assertFilled(stores);
    assert.equal((await link()).isReady, true);

    await stores.idempotency.answer("running", token, AN_ANSWER, 0);
    assert.deepEqual(await stores.idempotency.claim("running", "f", 1), {
      kind: "answered",
      answer: AN_ANSWER,
    });
    await stores.feeNotes.settle([{ statement: aFeeNote(1).statement, executed: false }]);
    assert.deepEqual(await stores.feeNotes.notesOf("shop", 0, 9), []);
    assert.equal(await stores.keys.revokeKey("aa", "2026-03-01"), true);
    assert.equal(await stores.keys.raiseUserEpoch("shop", "bob"), 1);
    const raised = await stores.keys.updateDeveloper("shop", (now) => ({ ...now, sessionEpoch: 2 }));
    assert.equal(raised?.sessionEpoch, 2);
    assert.equal(await stores.apps.removeApp("app_a"), true);

    await set("maxmemory", "0");
    assert.equal(await stores.keys.addDeveloper(aDeveloper("late")), true);
    assert.equal((await stores.idempotency.claim("new", "f", 0)).kind, "claimed");
  });

  it("sets a record aside that cannot be read, says which, and goes on with the rest", async () => {
    const broken: string[] = [];
    const stores = storesIn(
      await link({ onBrokenRecord: (table, field) => broken.push(`${table} ${field}`) }),
    );
    await fill(stores);
    for (const text of ["{", '{"id":"bb"}', JSON.stringify({ ...aKey("bb"), secretHash: "xyz" })]) {
      await server.command("HSET", `${PREFIX}api-keys`, "bb", text);
      assert.deepEqual(await stores.keys.keys(), [aKey("aa")]);
      // Neither good nor unknown: a key that may have been revoked must not be read as one that never was.
      await assert.rejects(stores.keys.key("bb"), isUnreachable);
      await assert.rejects(stores.keys.revokeKey("bb", "2026-03-01"), isUnreachable);
      assert.equal(await server.command("HGET", `${PREFIX}api-keys`, "bb"), text);
      assert.deepEqual(broken.splice(0), ["api-keys bb"], "once, however often it is read");
    }
    await assertFilled(stores);
  });

  it("a kept answer that cannot be read is not given, and the work is not done again", async () => {
    const stores = storesIn(await link());
    await fill(stores);
    const keys = (await server.command("KEYS", "*idempotency*")) as string[];
    for (const key of keys.filter((name) => !name.includes(":live:")))
      await server.command("HSET", key, "record", "{");
    await assert.rejects(stores.idempotency.claim("running", "f", 1), isUnreachable);
    await assert.rejects(stores.idempotency.claim("alice@example.org", "f", 1), isUnreachable);
    assert.equal((await stores.idempotency.claim("other", "f", 1)).kind, "claimed");
  });

  it("keeps instances apart, names no user, and gives answers an end", async () => {
    const stores = storesIn(await link());
    await fill(stores);
    const keys = (await server.command("KEYS", "*")) as string[];
    for (const key of keys) {
      assert.ok(key.startsWith(PREFIX), key);
      const end = Number(await server.command("PTTL", key));
      if (key.includes(":idempotency:")) assert.ok(end > 0 && end <= 25 * 3_600_000, key);
      else assert.equal(end, -1, key);
    }
    const epochs = await server.command("HKEYS", `${PREFIX}user-epochs`);
    assert.ok(!JSON.stringify([keys, epochs]).includes("alice"));
    const foreign = storesIn(await link({ instance: { chainId: 1, pool: "0xabcd" } }));
    assert.deepEqual(await foreign.keys.developers(), []);
    assert.equal(await foreign.keys.addDeveloper(aDeveloper("shop", { name: "another" })), true);
    await assertFilled(stores);
  });

  it("knows its scripts again after Redis forgot them", async () => {
    const stores = storesIn(await link());
    await server.command("SCRIPT", "FLUSH");
    await fill(stores);
    await assertFilled(stores);
  });

  it("lists more than one page, each once", async () => {
    const { keys } = storesIn(await link());
    const ids = Array.from({ length: 1_200 }, (_, i) => `key${String(i).padStart(4, "0")}`);
    for (let from = 0; from < ids.length; from += 100)
      await Promise.all(ids.slice(from, from + 100).map((id) => keys.addKey(aKey(id))));
    assert.deepEqual(
      (await keys.keys()).map(({ id }) => id),
      ids,
    );
  });
});
