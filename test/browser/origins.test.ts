// What a browser lets the pages of a developer do with the service, and what it keeps from all others: the rules of
// the browser itself, against the real app. Each origin is a server of its own port.
import assert from "node:assert/strict";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { Page } from "playwright-core";
import { startEdge, type Edge } from "../support/edge.ts";
import { requireBrowser, startBrowser, type TestBrowser } from "../support/chromium.ts";

const FRAME = "<!doctype html><title>frame</title>";
const PAGE = "<!doctype html><title>shop</title><link rel=icon href=data:,>";

/** What a page got: a status and what it may see, or that the browser kept it away. */
type Seen = { readonly status: number; readonly body: unknown; readonly left: string | null } | "kept away";
interface Wanted {
  readonly method?: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

describe("origins in a browser", function () {
  let edge: Edge;
  let browser: TestBrowser;
  const servers: Server[] = [];
  let shop: string;
  let other: string;
  let stranger: string;
  let session: string;

  async function origin(): Promise<string> {
    const server = createServer((_request, response) =>
      response.writeHead(200, { "Content-Type": "text/html" }).end(PAGE),
    );
    servers.push(server);
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`;
  }

  before(async function () {
    requireBrowser(this);
    [shop, other, stranger] = [await origin(), await origin(), await origin()];
    edge = await startEdge({ origins: [shop] });
    await edge.newDeveloper({ name: "Other", origins: [other] });
    session = await edge.session();
    browser = await startBrowser();
  });
  after(async () => {
    await (browser as TestBrowser | undefined)?.close();
    await (edge as Edge | undefined)?.stop();
    for (const server of servers) server.close();
  });

  async function pageOf(at: string): Promise<Page> {
    const page = await browser.pages.newPage();
    await page.goto(at);
    return page;
  }
  /** Run by the page, or by a frame in it without an origin. */
  const ask = (page: Page, path: string, wanted: Wanted, isFramed = false): Promise<Seen> =>
    (isFramed ? page.frames().at(-1)! : page).evaluate(
      async ([url, init]): Promise<Seen> => {
        try {
          const answer = await fetch(url, init);
          const left = answer.headers.get("ratelimit");
          return { status: answer.status, body: await answer.json(), left };
        } catch {
          return "kept away";
        }
      },
      [`${edge.url}${path}`, wanted] as const,
    );
  const mine = (): Wanted => ({ headers: { Authorization: `Bearer ${session}` } });

  it("a page of the developer's reads, writes, and sees its limits and its refusals", async () => {
    const page = await pageOf(shop);
    const read = await ask(page, "/whoami", mine());
    assert.ok(read !== "kept away");
    assert.equal(read.status, 200);
    assert.match(read.left ?? "", /r=/);
    const written = await ask(page, "/relay", {
      method: "POST",
      headers: { ...mine().headers, "Content-Type": "application/json", "Idempotency-Key": "k1" },
      body: "[]",
    });
    assert.ok(written !== "kept away");
    // It got as far as its route, whose chain is not on this stage.
    assert.equal((written.body as { code: string }).code, "CHAIN_UNAVAILABLE");
    const refused = await ask(page, "/whoami", { headers: { Authorization: "Bearer sst_wrong" } });
    assert.ok(refused !== "kept away");
    assert.equal((refused.body as { code: string }).code, "INVALID_CREDENTIAL");
  });

  it("a page of another developer is refused with this session, one of nobody's is kept away", async () => {
    const crossed = await ask(await pageOf(other), "/whoami", mine());
    assert.ok(crossed !== "kept away");
    assert.deepEqual([crossed.status, (crossed.body as { code: string }).code], [403, "FORBIDDEN"]);
    assert.equal(await ask(await pageOf(stranger), "/whoami", mine()), "kept away");
  });

  it("a frame without an origin is kept away, in a page of the developer's too", async () => {
    const page = await pageOf(shop);
    await page.evaluate(async (html) => {
      const frame = document.createElement("iframe");
      frame.setAttribute("sandbox", "allow-scripts");
      frame.srcdoc = html;
      const loaded = new Promise((resolve) => (frame.onload = resolve));
      document.body.append(frame);
      await loaded;
    }, FRAME);
    assert.equal(await ask(page, "/whoami", mine(), true), "kept away");
    assert.notEqual(await ask(page, "/whoami", mine()), "kept away");
  });

  it("an API key does not get out of a page, the developer's own included", async () => {
    const before = edge.log();
    assert.equal(
      await ask(await pageOf(shop), "/whoami", { headers: { "X-API-Key": edge.key } }),
      "kept away",
    );
    // The preflight was answered and did not allow it, so the browser never sent the key.
    const methods = [
      ...edge
        .log()
        .slice(before.length)
        .matchAll(/"method":"([A-Z]+)"/g),
    ].map(([, name]) => name);
    assert.deepEqual(methods, ["OPTIONS"]);
  });
});
