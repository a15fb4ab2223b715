// A real browser: Debian's chromium through playwright-core. Deposits and pays with proofs made in the page, which
// stands on an origin of its own: the service is on another, and the browser asks it for leave like any service.
import { build, type Plugin } from "esbuild";
import { Wallet as EthereumWallet } from "ethers";
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import type { Page } from "playwright-core";
import { curves } from "snarkjs";
import { DEVELOPMENT_KEYS } from "../../shared/client/node/development.ts";
import { folderArtefacts, readManifest } from "../../shared/client/node/index.ts";
import { CHAIN_ID, POOL, USDC } from "../contract/client/chain.ts";
import { FLAT_FEE, PREFIX } from "../contract/client/checks.ts";
import { TestService } from "../contract/client/service.ts";
import { requireBrowser, startBrowser, type TestBrowser } from "../support/chromium.ts";
import { freshProject, type FreshProject } from "../support/fresh-project.ts";
import { startPageOrigin, type PageOrigin } from "../support/page-origin.ts";
import { vouchedPins } from "../support/vouching.ts";
import { PROJECT_ROOT } from "../support/tree.ts";

/** The client library that the page imports is the installed package. */
function packaged({ folder }: FreshProject): Plugin {
  return {
    name: "packaged client",
    setup({ onResolve, resolve }) {
      onResolve({ filter: /\/shared\/client\/index\.ts$/ }, () =>
        resolve("cloister-client", { kind: "import-statement", resolveDir: folder }),
      );
    },
  };
}

describe("wallet in a browser", function () {
  this.timeout(300_000);
  let project: FreshProject;
  let service: TestService;
  let browser: TestBrowser;
  let baseUrl: string;
  let shop: PageOrigin;
  let stranger: PageOrigin;

  before(async function () {
    requireBrowser(this);
    project = await freshProject();
    service = new TestService();
    baseUrl = await service.listen();
    const { outputFiles, metafile } = await build({
      entryPoints: [`${PROJECT_ROOT}/test/browser/page.ts`],
      bundle: true,
      platform: "browser",
      format: "esm",
      target: "es2022",
      write: false,
      metafile: true,
      plugins: [packaged(project)],
    });
    assert.deepEqual(
      Object.keys(metafile.inputs).filter((file) => /(^|\/)shared\/client\//.test(file)),
      [],
      "the page has the package's code, not this checkout's",
    );
    const script = outputFiles[0]!.contents;
    [shop, stranger] = [await startPageOrigin(script), await startPageOrigin(script)];
    service.origins.add(shop.url);
    for (const kind of ["deposit-shield", "spend"] as const) {
      const { zkey, wasm } = await folderArtefacts(DEVELOPMENT_KEYS)(kind);
      shop.files.set(`/artefacts/${kind}.zkey`, { type: "application/octet-stream", body: zkey });
      shop.files.set(`/artefacts/${kind}.wasm`, { type: "application/wasm", body: wasm });
    }
    shop.files.set("/dist/worker.js", { type: "text/javascript", body: await readFile(project.worker) });
    browser = await startBrowser();
  });
  after(async () => {
    await (browser as TestBrowser | undefined)?.close();
    await (service as TestService | undefined)?.close();
    for (const origin of [shop, stranger]) await (origin as PageOrigin | undefined)?.close();
    await (project as FreshProject | undefined)?.remove();
    // The service verified proofs in this process; its worker threads would keep the process alive.
    await (await curves.getCurveFromName("bn128")).terminate();
  });

  const depositor = EthereumWallet.createRandom();
  const given = async () => ({
    service: baseUrl,
    manifest: await readManifest(DEVELOPMENT_KEYS),
    seed: Array.from({ length: 32 }, () => 5),
    depositor: depositor.address,
    pins: { chainId: CHAIN_ID, pool: POOL, assets: [USDC], addressPrefix: PREFIX, enclaves: vouchedPins() },
  });

  async function pageOf(origin: PageOrigin): Promise<{ page: Page; faults: string[] }> {
    const page = await browser.pages.newPage();
    const faults: string[] = [];
    page.on("pageerror", (error) => faults.push(String(error)));
    await page.exposeFunction("sessionToken", () => {
      service.goodTokens.add("sst_browser");
      return "sst_browser";
    });
    await page.exposeFunction("signTypedData", (payload: string) => {
      const { domain, types, message } = JSON.parse(payload);
      delete types.EIP712Domain;
      return depositor.signTypedData(domain, types, message);
    });
    await page.goto(origin.url);
    await page.waitForFunction(() => "cloister" in window);
    return { page, faults };
  }

  it("deposits and pays with real proofs, a session token and no API key, and remembers after a reload", async () => {
    const { page, faults } = await pageOf(shop);
    const done = await page.evaluate((input) => window.cloister.depositAndPay(input), await given());
    assert.deepEqual(done.states, ["confirmed", "confirmed"]);
    assert.equal(done.total, String(10_000_000n - 2n * FLAT_FEE));
    assert.equal(done.steps.filter((step) => step === "prove").length, 2);

    await page.reload();
    await page.waitForFunction(() => "cloister" in window);
    assert.equal(await page.evaluate((input) => window.cloister.stored(input), await given()), done.total);

    assert.deepEqual(faults, []);
    assert.ok(service.requests.length > 0);
    for (const { headers, url } of service.requests) {
      assert.equal(headers["x-api-key"], undefined);
      assert.equal(headers.origin, shop.url, url);
    }
  });

  it("follows the stream from its own origin; from one that is not registered it says so after a few tries", async () => {
    const own = await pageOf(shop);
    assert.equal(
      (await own.page.evaluate((input) => window.cloister.sync(input), await given())).outcome,
      "done",
    );
    const other = await pageOf(stranger);
    const refused = await other.page.evaluate((input) => window.cloister.sync(input), await given());
    assert.equal(refused.outcome, "NETWORK");
    assert.ok(refused.waitedMs < 4_000, `waited for ${refused.waitedMs} ms`);
    assert.ok(refused.message.includes(`${baseUrl}/history`), refused.message);
    assert.ok(
      refused.message.includes(`operator developers origins ID --origin ${stranger.url}`),
      refused.message,
    );
    assert.doesNotMatch(refused.message, /sst_/);
  });
});
