// Settings: every fault is told at once, none repeats a value, nothing is half read.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { readConfig } from "../../../../proxy/api/config.ts";
import { DASHBOARD_SETTINGS } from "../../../../proxy/dashboard/config.ts";
import { RELAY_SETTINGS } from "../../../../proxy/relay/config.ts";
import { configHelp, ConfigError } from "../../../../proxy/base/settings.ts";
import { encodeShieldedAddress } from "../../../../shared/notes/address.ts";
import { mustField } from "../../../../shared/protocol/brands.ts";
import { LIMITS } from "../../../support/edge.ts";

const USDC = "0xe7f1725E7734CE288F8367e1Bb143E90bb3F0512";
const VIEWING = new Uint8Array(32).fill(9);
const SINK = encodeShieldedAddress({ owner: mustField(7n), viewingKey: VIEWING }, "clo");

const good: Readonly<Record<string, string>> = {
  CLOISTER_DATA_DIR: "/var/lib/cloister",
  CLOISTER_RPC_URL: "http://127.0.0.1:8545",
  CLOISTER_CHAIN_ID: "31337",
  CLOISTER_POOL: "0x5FbDB2315678afecb367f032d93F642f64180aa3",
  CLOISTER_USDC: USDC,
  CLOISTER_ADDRESS_PREFIX: "clo",
  CLOISTER_ENCLAVES: "unix:/run/one.sock:5000, unix:/run/two.sock:5001",
  CLOISTER_ARTEFACT_MANIFEST: "/srv/manifest.json",
  CLOISTER_SENDER_KEY_FILE: "/srv/sender.key",
  CLOISTER_SESSION_KEYS_FILE: "/srv/session-keys.json",
  CLOISTER_API_KEY_PEPPER_FILE: "/srv/pepper",
};

function faultsOf(change: Readonly<Record<string, string | undefined>>): readonly string[] {
  try {
    readConfig({ ...good, ...change });
  } catch (error) {
    assert.ok(error instanceof ConfigError);
    return error.faults;
  }
  return [];
}

