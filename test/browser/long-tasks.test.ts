// A wallet with some thousand outputs of others, in a real browser: the page's thread is given back all the while. No
// length of a task is held here, since a busy machine makes any task long: the figures are printed, and
// test/bench/pages.md has them.
import { build } from "esbuild";
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import type { Page } from "playwright-core";
import { curves } from "snarkjs";
import { DEVELOPMENT_KEYS } from "../../shared/client/node/development.ts";
import { folderArtefacts, readManifest } from "../../shared/client/node/index.ts";
import { nobody, OutputSealer } from "../../shared/notes/encryption.ts";
import { newPhrase } from "../../shared/notes/keys.ts";
import { noteCommitment } from "../../shared/notes/note.ts";
import { toHex } from "../../shared/protocol/bytes.ts";
import { CHAIN_ID, hex, POOL, USDC } from "../contract/client/chain.ts";
import { FLAT_FEE, PREFIX } from "../contract/client/checks.ts";
import { TestService } from "../contract/client/service.ts";
import { give } from "../contract/client/stand-in.ts";
import { requireBrowser, startBrowser, type TestBrowser } from "../support/chromium.ts";
import { startPageOrigin, type PageOrigin } from "../support/page-origin.ts";
import { longestTask } from "../support/task-times.ts";
import { PROJECT_ROOT } from "../support/tree.ts";
import { vouchedPins } from "../support/vouching.ts";
import type { Given, Step } from "./long-tasks-page.ts";

const OUTPUTS = Number(process.env["CLOISTER_LONG_TASKS_OUTPUTS"] ?? "2000");
const HELD = 10_000_000n;

describe("the page's thread while a wallet works", function () {
  this.timeout(300_000);
  let service: TestService;
  let browser: TestBrowser;
  let shop: PageOrigin;
  let given: Given;
  let page: Page;

  before(async function () {
    requireBrowser(this);
    service = new TestService();
    const { outputFiles } = await build({
      entryPoints: [`${PROJECT_ROOT}/test/browser/long-tasks-page.ts`],
      ...{ bundle: true, platform: "browser", format: "esm", target: "es2022", write: false },
    });
    shop = await startPageOrigin(outputFiles[0]!.contents);
    service.origins.add(shop.url);
    const { zkey, wasm } = await folderArtefacts(DEVELOPMENT_KEYS)("spend");
    shop.files.set("/artefacts/spend.zkey", { type: "application/octet-stream", body: zkey });
    shop.files.set("/artefacts/spend.wasm", { type: "application/wasm", body: wasm });
    const worker = await readFile(`${PROJECT_ROOT}/shared/client/dist/worker.js`);
    shop.files.set("/dist/worker.js", { type: "text/javascript", body: worker });
    given = {
      service: await service.listen(),
      manifest: await readManifest(DEVELOPMENT_KEYS),
      phrase: newPhrase(),
      pins: { chainId: CHAIN_ID, pool: POOL, assets: [USDC], addressPrefix: PREFIX, enclaves: vouchedPins() },
    };
    browser = await startBrowser();
    await browser.pages.exposeFunction("sessionToken", () => {
      service.goodTokens.add("sst_long");
      return "sst_long";
    });
    page = browser.pages.pages()[0]!;
    await ready();
  });
  after(async () => {
    await (browser as TestBrowser | undefined)?.close();
    await (shop as PageOrigin | undefined)?.close();
    await (service as TestService | undefined)?.close();
    // The service verified proofs in this process; its worker threads would keep the process alive.
    await (await curves.getCurveFromName("bn128")).terminate();
  });

  async function ready(): Promise<void> {
    await page.goto(shop.url);
    await page.waitForFunction(() => "longTasks" in window);
  }

  async function measured(what: string, work: () => Promise<Step>): Promise<Step> {
    let step: Step | undefined;
    const cpuMs = await longestTask(page, async () => (step = await work()));
    const { longestTaskMs, ms, yields } = step!;
    console.log(
      `      ${what}: longest_task_ms ${cpuMs.toFixed(0)} of the processor, ${longestTaskMs} elapsed; ` +
        `${ms.toFixed(0)} ms, given back ${yields} times`,
    );
    return step!;
  }

  it("derives once and never there, and gives it back while it scans, loads a key, proves, and opens again", async () => {
    const open = (): Promise<Step> => page.evaluate((input) => window.longTasks.open(input), given);
    const first = await measured("opening a new wallet", open);
    assert.equal(first.derivations, 1);

    strangers(service, OUTPUTS);
    give(service, await page.evaluate(() => window.longTasks.address()), USDC, [HELD]);
    const scan = await measured(`scanning ${OUTPUTS} outputs`, () =>
      page.evaluate(() => window.longTasks.scan()),
    );
    assert.equal(await page.evaluate(() => window.longTasks.total()), String(HELD));
    // Each is a multiplication on a curve: ten pieces are too few for any machine of today.
    assert.ok(scan.yields >= OUTPUTS / 200, `${scan.yields} times`);

    await measured("loading a key", () => page.evaluate(() => window.longTasks.loadKey()));
    await measured("paying", () => page.evaluate(() => window.longTasks.pay()));
    const total = String(HELD - FLAT_FEE);
    assert.equal(await page.evaluate(() => window.longTasks.total()), total);

    await page.evaluate(() => window.longTasks.close());
    await ready();
    const again = await measured("opening a stored wallet", open);
    assert.equal(again.derivations, 1);
    assert.equal(await page.evaluate(() => window.longTasks.total()), total);
  });
});

/** Notes of nobody, two to a transaction. */
function strangers(service: TestService, count: number): void {
  const leaves: Record<string, unknown>[] = [];
  while (leaves.length < count) {
    const [sealer, to] = [new OutputSealer(), nobody()];
    for (const output of [0, 1]) {
      const note = sealer.seal(to, USDC, 1n);
      const told = { ephemeral_key: toHex(sealer.ephemeralKey), output };
      const ciphertext = toHex(sealer.ciphertexts[output]!);
      leaves.push({ commitment: hex(noteCommitment(to.owner, note)), ...told, ciphertext });
    }
  }
  service.chain.addLeaves(leaves);
}
