// What a person at the dashboard keeps when the session ends, the passkey is asked for again, the account is recovered
// elsewhere or the connection is lost: in a real browser, against the real program, over its real store.
import assert from "node:assert/strict";
import type { Page } from "playwright-core";
import { addDeveloper } from "../../proxy/base/auth/registration.ts";
import type { Account } from "../../proxy/base/store/accounts.ts";
import type { DashboardSession } from "../../proxy/base/store/dashboard-sessions.ts";
import { requireBrowser, startBrowser, type TestBrowser } from "../support/chromium.ts";
import { startDashboard, type RunningDashboard } from "../support/dashboard.ts";
import { acceptInvitation, go, settled, startPerson, type Person } from "./dashboard-person.ts";

const HOUR_MS = 3_600_000;
const signUp = { purpose: "sign-up", role: "developer", developerId: "shop" } as const;

describe("sessions of the dashboard in a browser", function () {
  let browser: TestBrowser;
  let dashboard: RunningDashboard;
  let person: Person;
  let page: Page;

  before(async function () {
    requireBrowser(this);
    dashboard = await startDashboard({
      CLOISTER_DASHBOARD_IDLE_MINUTES: "30",
      CLOISTER_DASHBOARD_FRESH_MINUTES: "10",
    });
    await addDeveloper(dashboard.stores.keys, { id: "shop", name: "The Shop" });
    browser = await startBrowser();
    person = await startPerson(browser);
    ({ page } = person);
  });
  after(async () => {
    await (person as Person | undefined)?.close();
    await (browser as TestBrowser | undefined)?.close();
    await (dashboard as RunningDashboard | undefined)?.stop();
  });
  beforeEach(() => person.forget());
  afterEach(() => {
    assert.deepEqual(person.faults.splice(0), []);
  });

  const linkOf = (token: string): string => `${dashboard.origin}/invitation#${token}`;
  const press = (name: string, at: Page = page) => at.getByRole("button", { name, exact: true }).click();
  const typed = () => page.getByLabel("Name", { exact: true }).inputValue();
  const dialog = (name: string, at: Page = page) => at.getByRole("dialog", { name });
  const namesOfKeys = async (): Promise<string[]> =>
    (await dashboard.stores.keys.keys("shop")).map(({ name }) => name);
  const made = async (name: string): Promise<number> =>
    (await namesOfKeys()).filter((one) => one === name).length;

  /** At the form for a new key, with this name typed into it. */
  async function typing(who: string, name: string): Promise<Account> {
    await acceptInvitation(page, linkOf(await dashboard.invite(signUp)), who);
    await go(page, "API keys");
    await page.getByLabel("Name", { exact: true }).fill(name);
    // Else its list, asked for beside the form, would be what meets a session that has ended.
    await settled(page);
    const found = (await dashboard.stores.accounts.accounts()).find((one) => one.name === who);
    assert.ok(found);
    return found;
  }
  async function onlySession({ id }: Account): Promise<DashboardSession> {
    const [session, ...others] = await dashboard.stores.dashboardSessions.sessionsOf(id);
    assert.ok(session);
    assert.equal(others.length, 0);
    return session;
  }
  /** The new key is shown, the form is empty, and the service has one key of this name. */
  async function madeOnce(name: string): Promise<void> {
    await dialog(`The key “${name}”`).waitFor();
    await press("I have stored it");
    await page.getByRole("rowheader", { name, exact: true }).waitFor();
    assert.equal(await page.getByRole("rowheader", { name, exact: true }).count(), 1);
    assert.equal(await typed(), "");
    assert.equal(await made(name), 1);
  }

  const ends: readonly (readonly [string, (session: DashboardSession) => Promise<unknown>])[] = [
    ["ended elsewhere", (session) => dashboard.stores.dashboardSessions.end([session])],
    [
      "idle for too long",
      ({ key }) => dashboard.stores.dashboardSessions.touch(key, { lastSeenAt: Date.now() - HOUR_MS }),
    ],
  ];
  for (const [how, end] of ends)
    it(`a session that was ${how}: what was typed stays, and is sent once after the sign-in`, async () => {
      const name = `typed in a session ${how}`;
      await end(await onlySession(await typing(`Ada, ${how}`, name)));
      await press("Create the key");
      await dialog("Your session has ended").waitFor();
      assert.equal(await made(name), 0);
      assert.equal(await typed(), name);
      assert.deepEqual(await person.findings(), []);
      await page.getByRole("button", { name: "Sign in with a passkey" }).dblclick();
      await madeOnce(name);
    });

  it("a dangerous change asks for the passkey again: not given, nothing is sent; given, it is sent once", async () => {
    const name = "asked twice";
    const { key } = await onlySession(await typing("Cleo", name));
    await dashboard.stores.dashboardSessions.touch(key, { freshAt: Date.now() - HOUR_MS });
    await press("Create the key");
    await dialog("Use your passkey again").waitFor();
    assert.deepEqual(await person.findings(), []);
    await press("Cancel");
    await page.getByText("This was not sent.").waitFor();
    assert.equal(await typed(), name);
    assert.equal(await made(name), 0);
    await press("Create the key");
    await dialog("Use your passkey again").waitFor();
    await page.getByRole("button", { name: "Use the passkey" }).dblclick();
    await madeOnce(name);
    // It counts for a while: the next change asks nothing.
    await page.getByLabel("Name", { exact: true }).fill("soon after");
    await press("Create the key");
    await madeOnce("soon after");
  });

  it("a session that ends while the passkey is asked for again: the passkey signs in, and the change is sent once", async () => {
    const name = "ended under the dialog";
    const session = await onlySession(await typing("Dido", name));
    await dashboard.stores.dashboardSessions.touch(session.key, { freshAt: Date.now() - HOUR_MS });
    await press("Create the key");
    await dialog("Use your passkey again").waitFor();
    await dashboard.stores.dashboardSessions.end([session]);
    await press("Use the passkey");
    await madeOnce(name);
  });

  it("a connection that is lost before and while a key is saved: nothing typed is lost, and one key is made", async () => {
    const name = "made on a train";
    await typing("Emmy", name);
    const context = page.context();
    try {
      await context.setOffline(true);
      await press("Create the key");
      await page.getByText("The service cannot be reached").first().waitFor();
      assert.equal(await typed(), name);
      assert.equal(await made(name), 0);

      await context.setOffline(false);
      // The request arrives; the connection is lost before its answer does.
      await page.route("**/api/developer/keys", async (route) => {
        if (route.request().method() !== "POST") return route.continue();
        await route.fetch();
        await context.setOffline(true);
        return route.abort("internetdisconnected");
      });
      await press("Create the key");
      await page.getByText("The service cannot be reached").first().waitFor();
      await page.unroute("**/api/developer/keys");
      assert.equal(await made(name), 1);
      assert.equal(await typed(), name);
    } finally {
      await context.setOffline(false);
    }
    await page.getByRole("button", { name: "Create the key" }).dblclick();
    await madeOnce(name);
  });

  it("a recovery in another browser: old passkeys, sessions and other recovery links open nothing any more", async () => {
    const { id: accountId } = await typing("Fay", "typed by a thief");
    const terms = { purpose: "recovery", role: "developer", developerId: "shop", accountId } as const;
    const [used, other] = [await dashboard.invite(terms), await dashboard.invite(terms)];
    const elsewhere = await startBrowser();
    const owner = await startPerson(elsewhere);
    try {
      await owner.page.goto(linkOf(used));
      await owner.page.getByText("To come back to the account of Fay").waitFor();
      await owner.page.getByLabel("A name for this passkey").fill("new laptop");
      await press("Make a passkey", owner.page);
      await owner.page.locator("#content h1").waitFor();
      await settled(owner.page);
      await owner.page.context().clearCookies();
      await owner.page.goto(dashboard.origin);
      await press("Sign in with a passkey", owner.page);
      await owner.page.locator("#content h1").waitFor();

      await press("Create the key");
      await dialog("Your session has ended").waitFor();
      await press("Sign in with a passkey");
      await dialog("Your session has ended").locator(".fault, .notice.bad").first().waitFor();
      assert.equal(await made("typed by a thief"), 0);

      // Said before a passkey is made for nothing.
      for (const token of [used, other]) {
        await page.goto("about:blank");
        await page.goto(linkOf(token));
        await page.getByText("This invitation").first().waitFor();
        assert.equal(await page.getByRole("button", { name: "Make a passkey" }).count(), 0);
      }
      const found = await dashboard.stores.accounts.account(accountId);
      assert.deepEqual(
        found?.passkeys.map(({ name }) => name),
        ["new laptop"],
      );
      assert.deepEqual(owner.faults, []);
    } finally {
      await owner.close();
      await elsewhere.close();
    }
  });
});
