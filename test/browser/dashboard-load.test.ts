// How long somebody waits for the dashboard at the first visit: a browser with nothing kept, the real program. The figures
// are for test/bench/pages.md; what is asserted is that the page can be used then, and did not hold its thread before.
import assert from "node:assert/strict";
import { requireBrowser, startBrowser } from "../support/chromium.ts";
import { startDashboard, type RunningDashboard } from "../support/dashboard.ts";
import { buildDashboardPage, startPerson } from "./dashboard-person.ts";

const VISITS = 5;
/** A phone's connection, as Lighthouse has it for slow 4G. */
const SLOW = { offline: false, latency: 150, downloadThroughput: 204_800, uploadThroughput: 96_000 };
/** In the page, before its own scripts: the button is painted, and a turn of the thread has passed after that. */
const WATCH = `requestAnimationFrame(function look() {
  if (document.querySelector("main button[aria-disabled=false]") === null) requestAnimationFrame(look);
  else requestAnimationFrame(() => setTimeout(() => (globalThis.usableAt = performance.now())));
});`;

describe("the first load of the dashboard", function () {
  this.timeout(180_000);
  let dashboard: RunningDashboard;

  before(async function () {
    requireBrowser(this);
    await buildDashboardPage();
    dashboard = await startDashboard();
  });
  after(() => (dashboard as RunningDashboard | undefined)?.stop());

  for (const [how, connection] of [
    ["this machine", undefined],
    ["slow 4G", SLOW],
  ] as const)
    it(`over ${how}: the sign-in answers a press`, async () => {
      const waits: number[] = [];
      for (let visit = 0; visit < VISITS; visit += 1) waits.push(await firstVisit(connection));
      const [least, median, most] = [0, VISITS >> 1, VISITS - 1].map((at) => waits.sort((a, b) => a - b)[at]);
      console.log(
        `      interactive over ${how}: median ${median} ms (${least} to ${most}), ${VISITS} visits`,
      );
    });

  /** Milliseconds from the start of the navigation until the button to sign in is there and the thread is free. */
  async function firstVisit(connection: typeof SLOW | undefined): Promise<number> {
    const browser = await startBrowser();
    try {
      const person = await startPerson(browser);
      const { page } = person;
      if (connection !== undefined) {
        const devTools = await page.context().newCDPSession(page);
        await devTools.send("Network.enable");
        await devTools.send("Network.emulateNetworkConditions", connection);
      }
      await page.addInitScript({ content: WATCH });
      await page.goto(dashboard.origin, { waitUntil: "commit" });
      const wait = await page.waitForFunction(
        () => Reflect.get(globalThis, "usableAt") as number | undefined,
      );
      const asked = page.waitForRequest("**/api/sign-in/options");
      await page.getByRole("button", { name: "Sign in with a passkey" }).click();
      assert.equal((await asked).method(), "POST");
      assert.deepEqual(person.faults, []);
      return Math.round((await wait.jsonValue())!);
    } finally {
      await browser.close();
    }
  }
});
