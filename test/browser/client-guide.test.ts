// The client guide's second half in a real browser: its page, on an origin of its own that the operator registered, with
// session tokens from its server, is paid from Node and pays back with a proof of its own, on a running stack.
import assert from "node:assert/strict";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import path from "node:path";
import type { Page } from "playwright-core";
import { freePort } from "../../scripts/stack/ports.ts";
import { requireBrowser, startBrowser, type TestBrowser } from "../support/chromium.ts";
import { guideProject, type GuideProject } from "../support/client-guide.ts";
import { startTestStack, type TestStack } from "../support/stack.ts";
import { PROJECT_ROOT } from "../support/tree.ts";

describe("the client guide in a browser", function () {
  this.timeout(480_000);
  let on: TestStack;
  let project: GuideProject;
  let browser: TestBrowser;
  let server: ChildProcess;
  let origin: string;

  before(async function () {
    requireBrowser(this);
    on = await startTestStack();
    project = await guideProject(on);
    browser = await startBrowser();
    const port = String(await freePort());
    origin = `http://127.0.0.1:${port}`;
    const { developer } = await on.client.whoami();
    await project.shell("origin", {
      "npm run operator --": `cd ${PROJECT_ROOT} && ${process.execPath} scripts/build/run.mjs scripts/operator/main.ts`,
      FOLDER: path.join(on.local.folder.inside("store")),
      " ID ": ` ${developer.id} `,
      "http://127.0.0.1:5173": origin,
    });
    await project.shell("serve", { "node server.mjs": "true" });
    server = await project.serve(["server.mjs"], { PORT: port }, "serving");
    await project.node("pay.mjs");
  });
  after(async () => {
    await (browser as TestBrowser | undefined)?.close();
    if ((server as ChildProcess | undefined)?.kill() === true) await once(server, "close");
    await (project as GuideProject | undefined)?.remove();
    await (on as TestStack | undefined)?.stop();
  });

  const says = (page: Page, id: string, text: string): Promise<unknown> =>
    page.waitForFunction(([at, words]) => document.getElementById(at)?.textContent === words, [
      id,
      text,
    ] as const);

  async function pay(page: Page, to: string, amount: string): Promise<void> {
    await page.fill("input[name=to]", to);
    await page.fill("input[name=amount]", amount);
    await page.click("button");
  }

  it("is paid, pays, says what is wrong with an order, and is the same wallet after a reload", async () => {
    const page = await browser.pages.newPage();
    const faults: string[] = [];
    const asked: { readonly url: string; readonly key: string | undefined }[] = [];
    page.on("pageerror", (error) => faults.push(String(error)));
    page.on("request", (request) => asked.push({ url: request.url(), key: request.headers()["x-api-key"] }));
    await page.goto(origin);
    await says(page, "balance", "0");
    const address = await page.textContent("#address");
    assert.match(address ?? "", /^clodev1/);

    assert.match(await project.node("send.mjs", address ?? "", "5000000"), /confirmed/);
    await page.reload();
    await says(page, "balance", "5000000");
    assert.equal(await page.textContent("#address"), address);

    await pay(page, address ?? "", "1,5");
    await says(page, "outcome", "an amount in smallest units, without a comma");
    await pay(page, address ?? "", "9000000");
    await says(page, "outcome", "not paid: INSUFFICIENT_FUNDS");

    const payee = await on.wallet();
    await pay(page, payee.address, "1000000");
    await says(page, "outcome", "paid");
    await says(page, "balance", "3950000");
    await payee.sync();
    assert.equal(payee.balance().total, 1_000_000n);

    assert.deepEqual(faults, []);
    assert.ok(asked.some(({ url }) => url.startsWith(on.entry.base_url)));
    assert.ok(
      asked.every(({ key }) => key === undefined),
      "no API key is in the page",
    );
    const reached = new Set(asked.map(({ url }) => new URL(url).origin).filter((one) => one !== "null"));
    assert.deepEqual([...reached].toSorted(), [origin, on.entry.base_url].toSorted());
  });
});
