// The table of a developer's mistakes, played by a page in a real browser, on an origin of its own.
import assert from "node:assert/strict";
import { build } from "esbuild";
import type { Page } from "playwright-core";
import { LONGEST_CLOCK_MS, MISTAKES } from "../contract/client/mistakes.ts";
import { setStage, type MistakesStage } from "../contract/client/mistakes-stage.ts";
import { requireBrowser, startBrowser, type TestBrowser } from "../support/chromium.ts";
import { startPageOrigin, type PageOrigin } from "../support/page-origin.ts";
import { PROJECT_ROOT } from "../support/tree.ts";

describe("a developer's mistakes in a browser", () => {
  let held: MistakesStage;
  let browser: TestBrowser;
  let shop: PageOrigin;
  let page: Page;
  const faults: string[] = [];

  before(async function () {
    requireBrowser(this);
    const { outputFiles } = await build({
      entryPoints: [`${PROJECT_ROOT}/test/browser/mistakes-page.ts`],
      ...{ bundle: true, platform: "browser", format: "esm", target: "es2022", write: false },
    });
    shop = await startPageOrigin(outputFiles[0]!.contents);
    held = await setStage();
    held.service.origins.add(shop.url);
    browser = await startBrowser();
    page = await browser.pages.newPage();
    page.on("pageerror", (error) => faults.push(String(error)));
    await page.goto(shop.url);
    await page.waitForFunction(() => "playMistake" in window);
  });
  after(async () => {
    await (browser as TestBrowser | undefined)?.close();
    await (held as MistakesStage | undefined)?.close();
    await (shop as PageOrigin | undefined)?.close();
  });

  for (const [at, { name, code, says, pausesMs = 0 }] of MISTAKES.entries()) {
    it(`${name}: ${code}`, async () => {
      const played = await page.evaluate(([index, stage]) => window.playMistake(index, stage), [
        at,
        held.stage,
      ] as const);
      assert.equal(played.code, code, played.message);
      assert.ok(played.isOurs, "an error of this library");
      assert.match(played.message, says);
      assert.doesNotMatch(played.message, /hidden|sst_[a-z]/, "nothing secret");
      assert.ok(played.pausedMs <= pausesMs, `${played.pausedMs} ms of pauses`);
      assert.ok(played.ranOutMs < LONGEST_CLOCK_MS, `a clock of ${played.ranOutMs} ms ran out`);
    });
  }

  it("leave nothing behind that nobody caught", () => assert.deepEqual(faults, []));
});
