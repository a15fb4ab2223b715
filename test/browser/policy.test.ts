// Content security policies in a real browser: the client library proves under a strict one, on an origin of its
// own, and says which directive is missing under a stricter one.
import { build } from "esbuild";
import { Wallet as EthereumWallet } from "ethers";
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { createServer, request as forward, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { Page } from "playwright-core";
import { curves } from "snarkjs";
import { DEVELOPMENT_KEYS } from "../../shared/client/node/development.ts";
import { folderArtefacts, readManifest } from "../../shared/client/node/index.ts";
import { CHAIN_ID, POOL, USDC } from "../contract/client/chain.ts";
import { FLAT_FEE, PREFIX } from "../contract/client/checks.ts";
import { TestService } from "../contract/client/service.ts";
import { requireBrowser, startBrowser, type TestBrowser } from "../support/chromium.ts";
import { freshProject, type FreshProject } from "../support/fresh-project.ts";
import { PROJECT_ROOT } from "../support/tree.ts";
import { vouchedPins } from "../support/vouching.ts";

const DEPOSITED = String(10_000_000n - FLAT_FEE);
/** A refusal that needs longer leaves the user before a page that seems to hang. */
const SECONDS_MS = 8_000;

type Outcome = Awaited<ReturnType<Window["underPolicy"]["deposit"]>>;

async function listen(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`;
}

describe("content security policy in a browser", function () {
  this.timeout(300_000);
  let project: FreshProject;
  let service: TestService;
  let browser: TestBrowser;
  let serviceUrl: string;
  let pageUrl: string;
  const servers: Server[] = [];
  const files = new Map<string, { readonly type: string; readonly body: string | Uint8Array }>();
  /** Of every answer of the page's origin, unless a file has one of its own. */
  let policy = "";
  const policyOf = new Map<string, string>();

  before(async function () {
    requireBrowser(this);
    project = await freshProject();
    service = new TestService();
    const upstream = await service.listen();

    // The service with the page's origin registered: what its proxy adds to every answer.
    const front = createServer((request, response) => {
      const origin = { "Access-Control-Allow-Origin": pageUrl, Vary: "Origin" };
      if (request.method === "OPTIONS") {
        response.writeHead(204, {
          ...origin,
          "Access-Control-Allow-Methods": "GET, POST",
          "Access-Control-Allow-Headers": request.headers["access-control-request-headers"] ?? "",
        });
        response.end();
        return;
      }
      const { method, headers } = request;
      const onward = forward(upstream + request.url!, { method: method!, headers }, (answer) => {
        response.writeHead(answer.statusCode!, { ...answer.headers, ...origin });
        answer.pipe(response);
      });
      onward.on("error", () => response.destroy());
      response.on("close", () => onward.destroy());
      request.pipe(onward);
    });
    const pages = createServer((request, response) => {
      const file = files.get(request.url!);
      response.writeHead(file === undefined ? 404 : 200, {
        "Content-Type": file?.type ?? "text/plain",
        "Content-Security-Policy": policyOf.get(request.url!) ?? policy,
      });
      response.end(file?.body);
    });
    servers.push(front, pages);
    serviceUrl = await listen(front);
    pageUrl = await listen(pages);

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
    for (const { path: file, contents } of outputFiles)
      files.set(file, { type: "text/javascript", body: contents });
    const worker = await readFile(project.worker);
    // Where the bundle looks for it, and where an application that names it may have put it.
    for (const place of ["/dist/worker.js", "/static/prover.js"])
      files.set(place, { type: "text/javascript", body: worker });
    files.set("/", {
      type: "text/html",
      body: '<!doctype html><title>shop</title><script type="module" src="/policy-page.js"></script>',
    });
    for (const kind of ["deposit-shield", "spend"] as const) {
      const { zkey, wasm } = await folderArtefacts(DEVELOPMENT_KEYS)(kind);
      files.set(`/artefacts/${kind}.zkey`, { type: "application/octet-stream", body: zkey });
      files.set(`/artefacts/${kind}.wasm`, { type: "application/wasm", body: wasm });
    }
    browser = await startBrowser();
  });
  after(async () => {
    await (browser as TestBrowser | undefined)?.close();
    for (const server of servers) {
      server.closeAllConnections();
      server.close();
    }
    await (service as TestService | undefined)?.close();
    await (project as FreshProject | undefined)?.remove();
    // The service verified proofs in this process; its worker threads would keep the process alive.
    await (await curves.getCurveFromName("bn128")).terminate();
  });
  beforeEach(() => {
    policyOf.clear();
    policy = strict();
  });

  /** What README.md of the library says that it needs, and nothing else. */
  const strict = (changed: Readonly<Record<string, string>> = {}): string =>
    Object.entries({
      "default-src": "'none'",
      "script-src": "'self' 'wasm-unsafe-eval'",
      "worker-src": "'self'",
      "connect-src": `'self' ${serviceUrl}`,
      "base-uri": "'none'",
      "form-action": "'none'",
      "frame-ancestors": "'none'",
      ...changed,
    })
      .map(([directive, sources]) => `${directive} ${sources}`)
      .join("; ");

  const depositor = EthereumWallet.createRandom();
  const given = async (worker?: string) => ({
    service: serviceUrl,
    manifest: await readManifest(DEVELOPMENT_KEYS),
    depositor: depositor.address,
    pins: { chainId: CHAIN_ID, pool: POOL, assets: [USDC], addressPrefix: PREFIX, enclaves: vouchedPins() },
    ...(worker === undefined ? {} : { worker }),
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
      await page.goto(pageUrl);
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
    assert.ok(outcome.ms < SECONDS_MS, `${String(outcome.ms)} ms`);
  }

  it("deposits with a real proof under the policy that the README names, and violates nothing", async () => {
    const { outcome, violations } = await deposit();
    assert.ok("total" in outcome, JSON.stringify(outcome));
    assert.equal(outcome.total, DEPOSITED);
    assert.deepEqual(violations, []);
  });

  it("proves with a worker that the application put elsewhere and names", async () => {
    policy = strict({ "worker-src": `${pageUrl}/static/prover.js` });
    const { outcome } = await deposit("/static/prover.js");
    assert.ok("total" in outcome, JSON.stringify(outcome));
    assert.equal(outcome.total, DEPOSITED);
  });

  it("says that worker-src is missing", async () => {
    policy = strict({ "worker-src": "'none'" });
    await refusal("WORKER_FORBIDDEN", /worker-src/);
  });

  it("says that worker-src is missing where the worker's own file came with a stricter policy", async () => {
    policyOf.set("/dist/worker.js", strict({ "worker-src": "'none'" }));
    await refusal("WORKER_FORBIDDEN", /worker-src/);
  });

  it("says that wasm-unsafe-eval is missing", async () => {
    policy = strict({ "script-src": "'self'" });
    await refusal("WASM_FORBIDDEN", /script-src.*wasm-unsafe-eval/);
  });

  it("needs no wasm-unsafe-eval on the page itself, only on the worker's file", async () => {
    policyOf.set("/dist/worker.js", policy);
    policy = strict({ "script-src": "'self'" });
    const { outcome } = await deposit();
    assert.ok("total" in outcome, JSON.stringify(outcome));
  });

  it("names the address of a worker's file that is not there, or is no worker", async () => {
    await refusal("WORKER_UNAVAILABLE", /no-such-file\.js/, "/no-such-file.js");
    await refusal("WORKER_UNAVAILABLE", /elsewhere\.example/, "https://elsewhere.example/worker.js");
  });

  it("leaves the page's thread alone while it hashes and reads a key of 19 MB", async () => {
    // The machine may stop any thread for a while: the best of a few tries says what the code does.
    const tries: number[] = [];
    do {
      const { longest, ms } = await onPage(async (page) =>
        page.evaluate((input) => window.underPolicy.prepare(input), await given()),
      );
      tries.push(longest);
      assert.ok(ms > 100, "so much work is to be done that it would show");
    } while (Math.min(...tries) >= 100 && tries.length < 5);
    assert.ok(Math.min(...tries) < 100, `${tries.join(", ")} ms`);
  });
});
