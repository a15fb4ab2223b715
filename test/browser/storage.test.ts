// A wallet's parts in IndexedDB: a tab that is closed in the middle of a save leaves the save before it or all of its own.
import { build } from "esbuild";
import assert from "node:assert/strict";
import { requireBrowser, startBrowser, type TestBrowser } from "../support/chromium.ts";
import { startPageOrigin, type PageOrigin } from "../support/page-origin.ts";
import { PROJECT_ROOT } from "../support/tree.ts";
import type {} from "./storage-page.ts";

describe("parts of a wallet in IndexedDB", function () {
  let browser: TestBrowser;
  let origin: PageOrigin;

  before(async function () {
    requireBrowser(this);
    const { outputFiles } = await build({
      entryPoints: [`${PROJECT_ROOT}/test/browser/storage-page.ts`],
      ...{ bundle: true, platform: "browser", format: "esm", target: "es2022", write: false },
    });
    origin = await startPageOrigin(outputFiles[0]!.contents);
    browser = await startBrowser();
  });
  after(async () => {
    await (browser as TestBrowser | undefined)?.close();
    await (origin as PageOrigin | undefined)?.close();
  });

  async function tab() {
    const page = await browser.pages.newPage();
    await page.goto(origin.url);
    await page.waitForFunction(() => "storage" in window);
    return page;
  }

  it("closed at any moment of a save, what is there is one whole save, in as many tabs as save", async () => {
    const watching = await tab();
    let before = 0;
    for (let closed = 0; closed < 8; closed++) {
      const tabs = [await tab(), await tab()];
      for (const page of tabs) void page.evaluate(() => window.storage.saveOn()).catch(() => undefined);
      for (const page of tabs) await page.waitForFunction(() => window.storage.rounds > 1);
      for (const page of tabs) await page.close();
      const round = await watching.evaluate(() => window.storage.check());
      assert.ok(typeof round === "number" && round > before, `${String(round)} after ${String(before)}`);
      before = round;
    }
    assert.equal(await watching.evaluate(() => window.storage.stale()), true);
  });
});
