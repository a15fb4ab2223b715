// The event stream across origins as a page has it: the real app with the real hub over a real chain, read by the
// client library in a real browser; and what a page receives where the service cannot be had.
import assert from "node:assert/strict";
import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { build } from "esbuild";
import type { Page } from "playwright-core";
import { eventsRoutes } from "../../proxy/api/events/events.routes.ts";
import { Hub } from "../../proxy/api/events/hub.ts";
import { startEdge, type Edge } from "../support/edge.ts";
import { requireBrowser, startBrowser, type TestBrowser } from "../support/chromium.ts";
import { Money } from "../support/money.ts";
import { startPageOrigin, type PageOrigin } from "../support/page-origin.ts";
import { PROJECT_ROOT } from "../support/tree.ts";
import { until } from "../support/until.ts";
import type { Outcome } from "./stream-page.ts";

/** The client pauses a few times between tries, all together less than this. */
const PAUSES_MS = 4_000;

describe("event stream in a browser", function () {
  let money: Money;
  let hub: Hub;
  let edge: Edge;
  let browser: TestBrowser;
  let shop: PageOrigin;
  let stranger: PageOrigin;
  let session: string;
  const servers: Server[] = [];

  before(async function () {
    requireBrowser(this);
    const { outputFiles } = await build({
      entryPoints: [`${PROJECT_ROOT}/test/browser/stream-page.ts`],
      ...{ bundle: true, platform: "browser", format: "esm", target: "es2022", write: false },
    });
    const script = outputFiles[0]!.contents;
    [shop, stranger] = [await startPageOrigin(script), await startPageOrigin(script)];
    money = await Money.start();
    await money.run();
    await money.reaches(await money.accept(await money.deposit()), "confirmed");
    hub = new Hub(money.indexer, money.data, money.tickets, {
      ...{ chainId: money.anvil.chainId, pool: money.pool.address, now: Date.now },
    });
    const limits: { edge?: Edge } = {};
    edge = await startEdge({
      origins: [shop.url],
      handlers: eventsRoutes(hub, {
        openStream: (principal) => limits.edge!.limits.openStream(principal),
      }),
    });
    limits.edge = edge;
    session = await edge.session();
    browser = await startBrowser();
  });
  after(async () => {
    await (browser as TestBrowser | undefined)?.close();
    (hub as Hub | undefined)?.close();
    await (edge as Edge | undefined)?.stop();
    await (money as Money | undefined)?.stop();
    for (const origin of [shop, stranger]) await (origin as PageOrigin | undefined)?.close();
    for (const server of servers) {
      server.closeAllConnections();
      server.close();
    }
  });

  async function pageOf({ url }: PageOrigin): Promise<Page> {
    const page = await browser.pages.newPage();
    await page.goto(url);
    await page.waitForFunction(() => "streams" in window);
    return page;
  }
  async function serve(listener: RequestListener): Promise<string> {
    const server = createServer(listener);
    servers.push(server);
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`;
  }
  const open = (page: Page, service: string): Promise<Outcome> =>
    page.evaluate(([at, token]) => window.streams.open(at, token), [service, session] as const);
  const ask = (page: Page, service: string): Promise<Outcome> =>
    page.evaluate(([at, token]) => window.streams.ask(at, token), [service, session] as const);

  function assertUnreachable({ code, message, waitedMs }: Outcome, address: string, cause: string): void {
    assert.equal(code, "NETWORK", message);
    assert.ok(waitedMs < PAUSES_MS, `waited for ${waitedMs} ms`);
    assert.ok(message.includes(address) && message.includes(cause), message);
    assert.ok(!message.includes(session));
  }

  it("a page of a registered origin reads the whole history, then what happens", async () => {
    const page = await pageOf(shop);
    const seen: string[] = [];
    await page.exposeFunction("seen", (kind: string) => void seen.push(kind));
    void page
      .evaluate(([at, token]) => window.streams.follow(at, token), [edge.url, session] as const)
      .catch(() => undefined);
    await until("the end of the history", () => seen.includes("synced"));
    assert.deepEqual(
      seen.filter((kind) => kind !== "ticket"),
      ["ready", "leaf", "leaf", "leaf", "root", "synced"],
    );
    await money.accept(money.spend(money.data.currentRoot()!.root));
    await until("the payment", () => seen.filter((kind) => kind === "nullifier").length === 2);
    await page.close();
  });

  it("a page of another origin learns that its origin is not registered, and how it is", async () => {
    const page = await pageOf(stranger);
    const how = `operator developers origins ID --origin ${stranger.url}`;
    assertUnreachable(await open(page, edge.url), `${edge.url}/events/stream`, how);
    assertUnreachable(await ask(page, edge.url), `${edge.url}/whoami`, how);
  });

  it("a refused preflight and an address where nobody is end by themselves, too", async () => {
    const page = await pageOf(shop);
    const gateway = await serve((request, response) => {
      response.setHeader("Access-Control-Allow-Origin", shop.url);
      response.writeHead(request.method === "OPTIONS" ? 403 : 200).end("{}");
    });
    assertUnreachable(await ask(page, gateway), `${gateway}/whoami`, "refused what the page sends");
    const nobody = "http://127.0.0.1:9";
    assertUnreachable(await open(page, nobody), `${nobody}/events/stream`, "not reachable");
    assertUnreachable(await ask(page, nobody), `${nobody}/whoami`, "not reachable");
  });

  it("an address where somebody else answers is told from one where nobody does", async () => {
    const page = await pageOf(shop);
    const other = await serve((_, response) => {
      response.setHeader("Access-Control-Allow-Origin", shop.url);
      response.setHeader("Access-Control-Allow-Headers", "authorization, api-version");
      response.writeHead(200, { "Content-Type": "text/html" }).end("<!doctype html>");
    });
    for (const outcome of [await open(page, other), await ask(page, other)]) {
      assert.equal(outcome.code, "UNEXPECTED_ANSWER", outcome.message);
      assert.ok(outcome.message.includes(other) && outcome.waitedMs < PAUSES_MS, outcome.message);
    }
  });
});
