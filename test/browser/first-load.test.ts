// How long somebody waits for a page at the first visit: a browser with nothing kept, the real programs. The figures are
// for test/bench/pages.md; what is asserted is that the page can be used then, and did not hold its thread before.
import assert from "node:assert/strict";
import type { Page } from "playwright-core";
import { startWalletPage, type WalletPage } from "../../scripts/stack/wallet-page.ts";
import { requireBrowser, startBrowser } from "../support/chromium.ts";
import { startDashboard, type RunningDashboard } from "../support/dashboard.ts";
import { startTestStack, type TestStack } from "../support/stack.ts";

const VISITS = 5;
/** A phone's connection, as Lighthouse has it for slow 4G. */
const SLOW = { offline: false, latency: 150, downloadThroughput: 204_800, uploadThroughput: 96_000 };
/** In the page, before its own scripts: a button that can be pressed is painted, and a turn of the thread has passed after that. */
const WATCH = `requestAnimationFrame(function look() {
  const button = document.querySelector("main button:not(:disabled):not([aria-disabled=true])");
  if (button === null) requestAnimationFrame(look);
  else requestAnimationFrame(() => setTimeout(() => (globalThis.usableAt = performance.now())));
});`;

interface Visited {
  readonly name: string;
  readonly url: () => string;
  /** Presses the button, and resolves when the page has done something about it. */
  readonly press: (page: Page) => Promise<void>;
}

describe("the first load of a page", function () {
  this.timeout(300_000);
  let dashboard: RunningDashboard;
  let stack: TestStack;
  let wallet: WalletPage;

  before(async function () {
    requireBrowser(this);
    dashboard = await startDashboard();
    stack = await startTestStack();
    wallet = await startWalletPage(stack.stack, { ports: { page: 0, sessions: 0 } });
  });
  after(async () => {
    await (wallet as WalletPage | undefined)?.stop();
    await (stack as TestStack | undefined)?.stop();
    await (dashboard as RunningDashboard | undefined)?.stop();
  });

  const pages: readonly Visited[] = [
    {
      name: "dashboard",
      url: () => dashboard.origin,
      press: async (page) => {
        const asked = page.waitForRequest("**/api/sign-in/options");
        await page.getByRole("button", { name: "Sign in with a passkey" }).click();
        assert.equal((await asked).method(), "POST");
      },
    },
    {
      name: "wallet page",
      url: () => wallet.url,
      press: async (page) => {
        await page.getByRole("button", { name: "Make the wallet" }).click();
        await page.locator(".field small.wrong").first().waitFor();
      },
    },
  ];
  for (const visited of pages)
    for (const [how, connection] of [
      ["this machine", undefined],
      ["slow 4G", SLOW],
    ] as const)
      it(`${visited.name}, over ${how}: its first button answers a press`, async () => {
        const waits: number[] = [];
        for (let visit = 0; visit < VISITS; visit += 1) waits.push(await firstVisit(visited, connection));
        const [least, median, most] = [0, VISITS >> 1, VISITS - 1].map(
          (at) => waits.sort((a, b) => a - b)[at],
        );
        console.log(`      interactive: median ${median} ms (${least} to ${most}), ${VISITS} visits`);
      });
});

/** Milliseconds from the start of the navigation until a button is there and the thread is free. */
async function firstVisit(visited: Visited, connection: typeof SLOW | undefined): Promise<number> {
  const browser = await startBrowser();
  try {
    const page = await browser.pages.newPage();
    const faults: string[] = [];
    page.on("pageerror", (error) => faults.push(String(error)));
    if (connection !== undefined) {
      const devTools = await page.context().newCDPSession(page);
      await devTools.send("Network.enable");
      await devTools.send("Network.emulateNetworkConditions", connection);
    }
    await page.addInitScript({ content: WATCH });
    await page.goto(visited.url(), { waitUntil: "commit" });
    const wait = await page.waitForFunction(() => Reflect.get(globalThis, "usableAt") as number | undefined);
    await visited.press(page);
    assert.deepEqual(faults, []);
    return Math.round((await wait.jsonValue())!);
  } finally {
    await browser.close();
  }
}
