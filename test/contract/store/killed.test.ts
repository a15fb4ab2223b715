// A process that removes ended tickets, or changes what the audit log tells of, is killed in the middle: what is left is
// whole, and another goes on with it.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PATIENCE_MS } from "../../../scripts/base/poll.ts";
import { addDeveloper } from "../../../proxy/base/auth/registration.ts";
import { createRetention } from "../../../proxy/api/sequencer/retention.ts";
import { embeddedStores, sharedStores, type InstanceStores } from "../../../proxy/base/store/instance.ts";
import { openDatabase } from "../../../proxy/base/store/lmdb/database.ts";
import type { Fence } from "../../../proxy/base/store/lease.ts";
import { mustField } from "../../../shared/protocol/brands.ts";
import { startDurableRedis, type RedisServer } from "../../support/redis.ts";
import { ERROR, hash, ticketDraft } from "../../support/stores/tickets.ts";
import { until } from "../../support/until.ts";

const ROOT = new URL("../../../", import.meta.url).pathname;
const TICKETS = 1_200;
const LEASE_MS = 1_000;
/** Its note is held by a ticket that came after the ended one with the same note. */
const HELD = 7;

interface Place {
  /** As the process takes it. */
  readonly name: string;
  open(): Promise<InstanceStores>;
  close(stores: InstanceStores): Promise<void>;
}

const idOf = (n: number): string => `id-${String(n)}`;

async function leaseOf({ lease }: InstanceStores): Promise<Fence> {
  let fence: Fence | undefined;
  await until("the lease", async () => (fence = await lease.take("test", LEASE_MS)) !== undefined);
  return fence ?? assert.fail();
}

async function fill(stores: InstanceStores): Promise<void> {
  const numbers = Array.from({ length: TICKETS }, (_, n) => n);
  await Promise.all(numbers.map((n) => stores.tickets.accept(ticketDraft(n, [n]), 10_000)));
  const fence = await leaseOf(stores);
  for (let from = 0; from < TICKETS; from += 100)
    await stores.tickets.underLease(fence).change(
      numbers
        .slice(from, from + 100)
        .map((n) => ({ id: idOf(n), status: { state: "failed", error: ERROR } })),
      1_000,
    );
  const later = { ...ticketDraft(TICKETS, [HELD]), id: "later" };
  assert.equal((await stores.tickets.accept(later, 10_000)).kind, "accepted");
  await stores.lease.giveBack("test");
}

/** Ids of those that are left, and each of them is in every list, and no other is. */
async function assertWhole({ tickets }: InstanceStores): Promise<string[]> {
  const { tickets: listed } = await tickets.ended({ limit: TICKETS + 1 });
  const ids = listed.map(({ id }) => id);
  for (const query of [
    { developerId: "d" },
    { developerId: "d", sub: "user" },
    { state: "failed" as const },
  ]) {
    const page = await tickets.ended({ ...query, limit: TICKETS + 1 });
    assert.deepEqual(
      page.tickets.map(({ id }) => id),
      ids,
    );
  }
  const there = new Set(ids);
  for (let n = 0; n < TICKETS; n++) {
    assert.equal((await tickets.get(idOf(n)))?.id, there.has(idOf(n)) ? idOf(n) : undefined);
    assert.equal((await tickets.byStatement(hash(n)))?.id, there.has(idOf(n)) ? idOf(n) : undefined);
  }
  assert.equal(await tickets.reservedBy(mustField(BigInt(HELD))), hash(TICKETS));
  assert.equal((await tickets.get("later"))?.status.state, "queued");
  return ids;
}

/** Once it has said something. */
async function killInTheMiddle(script: string, place: Place): Promise<void> {
  const words = ["--import", "tsx", script, place.name, "0xPool", String(LEASE_MS)];
  const child = spawn(process.execPath, words, {
    cwd: ROOT,
    stdio: ["ignore", "pipe", "inherit"],
    env: { PATH: process.env["PATH"] ?? "" },
  });
  const ended = once(child, "close");
  await once(child.stdout, "data");
  child.kill("SIGKILL");
  assert.deepEqual(await ended, [null, "SIGKILL"], "it was not done yet");
}

describe("a store whose writer is killed in the middle", function () {
  let folder: string;
  let redis: RedisServer | undefined;
  beforeEach(async () => (folder = await mkdtemp(join(tmpdir(), "cloister-retention-"))));
  afterEach(async () => {
    await redis?.kill();
    redis = undefined;
    await rm(folder, { recursive: true, force: true });
  });

  async function inLmdb(): Promise<Place> {
    let database: ReturnType<typeof openDatabase> | undefined;
    return {
      name: folder,
      open: async () => embeddedStores((database = openDatabase(folder))),
      close: async () => database?.close(),
    };
  }
  async function inRedis(): Promise<Place> {
    const { url } = (redis = await startDurableRedis());
    return {
      name: url,
      open: () => sharedStores({ url, instance: { chainId: 1, pool: "0xPool" }, deadlineMs: PATIENCE_MS }),
      close: async (stores) => stores.close(),
    };
  }

  for (const [kind, placed] of Object.entries({ LMDB: inLmdb, Redis: inRedis })) {
    it(`has no change without its audit entry in ${kind}, and no entry without its change`, async () => {
      const place = await placed();
      const before = await place.open();
      await addDeveloper(before.keys, { name: "Shop", id: "shop" });
      await place.close(before);
      for (let round = 0; round < 3; round++) {
        await killInTheMiddle("test/support/changing-process.ts", place);
        const stores = await place.open();
        const { entries } = await stores.audit.page({ developerId: "shop", limit: 100_000 });
        const epoch = (await stores.keys.developer("shop"))?.sessionEpoch ?? 0;
        assert.ok(epoch > 4 * (round + 1), String(epoch));
        assert.deepEqual(
          entries.map(({ number, after }) => [number, after?.["sessionEpoch"]]),
          Array.from({ length: epoch }, (_, i) => [epoch - i, epoch - i]),
        );
        await place.close(stores);
      }
    });

    it(`leaves whole tickets in ${kind}, and another process goes on where it stopped`, async () => {
      const place = await placed();
      const before = await place.open();
      await fill(before);
      await place.close(before);
      await killInTheMiddle("test/support/retention-process.ts", place);
      const stores = await place.open();
      const left = await assertWhole(stores);
      assert.ok(left.length > 0 && left.length < TICKETS, String(left.length));
      const fence = await leaseOf(stores);
      await createRetention({
        ...{ tickets: stores.tickets, usage: stores.usage, endedTicketsDays: 1, usageDays: 1, now: Date.now },
        ...{
          logger: { info: () => undefined, warn: (fields: unknown) => assert.fail(JSON.stringify(fields)) },
        },
        // Kept as long as it is asked for, as a proxy does.
        fence: () => fence,
      }).run();
      assert.deepEqual(await assertWhole(stores), []);
      await place.close(stores);
    });
  }
});
