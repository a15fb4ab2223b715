/**
 * Seeded scenarios on each store: kills, reorganisations, faults of node and enclave, moved clocks and strangers, drawn
 * from one seed, so that a change alone can turn it red. Ten of them for a change, a hundred before a release;
 * `npm run test:faults` draws others.
 */
import assert from "node:assert/strict";
import { FAULT_NAMES, FAULT_NAMES_OF_TWO } from "./plan.ts";
import { hasRedis, runSuite, type StoreReport } from "./suite.ts";
import { STORES, type StoreName } from "./stores.ts";

const SEED = Number(process.env["CLOISTER_SEED"] ?? 20_261_122);
const IS_RELEASE = process.env["CLOISTER_RELEASE"] === "1";
const RUNS = IS_RELEASE ? 100 : 10;
const LEAST_KILLING_PERCENT = 25;
const WITHIN_MS = 35 * 60_000;

describe("seeded scenarios of faults", function () {
  this.timeout(WITHIN_MS);
  const reports = new Map<StoreName, StoreReport>();

  before(async () => {
    const stores = STORES.filter((store) => store !== "redis" || hasRedis());
    const said = await runSuite({
      seed: SEED,
      runs: RUNS,
      stores,
      say: (text) => console.log(`      ${text}`),
    });
    for (const report of said) reports.set(report.store, report);
  });

  for (const store of STORES) {
    describe(`on the ${store} store`, () => {
      let report: StoreReport;
      before(function () {
        const found = reports.get(store);
        // The machine has no redis-server.
        if (found === undefined) this.skip();
        report = found;
      });

      it("violate nothing", () => {
        assert.deepEqual(
          report.violated.map(({ plan, violations }) => [plan, ...violations]),
          [],
        );
        assert.equal(report.played, RUNS);
      });

      it("kill processes in at least a quarter of them", () => {
        assert.ok((100 * report.killing) / report.played >= LEAST_KILLING_PERCENT, String(report.killing));
      });
    });
  }

  // A fault waits for a question that it can strike, and some meet one in a hundred scenarios.
  if (IS_RELEASE)
    it("are struck by every kind of fault, on one store or the other", function () {
      if (reports.size < STORES.length) this.skip();
      const names = [...FAULT_NAMES, ...FAULT_NAMES_OF_TWO];
      const never = names.filter((name) =>
        [...reports.values()].every(({ struck }) => (struck.get(name) ?? 0) === 0),
      );
      assert.deepEqual(never, []);
    });
});
