import assert from "node:assert/strict";
import {
  createRetention,
  LEAST_MS,
  type RetentionParts,
} from "../../../../../proxy/api/sequencer/retention.ts";
import { embeddedStores, type InstanceStores } from "../../../../../proxy/base/store/instance.ts";
import { KEEP_MS } from "../../../../../proxy/base/store/idempotency.ts";
import type { Database } from "../../../../../proxy/base/store/lmdb/database.ts";
import type { Fence } from "../../../../../proxy/base/store/lease.ts";
import type { TicketWrites } from "../../../../../proxy/base/store/ticket-store.ts";
import { DAY_MS, dayOf } from "../../../../../proxy/base/store/usage.ts";
import { temporaryDatabase } from "../../../../support/fees.ts";
import { end } from "../../../../support/stores/ended-tickets.ts";
import { ticketDraft } from "../../../../support/stores/tickets.ts";

const NOW = Date.UTC(2026, 10, 25);

describe("sequencer/retention", () => {
  let database: Database;
  let stores: InstanceStores;
  let writes: TicketWrites;
  let fence: Fence | undefined;
  const said: unknown[] = [];
  beforeEach(async () => {
    database = temporaryDatabase();
    stores = embeddedStores(database);
    fence = await stores.lease.take("holder", 60_000);
    writes = stores.tickets.underLease(fence ?? 0);
    said.length = 0;
  });
  afterEach(() => database.close());

  const run = (parts: Partial<RetentionParts> = {}): Promise<void> =>
    createRetention({
      ...{ tickets: stores.tickets, usage: stores.usage, fence: () => fence, now: () => NOW },
      ...{ endedTicketsDays: 90, usageDays: 400 },
      logger: {
        info: (fields: unknown) => void said.push(fields),
        warn: (fields: unknown) => void said.push(fields),
      },
      ...parts,
    }).run();
  const left = async (): Promise<string[]> =>
    (await stores.tickets.ended({ limit: 1_000 })).tickets.map(({ id }) => id);
  const endAt = (n: number, at: number): Promise<void> =>
    end(stores, writes, ticketDraft(n, [n]), "finalized", at);

  it("removes what ended before so many days, and nothing younger", async () => {
    await endAt(1, NOW - 90 * DAY_MS - 1);
    await endAt(2, NOW - 90 * DAY_MS);
    await run();
    assert.deepEqual(await left(), ["id-2"]);
    assert.deepEqual(said, [{ tickets: 1, days_of_usage: 0 }]);
    await run();
    assert.equal(said.length, 1, "it says nothing where it did nothing");
  });

  it("keeps a ticket, however short they are kept, until no kept answer can name it", async () => {
    assert.ok(LEAST_MS > KEEP_MS);
    await endAt(1, NOW - LEAST_MS - 1);
    await endAt(2, NOW - KEEP_MS);
    await run({ endedTicketsDays: 0 });
    assert.deepEqual(await left(), ["id-2"]);
  });

  it("removes sums of days that are no longer kept", async () => {
    for (const [i, ago] of [0, 399, 400, 401].entries()) {
      const one = { developerId: "d", day: dayOf(NOW) - ago, operation: "relay", code: undefined, count: 1 };
      await stores.usage.pour("s", i + 1, [one]);
    }
    await run();
    const days = await stores.usage.days("d", dayOf(NOW) - 500, dayOf(NOW));
    assert.equal(days.length, 2);
    assert.deepEqual(said, [{ tickets: 0, days_of_usage: 2 }]);
  });

  it("does nothing while another proxy has the lease, and nothing more once it is lost", async () => {
    await endAt(1, 0);
    await run({ fence: () => undefined });
    // The store refuses it, and the other goes on.
    await run({ fence: () => (fence ?? 0) - 1 });
    assert.deepEqual([await left(), said], [["id-1"], []]);
  });

  it("does a bounded part at a time, and the rest in the next", async () => {
    for (let n = 0; n < 120; n++) await stores.tickets.accept(ticketDraft(n, [n]), 1_000);
    const error = { code: "REJECTED", detail: "no", retryable: false } as const;
    await writes.change(
      Array.from({ length: 120 }, (_, n) => ({ id: `id-${String(n)}`, status: { state: "failed", error } })),
      5,
    );
    let steps = 0;
    const twice = (): Fence | undefined => (steps++ < 2 ? fence : undefined);
    await run({ fence: twice });
    assert.equal((await left()).length, 20);
    await run();
    assert.deepEqual(await left(), []);
  });

  it("tells once of a store that does not answer, and goes on when it does", async () => {
    await endAt(1, 0);
    let isAway = true;
    const tickets: RetentionParts["tickets"] = {
      underLease: (held) => {
        if (isAway) throw new Error("away");
        return stores.tickets.underLease(held);
      },
    };
    const logger = { info: () => undefined, warn: (fields: unknown) => void said.push(fields) };
    const parts = { usage: stores.usage, fence: () => fence, endedTicketsDays: 90, usageDays: 400 };
    const retention = createRetention({ ...parts, tickets, logger, now: () => NOW });
    await retention.run();
    await retention.run();
    assert.deepEqual([said.length, await left()], [1, ["id-1"]]);
    isAway = false;
    await retention.run();
    assert.deepEqual(await left(), []);
    await retention.stop();
  });
});
