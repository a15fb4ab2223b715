// The bridges' file: every fault at once, none repeats a value, and nothing that would put money at a wrong place is taken.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { bridgeSettingsOf, readBridgeSettings } from "../../../../../proxy/base/bridge/bridge.settings.ts";
import { ConfigError } from "../../../../../proxy/base/settings.ts";
import { BRIDGE_HOME, BRIDGES_FILE, bridgeSettings, madeAddress } from "../../../../support/bridges.ts";

function faultsOf(json: unknown): readonly string[] {
  try {
    bridgeSettingsOf(json, BRIDGE_HOME);
  } catch (error) {
    assert.ok(error instanceof ConfigError);
    return error.faults;
  }
  return [];
}
const [second, other] = BRIDGES_FILE.chains;
const [asset] = BRIDGES_FILE.assets;

describe("settings of the bridges", () => {
  it("reads a whole file, with its defaults", () => {
    const read = bridgeSettings({ limits: undefined });
    assert.deepEqual(read.limits, {
      ...{ openPerUser: 100, openPerDeveloper: 5_000, openPerInstance: 10_000, watchDays: 30 },
    });
    assert.deepEqual([read.homeChainId, read.assets[0]?.minimum], [31_337, 1_000_000n]);
    assert.equal(read.chains[1]?.exit, undefined);
    assert.equal(read.perpvenue?.exit.destination, "perps");
    assert.deepEqual(
      faultsOf({ ...BRIDGES_FILE, chains: undefined, perpvenue: undefined, altchain: undefined }),
      [],
    );
  });

  it("says every fault of its form at once, by its place, and repeats no value", () => {
    const bad = {
      ...BRIDGES_FILE,
      factory: "hunter2",
      surplus: 1,
      assets: [{ ...asset, minimum: "-1" }],
      chains: [{ ...second, rpcUrl: "ftp://hunter2", confirmations: 0 }],
      attesterUrl: undefined,
    };
    const faults = faultsOf(bad);
    for (const place of [
      "factory",
      "surplus",
      "assets.0.minimum",
      "chains.0.rpcUrl",
      "chains.0.confirmations",
      "attesterUrl",
    ])
      assert.ok(
        faults.some((fault) => fault.startsWith(`CLOISTER_BRIDGES: ${place} `)),
        place,
      );
    assert.ok(
      faults.every((fault) => !fault.includes("hunter2")),
      faults.join("\n"),
    );
  });

  for (const [what, change, words] of [
    [
      "a collector that is not the gas wallet",
      { collector: madeAddress(1) },
      /collector must be the gas wallet/,
    ],
    [
      "an asset that is not listed",
      { assets: [{ ...asset, asset: madeAddress(2) }] },
      /assets\.0\.asset is not listed/,
    ],
    ["one asset twice", { assets: [asset, asset] }, /one asset twice/],
    [
      "a ceiling as high as the minimum",
      { assets: [{ ...asset, feeCeiling: "1000000" }] },
      /assets\.0\.minimum must be more/,
    ],
    ["the same of a chain", { chains: [{ ...second, minimum: "1" }] }, /chains\.0\.minimum must be more/],
    [
      "the same of an exit",
      { chains: [{ ...second, exit: { minimum: "1", feeCeiling: "1" } }] },
      /chains\.0\.exit\.minimum/,
    ],
    [
      "the same of the exchange",
      { perpvenue: { ...BRIDGES_FILE.perpvenue, feeCeiling: "5000000" } },
      /perpvenue\.minimum/,
    ],
    ["two chains of one name", { chains: [second, { ...other, name: "second" }] }, /one name twice/],
    ["a chain that is called home", { chains: [{ ...second, name: "home" }] }, /name of something else/],
    ["the pool's own chain", { chains: [{ ...second, chainId: 31_337 }] }, /one chainId/],
    ["two chains of one domain", { chains: [second, { ...other, domain: 6 }] }, /one domain/],
    ["a domain that is the pool's", { altchain: { ...BRIDGES_FILE.altchain, domain: 3 } }, /one domain/],
    [
      "a chain's asset that is not bridged",
      { chains: [{ ...second, asset: madeAddress(9) }] },
      /chains\.0\.asset is not among/,
    ],
    ["other decimals there", { altchain: { ...BRIDGES_FILE.altchain, decimals: 9 } }, /altchain\.decimals/],
    ["the zero address", { factory: madeAddress(0) }, /factory must not be the zero address/],
  ] as const) {
    it(`refuses ${what}`, () => {
      const faults = faultsOf({ ...BRIDGES_FILE, ...change });
      assert.ok(
        faults.some((fault) => words.test(fault)),
        faults.join("\n"),
      );
    });
  }

  it("says of a file that is missing or no JSON what is wrong with it, and nothing of what is in it", () => {
    const folder = mkdtempSync(join(tmpdir(), "cloister-bridges-"));
    const file = join(folder, "bridges.json");
    assert.throws(() => readBridgeSettings(file, BRIDGE_HOME), /cannot be read/);
    writeFileSync(file, "{ hunter2");
    assert.throws(
      () => readBridgeSettings(file, BRIDGE_HOME),
      (error: Error) => /is not JSON/.test(error.message) && !error.message.includes("hunter2"),
    );
    writeFileSync(file, JSON.stringify(BRIDGES_FILE));
    assert.equal(readBridgeSettings(file, BRIDGE_HOME).factory, BRIDGES_FILE.factory);
    rmSync(folder, { recursive: true });
  });
});
