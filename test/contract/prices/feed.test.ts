// Prices from a real feed contract on a real chain, and the fees that follow them: good rounds, every bad one,
// and a restart between.
import assert from "node:assert/strict";
import { Contract, JsonRpcProvider } from "ethers";
import { deployContract } from "../../../scripts/deploy/pool.ts";
import { loadArtifact } from "../../../scripts/build/contracts.ts";
import { createChain } from "../../../proxy/base/chain/provider.ts";
import { Fees } from "../../../proxy/api/fees/fee-rules.ts";
import { createLogger } from "../../../proxy/base/logging.ts";
import { Prices } from "../../../proxy/base/prices/prices.ts";
import { embeddedStores } from "../../../proxy/base/store/instance.ts";
import type { Database } from "../../../proxy/base/store/lmdb/database.ts";
import { mustField, type Address } from "../../../shared/protocol/brands.ts";
import { asAddress } from "../../../shared/protocol/host/text.ts";
import { parseDollars } from "../../../shared/protocol/host/dollars.ts";
import { startAnvil, type Anvil } from "../../support/chain.ts";
import { temporaryDatabase } from "../../support/fees.ts";

const WETH = asAddress(`0x${"22".repeat(20)}`) as Address;
const HEARTBEAT_SECS = 3_600;
const dollars = (text: string): bigint => {
  const value = parseDollars(text);
  assert.ok(value !== undefined);
  return value;
};
/** With eight places, as Chainlink's feeds in dollars have them. */
const answer = (text: string): bigint => dollars(text) / 10n ** 10n;

interface Settable {
  set(answer: bigint, updatedAt: number): Promise<{ wait(): Promise<unknown> }>;
}

