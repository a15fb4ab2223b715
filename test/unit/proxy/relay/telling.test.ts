// What the store says of requests follows what the chains say: each change once, whether all was looked at, and all of it
// under a new lease.
import assert from "node:assert/strict";
import { createLogger } from "../../../../proxy/base/logging.ts";
import { unseenStatus } from "../../../../proxy/base/bridge/unseen-status.ts";
import { embeddedStores, type InstanceStores } from "../../../../proxy/base/store/instance.ts";
import type { Fence } from "../../../../proxy/base/store/lease.ts";
import type { Database } from "../../../../proxy/base/store/lmdb/database.ts";
import { startTelling } from "../../../../proxy/relay/telling.ts";
import { bridgeDraft } from "../../../support/bridges.ts";
import { temporaryDatabase } from "../../../support/fees.ts";
import { until } from "../../../support/until.ts";

describe("relay/telling", () => {
  const [one, two] = [bridgeDraft(1, {}), bridgeDraft(2, {})];
  let database: Database;
  let stores: InstanceStores;
  let fence: Fence | undefined;
  let now = 1_000_000;
  const received = new Map<string, string>();
  const complete = new Set<string>();
  const listeners = new Set<(id: string) => void>();
  const away: string[] = [];
  const news: string[] = [];
  let ends: (() => unknown)[] = [];

  beforeEach(async () => {
    database = temporaryDatabase();
    stores = embeddedStores(database);
    fence = await stores.relayLease.take("one", 60_000);
    const unfollow = stores.relay.follow({ told: (ids) => news.push(...ids), missed: () => undefined });
    const telling = startTelling({
      book: {
        progressOf: ({ id }) => ({ received: received.get(id) ?? "0" }) as never,
        isComplete: (id) => complete.has(id),
        onChange(listener) {
          listeners.add(listener);
          return () => listeners.delete(listener);
        },
        heads: () => ({ home: 7 }),
        unreachable: () => away,
        records: () => [one, two],
      },
      statusOf: (record, progress) => ({ ...unseenStatus(record), received: String(progress.received) }),
      ...{ store: stores.relay, fence: () => fence, now: () => now, logger: createLogger("silent") },
      everyMs: 1,
    });
    ends = [unfollow, () => telling.stop()];
  });
  afterEach(async () => {
    for (const end of ends) await end();
    await database.close();
    for (const each of [received, complete, listeners]) each.clear();
    away.length = news.length = 0;
  });
  const change = (id: string, units: string): void => {
    received.set(id, units);
    for (const listener of listeners) listener(id);
  };
  const told = async (id: string): Promise<string | undefined> =>
    (await stores.relay.told([id]))[0]?.received;

  it("tells every open one, then each change of what is said, and no more", async () => {
    await until("both", () => news.length === 2);
    change(one.id, "5");
    await until("the change", async () => (await told(one.id)) === "5");
    // Behind it whatever was told without need would be here.
    change(one.id, "5");
    change(two.id, "6");
    await until("the other", async () => (await told(two.id)) === "6");
    assert.deepEqual(news, [one.id, two.id, one.id, two.id]);
  });

  it("looks again when all chains have been looked at, of which nobody tells", async () => {
    await until("both", () => news.length === 2);
    received.set(one.id, "9");
    complete.add(one.id);
    await until("it", async () => (await told(one.id)) === "9");
  });

  it("says how it stands: at once, every few seconds, and when somebody goes away", async () => {
    const standing = await until("the first", () => stores.relay.standing());
    assert.deepEqual(standing, { heads: { home: 7 }, unreachable: [], at: now });
    away.push("attester");
    await until("the one who is away", async () => (await stores.relay.standing())?.unreachable.length === 1);
    now += 5_000;
    await until("five seconds", async () => (await stores.relay.standing())?.at === now);
  });

  it("without the lease it says nothing, and under a new one all again", async () => {
    await until("both", () => news.length === 2);
    const other = embeddedStores(database);
    const taken = await other.relayLease.take("two", 60_000);
    change(one.id, "5");
    await other.relay.underLease(taken!).tell([{ ...unseenStatus(one), received: "77" }]);
    await until("the other's word", async () => (await told(one.id)) === "77");
    fence = await embeddedStores(database).relayLease.take("three", 60_000);
    await until("its own again", async () => (await told(one.id)) === "5");
    await until("the rest, too", () => news.filter((id) => id === two.id).length === 2);
  });
});
