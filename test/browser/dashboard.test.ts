// People at the dashboard in a real browser, against the real program over a real store: a developer from the invitation
// to the use that is seen, an operator, a keyboard alone, and what goes wrong on the way.
import assert from "node:assert/strict";
import { rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import type { Page } from "playwright-core";
import { addDeveloper } from "../../proxy/base/auth/registration.ts";
import { encodeShieldedAddress } from "../../shared/notes/address.ts";
import { nobody } from "../../shared/notes/encryption.ts";
import { requireBrowser, startBrowser, type TestBrowser } from "../support/chromium.ts";
import { startDashboard, type RunningDashboard } from "../support/dashboard.ts";
import { until } from "../support/until.ts";
import { acceptInvitation, go, settled, startPerson, type Person } from "./dashboard-person.ts";

const DAY_MS = 86_400_000;
const developer = { purpose: "sign-up", role: "developer", developerId: "shop" } as const;
const operator = { purpose: "sign-up", role: "operator" } as const;
const alarmFile = path.join(tmpdir(), `dashboard-alarms-${String(process.pid)}.json`);

describe("the dashboard in a browser", function () {
  let browser: TestBrowser;
  let dashboard: RunningDashboard;
  let person: Person;
  let page: Page;

  before(async function () {
    requireBrowser(this);
    dashboard = await startDashboard({ CLOISTER_DASHBOARD_WATCHER_FILE: alarmFile });
    await addDeveloper(dashboard.stores.keys, { id: "shop", name: "The Shop" });
    browser = await startBrowser();
    person = await startPerson(browser);
    ({ page } = person);
  });
  after(async () => {
    await (person as Person | undefined)?.close();
    await (browser as TestBrowser | undefined)?.close();
    await (dashboard as RunningDashboard | undefined)?.stop();
    await rm(alarmFile, { force: true });
  });
  beforeEach(() => person.forget());
  afterEach(() => {
    assert.deepEqual(person.faults.splice(0), []);
  });

  const linkFor = async (terms: typeof developer | typeof operator): Promise<string> =>
    `${dashboard.origin}/invitation#${await dashboard.invite(terms)}`;
  const keys = () => dashboard.stores.keys.keys("shop");
  const press = (name: string) => page.getByRole("button", { name, exact: true }).click();

  it("a developer: invitation, passkey, key, origin, fee rule, and the use that is seen", async () => {
    await acceptInvitation(page, await linkFor(developer), "Ada");
    assert.equal(await page.evaluate(() => location.pathname + location.hash), "/");
    assert.equal(await page.title(), "Overview · Cloister");

    await go(page, "API keys");
    await page.getByLabel("Name").fill("production server");
    await press("Create the key");
    const shown = await page.getByRole("dialog").locator("pre").textContent();
    assert.match(shown ?? "", /^ck_[0-9a-f]{16}_/);
    await press("I have stored it");
    await page.getByRole("rowheader", { name: "production server" }).waitFor();
    // Shown once: it is in nothing that the browser keeps.
    const kept = await page.evaluate(
      () => document.body.innerHTML + JSON.stringify([localStorage, sessionStorage]),
    );
    assert.ok(!kept.includes(shown!));

    await go(page, "Origins");
    await page.getByLabel("Origin", { exact: true }).fill("https://shop.example/path");
    await press("Register it");
    await page.getByText("an origin looks like").waitFor();
    assert.equal(await page.evaluate(() => document.activeElement?.getAttribute("aria-invalid")), "true");
    await page.getByLabel("Origin", { exact: true }).fill("https://shop.example");
    await press("Register it");
    await page.getByRole("rowheader", { name: "https://shop.example" }).waitFor();
    await page.getByLabel("Address of the page").fill("https://shop.example/basket?x=1");
    await press("Test it");
    await page.getByText("A browser there sends").waitFor();

    await go(page, "Fee rules");
    await page.getByLabel("Flat, in").fill("0,30");
    await press("Set the rule");
    await page.getByText("write the amount with a point").waitFor();
    await page.getByText("this asset has no sink yet").waitFor();
    await page.getByLabel("Flat, in").fill("0.30");
    await page.getByText(/Of a transfer of 100/).waitFor();
    await page.getByLabel("Sink").fill(encodeShieldedAddress(nobody(), "clodev"));
    await press("Set the rule");
    await page.getByRole("cell", { name: /0\.30/ }).first().waitFor();

    const day = Math.floor(Date.now() / DAY_MS);
    await dashboard.stores.usage.pour("test", 1, [
      { developerId: "shop", day, operation: "relay", code: undefined, count: 4_321 },
    ]);
    await go(page, "Overview");
    await page.getByText("Requests: 4,321").waitFor();
    await page.getByText("Requests by day, as a table").click();
    await page.getByRole("cell", { name: "4,321" }).waitFor();
    await go(page, "Audit log");
    await page.getByText("key.create").waitFor();
  });

  it("an operator: approves an app, raises a limit, sees an alarm", async () => {
    const alarm = { code: "SPENT_TWICE", meaning: "a note was spent twice", block: 7, detail: "leaf 3" };
    await writeFile(alarmFile, JSON.stringify({ at: new Date().toISOString(), block: 9, alarms: [alarm] }));
    await acceptInvitation(page, await linkFor(developer), "Asker");
    await go(page, "Identity providers");
    await page.getByText("Request an app").click();
    await page.getByLabel("Issuer").fill("https://id.example/");
    await page.getByLabel("Audience").fill("https://api.example");
    await page.getByLabel("Key set").fill("https://id.example/keys.json");
    await press("Send the request");
    await page.getByText("pending").waitFor();

    await person.forget();
    await acceptInvitation(page, await linkFor(operator), "Olga");
    await go(page, "App approvals");
    await press("Approve …");
    await page.getByLabel("Type the host").fill("evil.example");
    await press("Approve it");
    await page.getByRole("dialog").locator(".fault, .notice.bad").first().waitFor();
    await page.getByLabel("Type the host").fill("id.example");
    await press("Approve it");
    await page.getByText("approved", { exact: true }).waitFor();
    assert.equal((await dashboard.stores.apps.apps()).length, 1);

    await go(page, "Developers");
    await press("Change limits");
    await page.getByLabel("API keys together, in a day").fill("77000");
    await press("Set the limits");
    await page.getByText("77,000 (its own)").waitFor();

    await go(page, "Alarms");
    await page.getByRole("heading", { name: "SPENT_TWICE" }).waitFor();
  });

  it("the keyboard alone: sign-up and a key", async () => {
    const before = (await keys()).length;
    await page.goto(await linkFor(developer));
    await page.getByLabel("Your name").waitFor();
    const type = async (label: string, text: string): Promise<void> => {
      await tabTo(page, label);
      await page.keyboard.type(text);
    };
    await type("Your name", "Kim");
    await type("A name for this passkey", "key");
    await page.keyboard.press("Enter");
    await page.locator("#content h1").waitFor();
    await settled(page);
    await tabTo(page, "API keys");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "API keys" }).waitFor();
    await until("the title has the focus", () =>
      page.evaluate(() => document.activeElement?.textContent === "API keys"),
    );
    await type("Name", "by keyboard");
    await page.keyboard.press("Enter");
    await page.getByRole("dialog").waitFor();
    await tabTo(page, "I have stored it");
    await page.keyboard.press("Enter");
    await page.getByRole("rowheader", { name: "by keyboard" }).waitFor();
    assert.equal((await keys()).length, before + 1);
  });

  it("a double click makes one key; a session that ended keeps what was typed; a lost answer makes no second", async () => {
    await acceptInvitation(page, await linkFor(developer), "Dora");
    await go(page, "API keys");
    const before = (await keys()).length;
    await page.getByLabel("Name").fill("twice");
    await page.getByRole("button", { name: "Create the key" }).dblclick();
    await page.getByRole("dialog").waitFor();
    await press("I have stored it");
    assert.equal((await keys()).length, before + 1);

    await page.getByLabel("Name").fill("after the end");
    await page.context().clearCookies();
    await press("Create the key");
    await page.getByRole("dialog", { name: "Your session has ended" }).waitFor();
    await press("Cancel");
    assert.equal(await page.getByLabel("Name").inputValue(), "after the end");

    // The request arrives, and its answer does not.
    await page.goto(await linkFor(developer));
    await acceptInvitation(page, await linkFor(developer), "Dora again");
    await go(page, "API keys");
    await page.getByLabel("Name").fill("lost answer");
    await page.route("**/api/developer/keys", async (route) => {
      if (route.request().method() !== "POST") return route.continue();
      await route.fetch();
      return route.abort();
    });
    await press("Create the key");
    await page.getByText("The service cannot be reached").waitFor();
    assert.equal(await page.getByLabel("Name").inputValue(), "lost answer");
    await page.unroute("**/api/developer/keys");
    await press("Create the key");
    await page.getByRole("dialog").locator("pre").waitFor();
    assert.equal((await keys()).length, before + 2);
  });
});

/** Presses Tab until what is so named has the focus; fails where it cannot be reached. */
async function tabTo(page: Page, name: string): Promise<void> {
  for (let presses = 0; presses < 60; presses += 1) {
    await page.keyboard.press("Tab");
    const at = await page.evaluate(() => {
      const element = document.activeElement;
      const label =
        element instanceof HTMLInputElement ? element.labels?.[0]?.textContent : element?.textContent;
      return label?.trim() ?? "";
    });
    if (at === name) return;
  }
  assert.fail(`the keyboard does not reach ${name}`);
}
