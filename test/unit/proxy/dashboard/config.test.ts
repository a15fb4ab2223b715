// The dashboard's settings: what is wrong is said all at once, and no origin is taken to which a passkey cannot be bound.
import assert from "node:assert/strict";
import { readDashboardConfig } from "../../../../proxy/dashboard/config.ts";
import { ConfigError, type Environment } from "../../../../proxy/base/settings.ts";

const GOOD: Environment = {
  CLOISTER_DATA_DIR: "/data",
  CLOISTER_RPC_URL: "http://127.0.0.1:8545",
  CLOISTER_CHAIN_ID: "31337",
  CLOISTER_POOL: `0x${"11".repeat(20)}`,
  CLOISTER_USDC: `0x${"22".repeat(20)}`,
  CLOISTER_ADDRESS_PREFIX: "clodev",
  CLOISTER_API_KEY_PEPPER_FILE: "/pepper",
  CLOISTER_DASHBOARD_ORIGIN: "http://localhost:8791",
};

function faultsOf(change: Environment): readonly string[] {
  try {
    readDashboardConfig({ ...GOOD, ...change });
    return [];
  } catch (error) {
    assert.ok(error instanceof ConfigError);
    return error.faults;
  }
}

describe("settings of the dashboard", () => {
  it("takes an origin with a name, and binds passkeys to it", () => {
    const local = readDashboardConfig(GOOD);
    assert.deepEqual([local.origin, local.rpId], ["http://localhost:8791", "localhost"]);
    const production = {
      ...{ CLOISTER_ENV: "production", CLOISTER_DASHBOARD_ORIGIN: "https://dashboard.example:8443" },
    };
    assert.deepEqual(faultsOf(production), []);
    assert.equal(readDashboardConfig({ ...GOOD, ...production }).rpId, "dashboard.example");
  });

  for (const [origin, words] of [
    ["http://127.0.0.1:8791", /host name, not an address/],
    ["https://[::1]:8791", /host name, not an address/],
    ["http://dashboard.example", /must be https/],
    ["https://dashboard.example/", /an origin/],
    ["https://dashboard.example/path", /an origin/],
    ["ftp://dashboard.example", /an origin/],
    ["dashboard", /an origin/],
  ] as const)
    it(`refuses ${origin}`, () => {
      assert.match(faultsOf({ CLOISTER_DASHBOARD_ORIGIN: origin }).join("\n"), words);
    });

  it("refuses http in production, also for localhost", () => {
    assert.match(faultsOf({ CLOISTER_ENV: "production" }).join("\n"), /must be https/);
  });

  it("says all faults at once and repeats no value", () => {
    const faults = faultsOf({
      CLOISTER_DASHBOARD_ORIGIN: "",
      CLOISTER_DASHBOARD_PORT: "99999",
      CLOISTER_DASHBOARD_EXPLORER_TX: "https://deadbeef.example/",
      CLOISTER_DASHBOARD_OPERATIONS: "deadbeef",
      CLOISTER_DASHBOARD_TRUSTED_PROXIES: "deadbeef",
      CLOISTER_POOL: "deadbeef",
    });
    assert.equal(faults.length, 6);
    assert.doesNotMatch(faults.join("\n"), /deadbeef/);
  });
});
