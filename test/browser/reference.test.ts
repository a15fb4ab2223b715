// The reference page in a real browser: it is drawn whole under its own policy, and asks nobody but its origin.
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { chromium, type Browser } from "playwright-core";
import type { HttpServer } from "../../proxy/http/server.ts";
import { startReference } from "../../proxy/http/reference.ts";

const CHROMIUM = process.env["CLOISTER_CHROMIUM"] ?? "/usr/bin/chromium";

describe("reference page in a browser", function () {
  this.timeout(120_000);
  let server: HttpServer;
  let browser: Browser;
  before(async function () {
    if (!existsSync(CHROMIUM)) {
      if (process.env["CLOISTER_REQUIRE_ALL"] === "1") throw new Error(`no browser at ${CHROMIUM}`);
      this.skip();
    }
    server = await startReference("127.0.0.1", 0);
    browser = await chromium.launch({
      executablePath: CHROMIUM,
      args: ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"],
    });
  });
  after(async () => {
    await (browser as Browser | undefined)?.close();
    await (server as HttpServer | undefined)?.stop(0);
  });

  it("draws every operation, with styles, and asks only its own origin", async () => {
    const origin = `http://127.0.0.1:${String(server.port)}`;
    const page = await browser.newPage();
    const answered: string[] = [];
    const faults: string[] = [];
    page.on("response", (response) => answered.push(response.url()));
    page.on("pageerror", (error) => faults.push(String(error)));
    await page.goto(origin);
    await page.getByText("/sequence/deposit-shield").first().waitFor({ state: "attached", timeout: 60_000 });
    const text = (await page.textContent("main")) ?? "";
    for (const expected of [
      "Deposit address for funds coming from the perpetuals exchange",
      "/merkle/tree",
      "IDEMPOTENCY_MISMATCH",
    ])
      assert.ok(text.includes(expected), expected);
    assert.deepEqual(faults, []);
    const others = answered.filter((url) => !url.startsWith(`${origin}/`) && !url.startsWith("data:"));
    assert.deepEqual(others, []);
    assert.ok(answered.includes(`${origin}/openapi.json`));
    assert.equal(await page.locator("input").count(), 0, "there is nothing to type into");
  });
});
