// Bridge addresses in a real browser: a page of another origin under the strict policy, and two tabs that take them at once.
import { build } from "esbuild";
import assert from "node:assert/strict";
import type { Page } from "playwright-core";
import { checksumAddress } from "../../shared/api/checksum.ts";
import { parseAltchainAddress, tokenAccountOf } from "../../shared/altchain/token.ts";
import { DepositKey } from "../../shared/notes/bridge-keys.ts";
import { SpendingKey } from "../../shared/notes/keys.ts";
import { BRIDGE_PINS, MINT, OTHER } from "../contract/client/bridge-desk.ts";
import { CHAIN_ID, POOL, USDC } from "../contract/client/chain.ts";
import { PREFIX } from "../contract/client/checks.ts";
import { TestService } from "../contract/client/service.ts";
import { requireBrowser, startBrowser, type TestBrowser } from "../support/chromium.ts";
import { startPageOrigin, strictPolicy, type PageOrigin } from "../support/page-origin.ts";
import { PROJECT_ROOT } from "../support/tree.ts";
import { vouchedPins } from "../support/vouching.ts";
import type { GivenBridges, Shown } from "./bridges-page.ts";

/** So many each, at once. */
const EACH = 3;
type From = Parameters<Window["bridging"]["take"]>[0];

describe("bridge addresses in a browser", function () {
  let service: TestService;
  let browser: TestBrowser;
  let shop: PageOrigin;
  let given: GivenBridges;
  let seed = 60;

  before(async function () {
    requireBrowser(this);
    const { outputFiles } = await build({
      entryPoints: [`${PROJECT_ROOT}/test/browser/bridges-page.ts`],
      ...{ bundle: true, platform: "browser", format: "esm", target: "es2022", write: false },
    });
    shop = await startPageOrigin(outputFiles[0]!.contents);
    browser = await startBrowser();
    await browser.pages.exposeFunction("sessionToken", () => {
      service.goodTokens.add("sst_bridges");
      return "sst_bridges";
    });
  });
  after(async () => {
    await (browser as TestBrowser | undefined)?.close();
    await (shop as PageOrigin | undefined)?.close();
  });

  beforeEach(async () => {
    service = new TestService();
    service.features.bridges = true;
    service.origins.add(shop.url);
    const baseUrl = await service.listen();
    shop.policy = strictPolicy(baseUrl);
    const pins = { chainId: CHAIN_ID, pool: POOL, assets: [USDC], addressPrefix: PREFIX };
    given = {
      ...{ baseUrl, seed: Array.from({ length: 32 }, () => seed) },
      pins: { ...pins, enclaves: vouchedPins(), bridges: BRIDGE_PINS },
    };
    const accounts = new Map<string, string>();
    for (let index = 0; index < 2 * EACH; index++) {
      const owner = depositKey(index);
      accounts.set(owner, await tokenAccountOf(parseAltchainAddress(owner), parseAltchainAddress(MINT)));
    }
    service.bridges.tokenAccount = (owner) => accounts.get(owner) ?? assert.fail("a key beyond the numbers");
  });
  afterEach(async () => {
    // A wallet of its own for each test: another key does not open this one's storage.
    const page = browser.pages.pages().at(-1)!;
    await page.goto("about:blank");
    for (const other of browser.pages.pages().slice(1)) await other.close();
    await service.close();
    await forget();
    seed += 1;
  });

  const depositKey = (index: number): string =>
    new DepositKey(SpendingKey.fromSeed(new Uint8Array(32).fill(seed)), index).text;

  async function forget(): Promise<void> {
    const page = await browser.pages.newPage();
    await page.goto(shop.url);
    await page.evaluate(
      () =>
        new Promise<void>((resolve, reject) => {
          const forgetting = indexedDB.deleteDatabase("cloister");
          forgetting.onsuccess = () => resolve();
          forgetting.onerror = () => reject(new Error("the database stays"));
        }),
    );
    await page.close();
  }

  async function tab(): Promise<Page> {
    const page = await browser.pages.newPage();
    await page.goto(shop.url);
    await page.waitForFunction(() => "bridging" in window);
    await page.evaluate((input) => window.bridging.open(input), given);
    return page;
  }
  const take = (page: Page, from: From): Promise<Shown> =>
    page.evaluate((name) => window.bridging.take(name), from);
  const shown = (one: Shown): Exclude<Shown, { code: string }> =>
    "code" in one ? assert.fail(one.code) : one;

  it("computes and shows an address under the strict policy, from an origin that is not the service's", async () => {
    const page = await tab();
    assert.notEqual(new URL(given.baseUrl).origin, new URL(shop.url).origin);
    const home = shown(await take(page, "fromExchange"));
    const [deal] = [...service.bridges.deals.values()];
    assert.equal(home.address, deal?.answer.address);
    const foreign = shown(await take(page, "fromOtherBlockchain"));
    assert.equal(foreign.address, depositKey(0));
    assert.equal(foreign.tokenAccount, service.bridges.tokenAccount(depositKey(0)));
    assert.deepEqual(await page.evaluate(() => window.bridging.violations()), []);
  });

  it("shows nothing where the service names another address, in each of the places", async () => {
    const page = await tab();
    const other = checksumAddress(OTHER);
    service.bridges.bend = (answer) => ({ ...answer, address: other });
    assert.deepEqual(await take(page, "fromExchange"), { code: "BRIDGE_ADDRESS_MISMATCH" });
    service.bridges.bend = (answer) => ({ ...answer, source: { ...answer.source!, address: other } });
    assert.deepEqual(await take(page, "fromExchange"), { code: "BRIDGE_ADDRESS_MISMATCH" });
    service.bridges.bend = (answer) => ({
      ...answer,
      altchain: { ...answer.altchain!, token_account: MINT },
    });
    assert.deepEqual(await take(page, "fromOtherBlockchain"), { code: "BRIDGE_ADDRESS_MISMATCH" });
    assert.ok(!(await page.content()).includes(other));
  });

  it("two tabs that take addresses at once take no one-time key twice, and lose none", async () => {
    const tabs = [await tab(), await tab()];
    const taking = (page: Page) =>
      page.evaluate(
        (count) =>
          Promise.all(Array.from({ length: count }, () => window.bridging.take("fromOtherBlockchain"))),
        EACH,
      );
    const taken = (await Promise.all(tabs.map(taking))).flat().map(shown);
    const expected = Array.from({ length: 2 * EACH }, (_, index) => depositKey(index)).sort();
    assert.deepEqual(taken.map(({ address }) => address).sort(), expected, "each number once, without a gap");
    assert.equal(new Set(taken.map(({ refundAddress }) => refundAddress)).size, 2 * EACH);
    const third = await tab();
    const addresses = taken.map(({ address }) => address).sort();
    for (const page of [...tabs, third])
      assert.deepEqual((await page.evaluate(() => window.bridging.list())).sort(), addresses);
    for (const { address, refundAddress } of taken) {
      const account = await third.evaluate((one) => window.bridging.refundAccount(one), address);
      assert.equal(account, refundAddress.toLowerCase());
    }
  });
});