describe("proxy configuration", () => {
  it("reads what is needed, with the documented defaults, frozen", () => {
    const config = readConfig(good);
    assert.equal(config.pool, "0x5fbdb2315678afecb367f032d93f642f64180aa3");
    assert.deepEqual(config.enclaves, [
      { path: "/run/one.sock", port: 5000 },
      { path: "/run/two.sock", port: 5001 },
    ]);
    assert.equal(config.production, false);
    assert.equal(config.port, 8080);
    assert.deepEqual(config.limits, LIMITS);
    assert.deepEqual(config.connections, { all: 16_384, perAddress: 256 });
    assert.deepEqual(config.trustedProxies, []);
    const trusted = { CLOISTER_TRUSTED_PROXIES: "10.0.0.0/8, 2001:db8::/32,192.0.2.1" };
    assert.deepEqual(readConfig({ ...good, ...trusted }).trustedProxies, [
      "10.0.0.0/8",
      "2001:db8::/32",
      "192.0.2.1",
    ]);
    assert.equal(config.serviceFee, undefined);
    assert.equal(config.verificationKeyFolder, undefined);
    const keys = { CLOISTER_VERIFICATION_KEYS: "/srv/keys" };
    assert.equal(readConfig({ ...good, ...keys }).verificationKeyFolder, "/srv/keys");
    assert.ok(Object.isFrozen(config) && Object.isFrozen(config.limits) && Object.isFrozen(config.assets));
  });

  it("reads one pair for every enclave or one for each, and where KMS is", () => {
    const kms = { CLOISTER_KMS_REGION: "eu-central-1" };
    assert.deepEqual(readConfig(good).signerPairs, []);
    assert.equal(readConfig(good).kms, undefined);
    const one = readConfig({ ...good, ...kms, CLOISTER_SIGNER_KEYS: "/srv/a.json" });
    assert.deepEqual(one.signerPairs, ["/srv/a.json", "/srv/a.json"]);
    assert.deepEqual(one.kms, { region: "eu-central-1", endpoint: undefined });
    const two = readConfig({
      ...good,
      ...kms,
      CLOISTER_SIGNER_KEYS: "/srv/a.json, /srv/b.json",
      CLOISTER_KMS_ENDPOINT: "http://127.0.0.1:9",
    });
    assert.deepEqual(two.signerPairs, ["/srv/a.json", "/srv/b.json"]);
    assert.equal(two.kms?.endpoint, "http://127.0.0.1:9");
  });

  it("refuses pairs without a region, a number of them that fits nothing, and an open line to KMS in production", () => {
    const pair = { CLOISTER_SIGNER_KEYS: "/srv/a.json" };
    const region = { CLOISTER_KMS_REGION: "eu-central-1" };
    const names = (change: Readonly<Record<string, string>>): string[] =>
      faultsOf(change).map((fault) => fault.split(" ")[0] ?? "");
    assert.deepEqual(names({ ...pair, ...region }), []);
    assert.deepEqual(names(pair), ["CLOISTER_KMS_REGION"]);
    assert.deepEqual(names({ ...pair, CLOISTER_KMS_REGION: "somewhere else" }), ["CLOISTER_KMS_REGION"]);
    assert.deepEqual(names({ ...region, CLOISTER_SIGNER_KEYS: "a,b,c" }), ["CLOISTER_SIGNER_KEYS"]);
    assert.deepEqual(names({ ...pair, ...region, CLOISTER_KMS_ENDPOINT: "kms" }), ["CLOISTER_KMS_ENDPOINT"]);
    const open = { ...pair, ...region, CLOISTER_KMS_ENDPOINT: "http://kms.internal" };
    assert.deepEqual(names(open), []);
    assert.deepEqual(names({ ...open, CLOISTER_ENV: "production" }), ["CLOISTER_KMS_ENDPOINT"]);
  });

  it("opens the operator's port only when asked, and never where callers come", () => {
    const ports = (operations: string, others: Record<string, string> = {}): Record<string, string> => ({
      CLOISTER_OPERATIONS_PORT: operations,
      ...others,
    });
    assert.equal(readConfig(good).operationsPort, undefined);
    assert.equal(readConfig({ ...good, ...ports("9464") }).operationsPort, 9464);
    assert.equal(readConfig({ ...good, ...ports("0", { CLOISTER_PORT: "0" }) }).operationsPort, 0);
    for (const shared of [
      ports("8080"),
      ports("9000", { CLOISTER_PORT: "9000" }),
      ports("9001", { CLOISTER_REFERENCE_PORT: "9001" }),
      ports("65536"),
      ports("on"),
    ])
      assert.deepEqual(
        faultsOf(shared).map((fault) => fault.split(" ")[0]),
        ["CLOISTER_OPERATIONS_PORT"],
      );
  });

  const WETH = "0x5FbDB2315678afecb367f032d93F642f64180aa3";
  const VENUE = { CLOISTER_SWAP_FACTORY: USDC, CLOISTER_SWAP_QUOTER: WETH };
  const assets = (...list: object[]): Record<string, string> => ({ CLOISTER_ASSETS: JSON.stringify(list) });

  it("reads further assets behind USDC, and rules for them; swaps are off unless they are switched on", () => {
    const config = readConfig({
      ...good,
      ...assets({ address: WETH, symbol: "WETH", decimals: 18 }),
      CLOISTER_SWAPS: "on",
      ...VENUE,
      CLOISTER_SERVICE_FEE_ADDRESS: SINK,
      CLOISTER_FEE_SCHEDULE: JSON.stringify([{ asset: WETH, operation: "swap", flat: "0", bps: 15 }]),
      CLOISTER_MINIMUMS: JSON.stringify([{ asset: WETH, operation: "swap", minimum: "5" }]),
    });
    assert.deepEqual(config.assets, [
      { address: USDC.toLowerCase(), symbol: "USDC", decimals: 6 },
      { address: WETH.toLowerCase(), symbol: "WETH", decimals: 18 },
    ]);
    assert.equal(config.swaps, true);
    assert.deepEqual(config.venue, { factory: USDC.toLowerCase(), quoter: WETH.toLowerCase() });
    assert.deepEqual(config.feeSchedule, [
      { asset: WETH.toLowerCase(), operation: "swap", flat: 0n, bps: 15 },
    ]);
    assert.equal(config.minimums[0]?.asset, WETH.toLowerCase());
    assert.equal(readConfig(good).swaps, false);
  });

  it("asks for the venue of quotes where swaps are on, and leaves it alone where they are off", () => {
    const names = (change: Record<string, string>): string[] =>
      faultsOf(change).map((text) => text.split(" ")[0] ?? "");
    const on = { CLOISTER_SWAPS: "on" };
    assert.deepEqual(names(on), ["CLOISTER_SWAP_FACTORY", "CLOISTER_SWAP_QUOTER"]);
    assert.deepEqual(names({ ...on, ...VENUE }), []);
    assert.deepEqual(names({ ...on, ...VENUE, CLOISTER_SWAP_QUOTER: "0x12" }), ["CLOISTER_SWAP_QUOTER"]);
    assert.deepEqual(names({ CLOISTER_SWAP_QUOTER: "0x12" }), ["CLOISTER_SWAP_QUOTER"]);
    assert.equal(readConfig({ ...good, ...VENUE }).venue, undefined);
  });

  const prices = (...list: object[]): Record<string, string> => ({ CLOISTER_PRICES: JSON.stringify(list) });

  it("reads fees in dollars, with a fixed price or a feed", () => {
    const feed = { feed: good["CLOISTER_POOL"], heartbeat_secs: 3600, min: "500", max: "10000.5" };
    const config = readConfig({
      ...good,
      ...assets({ address: WETH, symbol: "WETH", decimals: 18 }),
      ...prices({ asset: USDC, fixed: "1.00" }, { asset: WETH, ...feed }),
      CLOISTER_SERVICE_FEE_ADDRESS: SINK,
      CLOISTER_FEE_SCHEDULE: JSON.stringify(
        [USDC, WETH].map((asset) => ({ asset, operation: "transfer", usd: "0.05" })),
      ),
    });
    assert.deepEqual(
      config.feeSchedule.map(({ usd, flat }) => ({ usd, flat })),
      [1, 2].map(() => ({ usd: 5n * 10n ** 16n, flat: undefined })),
    );
    assert.deepEqual(config.prices, [
      { asset: USDC.toLowerCase(), fixed: 10n ** 18n },
      {
        asset: WETH.toLowerCase(),
        feed: good["CLOISTER_POOL"]?.toLowerCase(),
        heartbeatSecs: 3600,
        least: 500n * 10n ** 18n,
        most: 100005n * 10n ** 17n,
      },
    ]);
  });

  it("tells all faults of an empty environment at once", () => {
    try {
      readConfig({});
      assert.fail("accepted");
    } catch (error) {
      assert.ok(error instanceof ConfigError);
      for (const name of Object.keys(good)) assert.match(error.message, new RegExp(`${name} is required`));
    }
  });

  it("reads fees, minimums and the sink", () => {
    const config = readConfig({
      ...good,
      CLOISTER_SERVICE_FEE_ADDRESS: SINK,
      CLOISTER_FEE_SCHEDULE: JSON.stringify([{ asset: USDC, operation: "deposit", flat: "50000", bps: 15 }]),
      CLOISTER_MINIMUMS: JSON.stringify([{ asset: USDC, operation: "withdraw", minimum: "1000000" }]),
    });
    assert.deepEqual(config.feeSchedule, [
      { asset: USDC.toLowerCase(), operation: "deposit", flat: 50_000n, bps: 15 },
    ]);
    assert.equal(config.minimums[0]?.minimum, 1_000_000n);
    assert.equal(config.serviceFee?.sink.owner, 7n);
  });

  const rule = (entry: object): string =>
    JSON.stringify([{ asset: USDC, operation: "deposit", flat: "1", ...entry }]);
  const faulty: [string, Record<string, string>, RegExp][] = [
    ["a port too high", { CLOISTER_PORT: "65536" }, /^CLOISTER_PORT must be/],
    ["a number with a sign", { CLOISTER_CHAIN_ID: "+1" }, /^CLOISTER_CHAIN_ID must be/],
    ["a chain id of zero", { CLOISTER_CHAIN_ID: "0" }, /^CLOISTER_CHAIN_ID must be/],
    [
      "a wrong checksum",
      { CLOISTER_POOL: "0x5FbDB2315678afecb367f032d93F642f64180aA3" },
      /^CLOISTER_POOL must be/,
    ],
    ["another URL", { CLOISTER_RPC_URL: "file:///etc" }, /^CLOISTER_RPC_URL must be/],
    ["a word for ENV", { CLOISTER_ENV: "prod" }, /^CLOISTER_ENV must be/],
    ["vsock", { CLOISTER_ENCLAVES: "vsock:16:5000" }, /^CLOISTER_ENCLAVES .*AF_VSOCK.*unix:/],
    ["a socket without a port", { CLOISTER_ENCLAVES: "unix:/run/one.sock" }, /^CLOISTER_ENCLAVES must hold/],
    ["no JSON", { CLOISTER_FEE_SCHEDULE: "[" }, /^CLOISTER_FEE_SCHEDULE is not JSON/],
    ["an unknown field", { CLOISTER_FEE_SCHEDULE: rule({ x: 1 }) }, /^CLOISTER_FEE_SCHEDULE does not fit/],
    [
      "an amount with a leading zero",
      { CLOISTER_FEE_SCHEDULE: rule({ flat: "01" }) },
      /^CLOISTER_FEE_SCHEDULE does not fit/,
    ],
    [
      "an asset that is not listed",
      {
        CLOISTER_MINIMUMS: JSON.stringify([
          { asset: good["CLOISTER_POOL"], operation: "deposit", minimum: "1" },
        ]),
      },
      /^CLOISTER_MINIMUMS names an asset/,
    ],
    [
      "bps on transfers",
      { CLOISTER_FEE_SCHEDULE: rule({ operation: "transfer", bps: 1 }), CLOISTER_SERVICE_FEE_ADDRESS: SINK },
      /^CLOISTER_FEE_SCHEDULE cannot hold bps/,
    ],
    [
      "a fee without a sink",
      { CLOISTER_FEE_SCHEDULE: rule({}) },
      /^CLOISTER_SERVICE_FEE_ADDRESS is required/,
    ],
    [
      "a sink of another network",
      { CLOISTER_SERVICE_FEE_ADDRESS: SINK, CLOISTER_ADDRESS_PREFIX: "two" },
      /^CLOISTER_SERVICE_FEE_ADDRESS is no/,
    ],
    [
      "a fee that leaves nothing of a swap",
      { CLOISTER_FEE_SCHEDULE: rule({ operation: "swap", bps: 10_000 }), CLOISTER_SERVICE_FEE_ADDRESS: SINK },
      /^CLOISTER_FEE_SCHEDULE leaves nothing/,
    ],
    [
      "a fee for transfers of one asset and not of another",
      {
        ...assets({ address: WETH, symbol: "WETH", decimals: 18 }),
        CLOISTER_FEE_SCHEDULE: rule({ operation: "transfer" }),
        CLOISTER_SERVICE_FEE_ADDRESS: SINK,
      },
      /^CLOISTER_FEE_SCHEDULE asks a fee for transfers of some assets only/,
    ],
    [
      "both dollars and units",
      { CLOISTER_FEE_SCHEDULE: rule({ usd: "1" }) },
      /^CLOISTER_FEE_SCHEDULE does not/,
    ],
    [
      "dollars without a price",
      {
        CLOISTER_FEE_SCHEDULE: JSON.stringify([{ asset: USDC, operation: "deposit", usd: "0.05" }]),
        CLOISTER_SERVICE_FEE_ADDRESS: SINK,
      },
      /^CLOISTER_PRICES has no price/,
    ],
    ["a price of nothing", prices({ asset: USDC, fixed: "0" }), /^CLOISTER_PRICES does not fit/],
    ["a price as a number", prices({ asset: USDC, fixed: 1 }), /^CLOISTER_PRICES does not fit/],
    [
      "a feed without bounds",
      prices({ asset: USDC, feed: WETH, heartbeat_secs: 1 }),
      /^CLOISTER_PRICES does/,
    ],
    [
      "bounds in the wrong order",
      prices({ asset: USDC, feed: WETH, heartbeat_secs: 1, min: "2", max: "1" }),
      /^CLOISTER_PRICES does not fit/,
    ],
    [
      "two prices",
      prices(...["1", "2"].map((fixed) => ({ asset: USDC, fixed }))),
      /^CLOISTER_PRICES has two/,
    ],
    ["a price of what is not listed", prices({ asset: WETH, fixed: "1" }), /^CLOISTER_PRICES names an asset/],
    ["a word for SWAPS", { CLOISTER_SWAPS: "true" }, /^CLOISTER_SWAPS must be/],
    [
      "USDC once more",
      assets({ address: USDC, symbol: "USDC", decimals: 6 }),
      /^CLOISTER_ASSETS names an asset twice/,
    ],
    [
      "the zero address as an asset",
      assets({ address: `0x${"00".repeat(20)}`, symbol: "ETH", decimals: 18 }),
      /^CLOISTER_ASSETS names the zero address/,
    ],
    ["an asset without decimals", assets({ address: WETH, symbol: "WETH" }), /^CLOISTER_ASSETS does not fit/],
    [
      "a symbol with a space",
      assets({ address: WETH, symbol: "W ETH", decimals: 18 }),
      /^CLOISTER_ASSETS does not fit/,
    ],
    ["a bad prefix", { CLOISTER_ADDRESS_PREFIX: "Clo" }, /^CLOISTER_ADDRESS_PREFIX must be/],
    [
      "a proxy that is no address",
      { CLOISTER_TRUSTED_PROXIES: "10.0.0.0/8,proxy" },
      /^CLOISTER_TRUSTED_PROXIES/,
    ],
    ["a subnet too long", { CLOISTER_TRUSTED_PROXIES: "10.0.0.0/33" }, /^CLOISTER_TRUSTED_PROXIES/],
    ["a subnet of nothing", { CLOISTER_TRUSTED_PROXIES: "10.0.0.0/" }, /^CLOISTER_TRUSTED_PROXIES/],
    ["no connection", { CLOISTER_MAX_CONNECTIONS: "0" }, /^CLOISTER_MAX_CONNECTIONS must be/],
    ["a trusted hop too many", { CLOISTER_TRUSTED_HOPS: "9" }, /^CLOISTER_TRUSTED_HOPS must be/],
  ];
  for (const [what, change, fault] of faulty) {
    it(`refuses ${what}`, () => {
      const faults = faultsOf(change);
      assert.equal(faults.length, 1, faults.join("\n"));
      assert.match(faults[0] ?? "", fault);
    });
  }

  it("refuses two rules for one asset and operation", () => {
    const twice = JSON.stringify(
      [1, 2].map((flat) => ({ asset: USDC, operation: "deposit", flat: String(flat) })),
    );
    assert.deepEqual(faultsOf({ CLOISTER_FEE_SCHEDULE: twice, CLOISTER_SERVICE_FEE_ADDRESS: SINK }), [
      "CLOISTER_FEE_SCHEDULE has two entries for one asset and operation",
    ]);
  });

  it("does not repeat what was set: a secret put in the wrong place stays out of the log", () => {
    const secret = "0xdeadbeefdeadbeef";
    for (const name of [
      "CLOISTER_POOL",
      "CLOISTER_RPC_URL",
      "CLOISTER_FEE_SCHEDULE",
      "CLOISTER_ENCLAVES",
      "CLOISTER_PORT",
    ]) {
      assert.doesNotMatch(faultsOf({ [name]: secret }).join("\n"), /deadbeef/);
    }
  });

  it("takes keys of identity providers from loopback in development only", () => {
    const open = { ...good, CLOISTER_IDENTITY_LOOPBACK: "on" };
    assert.deepEqual([readConfig(good).identityLoopback, readConfig(open).identityLoopback], [false, true]);
    assert.match(
      faultsOf({ CLOISTER_IDENTITY_LOOPBACK: "on", CLOISTER_ENV: "production" }).join("\n"),
      /CLOISTER_IDENTITY_LOOPBACK must be off/,
    );
  });

  it("takes a Redis for limits by its URL, and never repeats it", () => {
    assert.equal(readConfig(good).limitsRedisUrl, undefined);
    const url = "rediss://user:deadbeef@limits.example:6380/1";
    assert.equal(readConfig({ ...good, CLOISTER_LIMITS_REDIS_URL: url }).limitsRedisUrl, url);
    for (const wrong of ["limits.example:6379/deadbeef", "https://deadbeef.example"]) {
      const faults = faultsOf({ CLOISTER_LIMITS_REDIS_URL: wrong }).join("\n");
      assert.match(faults, /redis or rediss URL/);
      assert.doesNotMatch(faults, /deadbeef/);
    }
  });

  it("help names every setting", () => {
    for (const name of Object.keys(good)) assert.match(configHelp(), new RegExp(name));
  });

  it(".env.example has every setting that help has, with its default or empty", () => {
    const text = readFileSync(new URL("../../../../.env.example", import.meta.url), "utf8");
    const shown = [...text.matchAll(/^#?(CLOISTER_\w+)=(.*)$/gm)].map(
      ([, name, value]) => `${name}=${value}`,
    );
    const help = `${configHelp()}${configHelp(RELAY_SETTINGS)}${configHelp(DASHBOARD_SETTINGS)}`;
    const helped = [...help.matchAll(/^ {2}(CLOISTER_\w+) .*?(?:\(default (.*)\))?$/gm)]
      .map(([, name, preset]) => `${name}=${preset ?? ""}`)
      // The programs share some.
      .filter((line, place, all) => all.indexOf(line) === place);
    assert.ok(helped.length > 30);
    assert.deepEqual(shown.toSorted(), helped.toSorted());
  });
});
