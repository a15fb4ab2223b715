/**
 * A few seeded scenarios of bridges on each store, so that a change alone can turn it red. Few, because money needs blocks on
 * two chains and an attester in between; `npm run test:faults -- --of bridges` plays hundreds, which are counted by kinds.
 */
import assert from "node:assert/strict";
import { hasRedis, runSuite, type StoreReport } from "../suite.ts";
import { STORES } from "../stores.ts";

const SEED = Number(process.env["CLOISTER_SEED"] ?? 20_261_125);
/** For a change, and before a release. */
const RUNS = process.env["CLOISTER_RELEASE"] === "1" ? 6 : 2;
const LEAST_KILLING_PERCENT = 25;
const WITHIN_MS = 10 * 60_000;

describe("a few seeded scenarios of bridges", function () {
  this.timeout(WITHIN_MS);
  let reports: readonly StoreReport[] = [];

  before(async () => {
    const stores = STORES.filter((store) => store !== "redis" || hasRedis());
    const say = (text: string): void => console.log(`      ${text}`);
    reports = await runSuite({ of: "bridges", seed: SEED, runs: RUNS, stores, say });
  });

  for (const store of STORES)
    it(`violate nothing on the ${store} store`, function () {
      const report = reports.find((one) => one.store === store);
      // The machine has no redis-server.
      if (report === undefined) this.skip();
      assert.deepEqual(
        report.violated.map(({ plan, violations }) => [plan, ...violations]),
        [],
      );
      assert.equal(report.played, RUNS);
    });

  it("kill processes in at least a quarter of them", () => {
    const killing = reports.reduce((sum, report) => sum + report.killing, 0);
    const played = reports.reduce((sum, report) => sum + report.played, 0);
    assert.ok((100 * killing) / played >= LEAST_KILLING_PERCENT, String(killing));
  });
});
