// The reference page in a real browser: it is drawn whole under its own policy, and asks nobody but its origin.
import assert from "node:assert/strict";
import type { HttpServer } from "../../proxy/base/http/server.ts";
import { startReference } from "../../proxy/base/http/reference.ts";
import { requireBrowser, startBrowser, type TestBrowser } from "../support/chromium.ts";

describe("reference page in a browser", function () {
  let server: HttpServer;
  let browser: TestBrowser;
  before(async function () {
    requireBrowser(this);
    server = await startReference("127.0.0.1", 0);
    browser = await startBrowser();
  });
  after(async () => {
    await (browser as TestBrowser | undefined)?.close();
    await (server as HttpServer | undefined)?.stop(0);
  });

  it("draws every operation, with styles, and asks only its own origin", async () => {
    const origin = `http://127.0.0.1:${String(server.port)}`;
    const page = await browser.pages.newPage();
    const answered: string[] = [];
    const faults: string[] = [];
    page.on("response", (response) => answered.push(response.url()));
    page.on("pageerror", (error) => faults.push(String(error)));
    await page.goto(origin);
    await page.getByText("/sequence/deposit-shield").first().waitFor({ state: "attached" });
    const text = (await page.textContent("main")) ?? "";
    for (const expected of [
      "Address for funds from the perpetuals exchange, and from any other EVM chain",
      "/merkle/tree",
      "IDEMPOTENCY_MISMATCH",
      // The guide, and the values of an enumeration.
      "Life of a ticket",
      "What holds a ticket",
      "context = keccak(abi.encode(chainId, pool, kind, deadline, keccak(ext))) mod r",
      "the account that pays gas is short of it",
      "Executed in a block; may still be reorganised out",
    ])
      assert.ok(text.includes(expected), expected);
    assert.deepEqual(faults, []);
    const others = answered.filter((url) => !url.startsWith(`${origin}/`) && !url.startsWith("data:"));
    assert.deepEqual(others, []);
    assert.ok(answered.includes(`${origin}/openapi.json`));
    assert.ok((await page.locator(".redoc-markdown table").count()) > 5, "tables are drawn as tables");
    const cut = await page
      .locator(".redoc-markdown table")
      .evaluateAll((tables) =>
        tables.filter((one) => one.scrollWidth > one.clientWidth + 1).map((one) => one.textContent),
      );
    assert.deepEqual(cut, [], "no table is cut");
    assert.equal(await page.locator('a[href="SPEC.md"]').count(), 2);
    assert.equal(await page.locator("input").count(), 0, "there is nothing to type into");
  });
});
