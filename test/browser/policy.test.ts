// Content security policies in a real browser: the client library proves under a strict one, on an origin of its
// own, and says which directive is missing under a stricter one.
import { build } from "esbuild";
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
import { startPageOrigin, strictPolicy, type PageFile, type PageOrigin } from "../support/page-origin.ts";
import { PROJECT_ROOT } from "../support/tree.ts";
import { vouchedPins } from "../support/vouching.ts";

const DEPOSITED = String(10_000_000n - FLAT_FEE);
/** A refusal that waits for a clock of this length leaves the user before a page that seems to hang. */
const LONG_CLOCK_MS = 5_000;

type Outcome = Awaited<ReturnType<Window["underPolicy"]["deposit"]>>;

describe("content security policy in a browser", function () {
  this.timeout(300_000);
  let project: FreshProject;
  let service: TestService;
  let browser: TestBrowser;
  let serviceUrl: string;
  let shop: PageOrigin;
  let worker: PageFile;

  before(async function () {
    requireBrowser(this);
    project = await freshProject();
    service = new TestService();
    serviceUrl = await service.listen();
    const { outputFiles } = await build({
      entryPoints: [`${PROJECT_ROOT}/test/browser/policy-page.ts`],
      bundle: true,
      splitting: true,
      outdir: "/",
      platform: "browser",
      format: "esm",
      target: "es2022",
      write: false,
      // The installed package, as an application gets it.
      plugins: [
        {
          name: "packaged client",
          setup({ onResolve, resolve }) {
            onResolve({ filter: /\/shared\/client\/index\.ts$/ }, () =>
              resolve("cloister-client", { kind: "import-statement", resolveDir: project.folder }),
            );
          },
        },
      ],
    });
    const pieces = new Map(outputFiles.map(({ path: file, contents }) => [file, contents]));
    shop = await startPageOrigin(pieces.get("/policy-page.js")!);
    service.origins.add(shop.url);
    for (const [file, body] of pieces) shop.files.set(file, { type: "text/javascript", body });
    worker = { type: "text/javascript", body: await readFile(project.worker) };
    // Where an application that names it may have put it.
    shop.files.set("/static/prover.js", worker);
    for (const kind of ["deposit-shield", "spend"] as const) {
      const { zkey, wasm } = await folderArtefacts(DEVELOPMENT_KEYS)(kind);
      shop.files.set(`/artefacts/${kind}.zkey`, { type: "application/octet-stream", body: zkey });
      shop.files.set(`/artefacts/${kind}.wasm`, { type: "application/wasm", body: wasm });
    }
    browser = await startBrowser();
  });
  after(async () => {
    await (browser as TestBrowser | undefined)?.close();
    await (shop as PageOrigin | undefined)?.close();
    await (service as TestService | undefined)?.close();
    await (project as FreshProject | undefined)?.remove();
    // The service verified proofs in this process; its worker threads would keep the process alive.
    await (await curves.getCurveFromName("bn128")).terminate();
  });
  beforeEach(() => {
    // Where the bundle looks for it.
    shop.files.set("/dist/worker.js", worker);
    shop.policy = strict();
  });

  const strict = (changed: Readonly<Record<string, string>> = {}): string =>
    strictPolicy(serviceUrl, changed);

  const depositor = EthereumWallet.createRandom();
  const given = async (named?: string) => ({
    service: serviceUrl,
    manifest: await readManifest(DEVELOPMENT_KEYS),
    depositor: depositor.address,
    pins: { chainId: CHAIN_ID, pool: POOL, assets: [USDC], addressPrefix: PREFIX, enclaves: vouchedPins() },
    ...(named === undefined ? {} : { worker: named }),
  });

  async function onPage<T>(use: (page: Page) => Promise<T>): Promise<T> {
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
    try {
      await page.goto(shop.url);
      await page.waitForFunction(() => "underPolicy" in window);
      const result = await use(page);
      assert.deepEqual(faults, []);
      return result;
    } finally {
      await page.close();
    }
  }
  const deposit = (worker?: string): Promise<{ outcome: Outcome; violations: readonly string[] }> =>
    onPage(async (page) => ({
      outcome: await page.evaluate((input) => window.underPolicy.deposit(input), await given(worker)),
      violations: await page.evaluate(() => window.underPolicy.violations()),
    }));

  async function refusal(code: string, words: RegExp, worker?: string): Promise<void> {
    const { outcome } = await deposit(worker);
    assert.ok("code" in outcome, JSON.stringify(outcome));
    assert.equal(outcome.code, code);
    assert.match(outcome.message, words);
    assert.ok(outcome.ranOutMs < LONG_CLOCK_MS, `a clock of ${String(outcome.ranOutMs)} ms ran out`);
  }

  it("deposits with a real proof under the policy that the README names, and violates nothing", async () => {
    const { outcome, violations } = await deposit();
    assert.ok("total" in outcome, JSON.stringify(outcome));
    assert.equal(outcome.total, DEPOSITED);
    assert.deepEqual(violations, []);
  });

  it("proves with a worker that the application put elsewhere and names", async () => {
    shop.policy = strict({ "worker-src": `${shop.url}/static/prover.js` });
    const { outcome } = await deposit("/static/prover.js");
    assert.ok("total" in outcome, JSON.stringify(outcome));
    assert.equal(outcome.total, DEPOSITED);
  });

  it("says that worker-src is missing", async () => {
    shop.policy = strict({ "worker-src": "'none'" });
    await refusal("WORKER_FORBIDDEN", /worker-src/);
  });

  it("says that worker-src is missing where the worker's own file came with a stricter policy", async () => {
    shop.files.set("/dist/worker.js", { ...worker, policy: strict({ "worker-src": "'none'" }) });
    await refusal("WORKER_FORBIDDEN", /worker-src/);
  });

  it("says that wasm-unsafe-eval is missing", async () => {
    shop.policy = strict({ "script-src": "'self'" });
    await refusal("WASM_FORBIDDEN", /script-src.*wasm-unsafe-eval/);
  });

  it("needs no wasm-unsafe-eval on the page itself, only on the worker's file", async () => {
    shop.files.set("/dist/worker.js", { ...worker, policy: strict() });
    shop.policy = strict({ "script-src": "'self'" });
    const { outcome } = await deposit();
    assert.ok("total" in outcome, JSON.stringify(outcome));
  });

  it("names the address of a worker's file that is not there, or is no worker", async () => {
    await refusal("WORKER_UNAVAILABLE", /no-such-file\.js/, "/no-such-file.js");
    await refusal("WORKER_UNAVAILABLE", /elsewhere\.example/, "https://elsewhere.example/worker.js");
  });
});
