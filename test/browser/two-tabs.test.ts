// Two tabs of one browser on one IndexedDB, their page on an origin other than the service's: what one tab has
// promised the other does not pick, and a tab that is closed while it proves binds nothing.
import { build } from "esbuild";
import assert from "node:assert/strict";
import type { Page } from "playwright-core";
import { CHAIN_ID, POOL, USDC } from "../contract/client/chain.ts";
import { FLAT_FEE, PREFIX } from "../contract/client/checks.ts";
import { TestService } from "../contract/client/service.ts";
import { give } from "../contract/client/stand-in.ts";
import { requireBrowser, startBrowser, type TestBrowser } from "../support/chromium.ts";
import { startPageOrigin, type PageOrigin } from "../support/page-origin.ts";
import { PROJECT_ROOT } from "../support/tree.ts";
import { vouchedPins } from "../support/vouching.ts";
import type { GivenTab } from "./two-tabs-page.ts";

const HELD = 10_000_000n;

describe("two tabs of one wallet", function () {
  let service: TestService;
  let browser: TestBrowser;
  let shop: PageOrigin;
  let baseUrl: string;
  let seed = 20;

  before(async function () {
    requireBrowser(this);
    const { outputFiles } = await build({
      entryPoints: [`${PROJECT_ROOT}/test/browser/two-tabs-page.ts`],
      ...{ bundle: true, platform: "browser", format: "esm", target: "es2022", write: false },
    });
    shop = await startPageOrigin(outputFiles[0]!.contents);
    browser = await startBrowser();
    await browser.pages.exposeFunction("sessionToken", () => {
      service.goodTokens.add("sst_tabs");
      return "sst_tabs";
    });
  });
  after(async () => {
    await (browser as TestBrowser | undefined)?.close();
    await (shop as PageOrigin | undefined)?.close();
  });

  /** A wallet of its own for each test, since all of them share the browser's database. */
  let given: GivenTab;
  beforeEach(async () => {
    service = new TestService();
    service.verifiesProofs = false;
    service.origins.add(shop.url);
    baseUrl = await service.listen();
    given = {
      baseUrl,
      seed: Array.from({ length: 32 }, () => seed),
      pins: { chainId: CHAIN_ID, pool: POOL, assets: [USDC], addressPrefix: PREFIX, enclaves: vouchedPins() },
    };
    seed += 1;
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
    const first = await tab();
    give(service, await first.evaluate((input) => window.tab.open(input), given), USDC, [HELD]);
    await first.evaluate(() => window.tab.sync());
    await first.close();
  });
  afterEach(async () => {
    for (const page of browser.pages.pages().slice(1)) await page.close();
    await service.close();
  });

  async function tab(): Promise<Page> {
    const page = await browser.pages.newPage();
    await page.goto(shop.url);
    await page.waitForFunction(() => "tab" in window);
    await page.evaluate((input) => window.tab.open(input), given);
    return page;
  }
  const balance = (page: Page): Promise<{ spendable: string; inFlight: string }> =>
    page.evaluate(() => window.tab.balance());
  const pay = (page: Page, amount: bigint, until?: "queued"): Promise<string> =>
    page.evaluate(([text, how]) => window.tab.pay(text, how), [String(amount), until] as const);
  const proving = (page: Page): Promise<unknown> => page.waitForFunction(() => window.tab.proving() === 1);
  const sequenced = (): number =>
    service.requests.filter(({ method, url }) => method === "POST" && url === "/sequence/spend").length;

  it("a tab that is closed while it proves leaves the whole balance to the next, at once", async () => {
    const closing = await tab();
    await closing.evaluate(() => {
      window.tab.hold();
      void window.tab.pay("1000000");
    });
    await proving(closing);
    assert.deepEqual(await balance(closing), { spendable: "0", inFlight: String(HELD) });
    await closing.close();

    const again = await tab();
    assert.deepEqual(await balance(again), { spendable: String(HELD), inFlight: "0" });
    assert.equal(await pay(again, 9_000_000n), "confirmed");
    assert.equal(sequenced(), 1);
  });

  it("two that pay at once both succeed, and the next finds nothing unresolved", async () => {
    const tabs = [await tab(), await tab()];
    for (const page of tabs) await page.evaluate(() => window.tab.hold());
    const paying = Promise.all(tabs.map((page) => pay(page, 1_000_000n)));
    for (const page of tabs) await proving(page);
    for (const page of tabs) await page.evaluate(() => window.tab.release());
    assert.deepEqual(await paying, ["confirmed", "confirmed"]);
    assert.equal(sequenced(), 2, "the service refused none");
    const third = await tab();
    assert.equal(await pay(third, HELD - 3n * FLAT_FEE), "confirmed");
  });

  it("a tab that sends and dies is known to the others, and a stale one does not save over its promise", async () => {
    service.automine = false;
    const stale = await tab();
    const dying = await tab();
    assert.equal(await pay(dying, 1_000_000n, "queued"), "queued");
    await dying.close();
    assert.deepEqual(await balance(stale), { spendable: String(HELD), inFlight: "0" });
    await stale.evaluate(() => window.tab.sync());
    for (const page of [stale, await tab()])
      assert.deepEqual(await balance(page), { spendable: "0", inFlight: String(HELD) });
  });

  it("opens what was saved before a save had a version, and saves over it once", async () => {
    const old = await browser.pages.newPage();
    await old.goto(shop.url);
    await old.evaluate(
      () =>
        new Promise<void>((resolve, reject) => {
          const opening = indexedDB.open("cloister", 1);
          opening.onerror = () => reject(new Error("it does not open"));
          opening.onsuccess = () => {
            const change = opening.result.transaction("wallets", "readwrite");
            const store = change.objectStore("wallets");
            const reading = store.get("wallet");
            reading.onsuccess = () => store.put((reading.result as { bytes: Uint8Array }).bytes, "wallet");
            change.oncomplete = () => {
              opening.result.close();
              resolve();
            };
          };
        }),
    );
    const [one, two] = [await tab(), await tab()];
    assert.deepEqual(await balance(one), { spendable: String(HELD), inFlight: "0" });
    service.automine = false;
    assert.equal(await pay(one, 1_000_000n, "queued"), "queued");
    await two.evaluate(() => window.tab.sync());
    assert.deepEqual(await balance(two), { spendable: "0", inFlight: String(HELD) });
  });
});
