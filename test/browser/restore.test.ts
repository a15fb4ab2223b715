// A wallet that is restored from its seed in a real browser: the history in chunks across origins, read in workers; in the
// page's own thread where its policy lets no worker start; and never a second time.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { build } from "esbuild";
import type { Page } from "playwright-core";
import { vouchedPins } from "../support/vouching.ts";
import { ASSET } from "../support/made-history.ts";
import { requireBrowser, startBrowser, type TestBrowser } from "../support/chromium.ts";
import { startPageOrigin, strictPolicy, type PageOrigin } from "../support/page-origin.ts";
import { PROJECT_ROOT } from "../support/tree.ts";
import { PREFIX } from "../contract/client/checks.ts";
import { CONFIRMATIONS, HistoryStage } from "../contract/client/history-stage.ts";
import { CHAIN_ID, POOL } from "../support/edge.ts";
import type { Given, Restored } from "./restore-page.ts";

const CHUNK_OUTPUTS = 4_096;
/** More outputs than a page reads without workers, and some that are in no chunk yet. */
const STATEMENTS = 5_200;

describe("a wallet restored in a browser", function () {
  let stage: HistoryStage;
  let browser: TestBrowser;
  let shop: PageOrigin;
  let given: Omit<Given, "storage">;

  before(async function () {
    requireBrowser(this);
    const { outputFiles } = await build({
      entryPoints: [`${PROJECT_ROOT}/test/browser/restore-page.ts`],
      ...{ bundle: true, platform: "browser", format: "esm", target: "es2022", write: false },
    });
    shop = await startPageOrigin(outputFiles[0]!.contents);
    const worker = await readFile(`${PROJECT_ROOT}/shared/client/dist/worker.js`);
    shop.files.set("/dist/worker.js", { type: "text/javascript", body: worker });
    stage = await HistoryStage.start({ chunkOutputs: CHUNK_OUTPUTS, origins: [shop.url] });
    const { made } = stage;
    made.statement([stage.mine(10n), undefined]);
    made.strangers(STATEMENTS / 2, 64);
    made.statement([undefined, stage.mine(20n)]);
    made.strangers(STATEMENTS / 2, 64);
    made.statement([stage.mine(30n), undefined]);
    made.root();
    made.mine();
    made.pass(CONFIRMATIONS);
    await stage.tell();
    given = {
      ...{ service: stage.url, session: await stage.session(), seed: [...stage.seed] },
      pins: {
        ...{ chainId: CHAIN_ID, pool: POOL, assets: [ASSET], addressPrefix: PREFIX },
        enclaves: vouchedPins(),
      },
    };
    browser = await startBrowser();
  });
  after(async () => {
    await (browser as TestBrowser | undefined)?.close();
    await (shop as PageOrigin | undefined)?.close();
    await (stage as HistoryStage | undefined)?.stop();
  });

  async function opened(): Promise<Page> {
    const page = await browser.pages.newPage();
    await page.goto(shop.url);
    await page.waitForFunction(() => "restore" in window);
    return page;
  }
  const restored = (page: Page, storage: string): Promise<Restored> =>
    page.evaluate((input) => window.restore(input), { ...given, storage });

  function assertWhole({ values, fractions, asked }: Restored): void {
    assert.deepEqual(values, ["10", "20", "30"]);
    const chunks = stage.history.list().entries.length;
    assert.equal(chunks, 5);
    assert.deepEqual(
      fractions,
      Array.from({ length: chunks }, (_, i) => (i + 1) / chunks),
    );
    assert.ok(asked.includes("/history/chunks"));
  }

  it("is read in workers, and the page's thread agrees on no key of the chunks", async () => {
    const page = await opened();
    const first = await restored(page, "in-workers");
    assertWhole(first);
    assert.ok(first.workers >= 1, String(first.workers));
    // What is behind the chunks comes by the stream.
    assert.ok(first.agreements <= 2 * (STATEMENTS + 3 - (5 * CHUNK_OUTPUTS) / 4), String(first.agreements));

    await page.reload();
    await page.waitForFunction(() => "restore" in window);
    const again = await restored(page, "in-workers");
    assert.deepEqual(again.values, first.values);
    assert.deepEqual(
      again.asked.filter((path) => path.startsWith("/history")),
      [],
    );
    assert.equal(again.workers, 0);
    await page.close();
  });

  it("is read in the page's own thread where the policy forbids the worker", async () => {
    const usual = shop.policy;
    shop.policy = strictPolicy(stage.url, { "worker-src": "'none'" });
    try {
      const page = await opened();
      const alone = await restored(page, "without-workers");
      assertWhole(alone);
      assert.ok(alone.agreements > STATEMENTS, String(alone.agreements));
      await page.close();
    } finally {
      shop.policy = usual;
    }
  });
});