describe("prices: a feed contract", function () {
  let anvil: Anvil;
  let provider: JsonRpcProvider;
  let feed: Address;
  let contract: Settable;
  let database: Database;
  let lines: string[];
  let prices: Prices;
  let fees: Fees;

  const seconds = async (): Promise<number> => (await provider.getBlock("latest"))?.timestamp ?? 0;
  async function set(value: bigint, ageSecs = 0): Promise<void> {
    await (await contract.set(value, (await seconds()) - ageSecs)).wait();
  }

  /** A proxy's own half: what a restart makes again over the same store. */
  async function start(at: Address = feed, url: string = anvil.url): Promise<void> {
    lines = [];
    const logger = createLogger("info", { write: (line: string) => void lines.push(line) });
    const assets = [{ address: WETH, symbol: "WETH", decimals: 18 }] as const;
    const bounds = { least: dollars("500"), most: dollars("10000") };
    const setting = { asset: WETH, feed: at, heartbeatSecs: HEARTBEAT_SECS, ...bounds };
    prices = new Prices({
      prices: [setting],
      assets,
      chain: createChain(url, 31_337n),
      store: embeddedStores(database).prices,
      logger,
      now: Date.now,
    });
    fees = new Fees({
      assets,
      serviceFee: { text: "clo1sink", sink: { owner: mustField(7n) } },
      feeSchedule: [
        { asset: WETH, operation: "withdraw", usd: dollars("0.05"), bps: 0 },
        { asset: WETH, operation: "swap", usd: dollars("0.01"), bps: 15 },
      ],
      minimums: [],
      prices,
      store: embeddedStores(database).feeRules,
      now: Date.now,
    });
    await refresh();
  }
  async function refresh(): Promise<void> {
    await prices.refresh();
    await fees.refresh();
  }
  const flat = async (): Promise<bigint | undefined> =>
    (await fees.rulesFor("d", WETH, "withdraw")).service?.flat;
  const alarms = (): string[] =>
    lines
      .map((line) => JSON.parse(line) as { level: string; fault?: string })
      .filter(({ level }) => level === "error")
      .map(({ fault }) => fault ?? "");

  before(async () => {
    anvil = await startAnvil();
    provider = new JsonRpcProvider(anvil.url, 31_337, { staticNetwork: true, cacheTimeout: -1 });
    const owner = await provider.getSigner(0);
    feed = (await deployContract(owner, "TestPriceFeed", [8, "ETH / USD", answer("2500")])).address;
    const { abi } = await loadArtifact("TestPriceFeed");
    contract = new Contract(feed, abi, owner) as unknown as Settable;
  });
  after(async () => {
    provider.destroy();
    await anvil.stop();
  });
  beforeEach(async () => {
    database = temporaryDatabase();
    await set(answer("2500"));
    await start();
  });
  afterEach(() => database.close());

  it("makes five cents twenty millionths of an ether at 2,500 dollars, and follows the next round", async () => {
    assert.equal(await flat(), 20_000_000_000_000n);
    assert.deepEqual(prices.warnings(), []);
    await set(answer("3000"));
    await refresh();
    // 0.05 / 3000 = 0.0000166…: up to the next smallest unit.
    assert.equal(await flat(), 16_666_666_666_667n);
    const [shown] = fees.schedule().schedule;
    assert.equal(shown?.flat, "16666666666667");
  });

  const bad: readonly [string, string, () => Promise<void>][] = [
    ["older than its heartbeat", "STALE", () => set(answer("2600"), HEARTBEAT_SECS + 30)],
    ["zero", "NOT_POSITIVE", () => set(0n)],
    ["negative", "NOT_POSITIVE", () => set(-answer("2600"))],
    ["below the bounds", "OUT_OF_BOUNDS", () => set(answer("499.99"))],
    ["above the bounds", "OUT_OF_BOUNDS", () => set(answer("10000.01"))],
    ["of the future", "NO_ROUND", () => set(answer("2600"), -86_400)],
  ];
  for (const [what, fault, spoil] of bad) {
    it(`goes on with the last good price when a round is ${what}, alarms, and recovers`, async () => {
      await spoil();
      await refresh();
      assert.equal(await flat(), 20_000_000_000_000n);
      assert.deepEqual(alarms(), [fault]);
      assert.match(prices.warnings()[0] ?? "", /^the price feed of WETH .*; the last good price serves on$/);
      await refresh();
      assert.deepEqual(alarms(), [fault], "one alarm for one trouble");

      // A restart finds the price of before on disk.
      await start();
      assert.equal(await flat(), 20_000_000_000_000n);

      await set(answer("2500.5"));
      await refresh();
      assert.equal(await flat(), 19_996_000_799_841n);
      assert.deepEqual(prices.warnings(), []);
    });
  }

  it("takes both bounds as good", async () => {
    await set(answer("500"));
    await refresh();
    assert.equal(await flat(), 100_000_000_000_000n);
    await set(answer("10000"));
    await refresh();
    assert.equal(await flat(), 5_000_000_000_000n);
  });

  it("without any price ever asks nothing, except that a swap waits for one", async () => {
    database = temporaryDatabase();
    await set(0n);
    await start();
    assert.equal(await flat(), undefined);
    await assert.rejects(fees.rulesFor("d", WETH, "swap"), { code: "PRICE_UNAVAILABLE" });
    assert.deepEqual(fees.schedule().schedule, []);
    assert.match(prices.warnings()[0] ?? "", /there is no price yet$/);
    await set(answer("2500"));
    await refresh();
    assert.equal(await flat(), 20_000_000_000_000n);
    assert.equal((await fees.rulesFor("d", WETH, "swap")).service?.flat, 4_000_000_000_000n);
  });

  it("is no worse off with an address that holds no feed, or with a node that is unreachable", async () => {
    await start(asAddress(`0x${"77".repeat(20)}`));
    assert.equal(await flat(), 20_000_000_000_000n);
    assert.deepEqual(alarms(), ["NO_ROUND"]);
    await start(feed, "http://127.0.0.1:1");
    assert.equal(await flat(), 20_000_000_000_000n);
    assert.deepEqual(alarms(), ["UNANSWERED"]);
  });
});
