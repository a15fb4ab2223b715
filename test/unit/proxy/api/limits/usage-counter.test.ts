import assert from "node:assert/strict";
import { UsageCounter } from "../../../../../proxy/api/limits/usage-counter.ts";
import { embeddedStores } from "../../../../../proxy/base/store/instance.ts";
import type { Database } from "../../../../../proxy/base/store/lmdb/database.ts";
import { StoreUnavailable } from "../../../../../proxy/base/store/unavailable.ts";
import { DAY_MS, dayOf, type UsageDay, type UsageStore } from "../../../../../proxy/base/store/usage.ts";
import { ENDPOINTS } from "../../../../../shared/api/endpoints.ts";
import { temporaryDatabase } from "../../../../support/fees.ts";

const { relay, ticket } = ENDPOINTS;
const NIGHT = Date.UTC(2026, 10, 26) - 1;

describe("limits/usage-counter", () => {
  let database: Database;
  let store: UsageStore;
  let now: number;
  let pours: number;
  /** Undefined: the store answers. */
  let fault: "before" | "after" | undefined;
  const warnings: unknown[] = [];
  beforeEach(() => {
    database = temporaryDatabase();
    store = embeddedStores(database).usage;
    [now, pours, fault] = [NIGHT, 0, undefined];
    warnings.length = 0;
  });
  afterEach(() => database.close());

  function counter(): UsageCounter {
    const pour: UsageStore["pour"] = async (...args) => {
      pours++;
      if (fault === "before") throw new StoreUnavailable(new Error("away"));
      const isPoured = await store.pour(...args);
      // It was done, and the answer was lost.
      if (fault === "after") throw new StoreUnavailable(new Error("late"));
      return isPoured;
    };
    const logger = { warn: (...words: unknown[]) => void warnings.push(words) };
    return new UsageCounter({ store: { pour }, logger, now: () => now });
  }
  const days = (developer: string): Promise<readonly UsageDay[]> =>
    store.days(developer, dayOf(NIGHT) - 1, dayOf(NIGHT) + 2);
  const requestsOf = async (developer: string): Promise<unknown> =>
    Object.fromEntries((await days(developer)).map(({ day, requests }) => [day, requests]));

  it("asks the store for nothing until it pours, and then once for many", async () => {
    const usage = counter();
    for (let i = 0; i < 1_000; i++) usage.count("shop", relay, i % 10 === 0 ? "RATE_LIMITED" : undefined);
    usage.count("shop", undefined, "NOT_FOUND");
    usage.count("bank", ticket, undefined);
    assert.equal(pours, 0);
    await usage.pour();
    assert.equal(pours, 1);
    const [shop] = await days("shop");
    assert.deepEqual(
      new Map(shop?.requests.map(({ operation, count }) => [operation, count])),
      new Map([
        ["relay", 1_000],
        ["none", 1],
      ]),
    );
    assert.deepEqual(
      new Map(shop?.refusals.map(({ operation, code, count }) => [`${operation} ${code}`, count])),
      new Map([
        ["relay RATE_LIMITED", 100],
        ["none NOT_FOUND", 1],
      ]),
    );
    assert.deepEqual(await requestsOf("bank"), { "2026-11-25": [{ operation: "ticket", count: 1 }] });
    await usage.pour();
    assert.equal(pours, 1, "there was nothing to pour");
  });

  it("counts each request on its own day", async () => {
    const usage = counter();
    usage.count("shop", relay, undefined);
    now += 1;
    usage.count("shop", relay, undefined);
    usage.count("shop", relay, undefined);
    now += DAY_MS;
    await usage.pour();
    assert.deepEqual(await requestsOf("shop"), {
      "2026-11-25": [{ operation: "relay", count: 1 }],
      "2026-11-26": [{ operation: "relay", count: 2 }],
    });
  });

  for (const moment of ["before", "after"] as const) {
    it(`counts once what the store did not answer for, when the fault came ${moment} it was written`, async () => {
      const usage = counter();
      usage.count("shop", relay, undefined);
      fault = moment;
      await usage.pour();
      usage.count("shop", relay, undefined);
      await usage.pour();
      assert.equal(warnings.length, 1, "said once");
      fault = undefined;
      await usage.stop();
      assert.deepEqual(await requestsOf("shop"), { "2026-11-25": [{ operation: "relay", count: 2 }] });
    });
  }

  it("goes on as another source in a store that was restored from before its last pour", async () => {
    const usage = counter();
    usage.count("shop", relay, undefined);
    await usage.pour();
    await database.close();
    database = temporaryDatabase();
    store = embeddedStores(database).usage;
    usage.count("shop", relay, undefined);
    await usage.pour();
    assert.deepEqual(await requestsOf("shop"), { "2026-11-25": [{ operation: "relay", count: 1 }] });
  });

  it("pours in bounded steps, and all that is left at a stop", async () => {
    const usage = counter();
    usage.start();
    for (let i = 0; i < 450; i++) usage.count(`dev_${String(i)}`, relay, undefined);
    await usage.stop();
    assert.equal(pours, 3);
    assert.equal((await store.developersOn(dayOf(NIGHT))).length, 450);
  });
});
