// Every screen of the dashboard as it is seen: nothing serious for axe, nothing wider than the window, nothing that the
// policy forbids, in light and dark, on a desk and on a phone.
import assert from "node:assert/strict";
import path from "node:path";
import { createApiKey } from "../../proxy/base/auth/api-keys.ts";
import { addDeveloper } from "../../proxy/base/auth/registration.ts";
import { buildPage, PAGES } from "../../scripts/build/pages.ts";
import { requireBrowser, startBrowser, type TestBrowser } from "../support/chromium.ts";
import { startDashboard, type RunningDashboard } from "../support/dashboard.ts";
import { acceptInvitation, settled, startPerson, type Person } from "./dashboard-person.ts";

const DAY_MS = 86_400_000;

const SCREENS = {
  developer: [
    ...["/", "/tickets", "/tickets?open=yes", "/keys", "/origins", "/apps", "/sessions", "/fees", "/audit"],
    ...["/account", "/nowhere"],
  ],
  operator: [
    ...["/", "/alarms", "/queue", "/enclaves", "/bridges", "/developers", "/invitations", "/accounts"],
    ...["/approvals", "/schedule", "/audit", "/account"],
  ],
} as const;
const HEIGHT = 600;
const LOOKS = [
  { scheme: "light", width: 980 },
  { scheme: "dark", width: 980 },
  { scheme: "light", width: 360 },
  { scheme: "dark", width: 360 },
] as const;

describe("screens of the dashboard", function () {
  let browser: TestBrowser;
  let dashboard: RunningDashboard;
  let person: Person;

  before(async function () {
    requireBrowser(this);
    dashboard = await startDashboard();
    const { keys, usage } = dashboard.stores;
    await addDeveloper(keys, { id: "shop", name: "The Shop" });
    await createApiKey(keys, dashboard.pepper, "shop", "production server");
    const today = Math.floor(Date.now() / DAY_MS);
    const days = Array.from({ length: 20 }, (_, ago) => today - ago);
    const counted = { developerId: "shop", operation: "relay" };
    await usage.pour("test", 1, [
      ...days.map((day, ago) => ({ ...counted, day, code: undefined, count: 40 + ((ago * 13) % 30) })),
      ...days.map((day, ago) => ({ ...counted, day, code: "RATE_LIMITED", count: 1 + (ago % 4) })),
    ]);
    browser = await startBrowser();
    person = await startPerson(browser);
  });
  after(async () => {
    await (person as Person | undefined)?.close();
    await (browser as TestBrowser | undefined)?.close();
    await (dashboard as RunningDashboard | undefined)?.stop();
  });

  /** What is wrong with what is shown now. */
  async function faults(name: string): Promise<string[]> {
    const { page } = person;
    const wider = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    const found = [...(await person.findings()), ...person.faults.splice(0)];
    return [...found, ...(wider > 0 ? [`${String(wider)} pixels wider than the window`] : [])].map(
      (fault) => `${name}: ${fault}`,
    );
  }

  async function look(role: keyof typeof SCREENS): Promise<string[]> {
    const { page } = person;
    const found: string[] = [];
    for (const { scheme, width } of LOOKS) {
      await page.emulateMedia({ colorScheme: scheme, reducedMotion: "reduce" });
      await page.setViewportSize({ width, height: HEIGHT });
      for (const at of SCREENS[role]) {
        await page.goto(dashboard.origin + at);
        await settled(page);
        const name = `${role}${at} ${scheme} ${String(width)}`;
        await page.evaluate(() => {
          for (const folded of document.querySelectorAll("main details")) folded.setAttribute("open", "");
        });
        found.push(...(await faults(name)));
      }
    }
    return found;
  }

  it("before anybody is known: the way in, and an invitation", async () => {
    const { page } = person;
    const found: string[] = [];
    const link = `/invitation#${await dashboard.invite({ purpose: "sign-up", role: "developer", developerId: "shop" })}`;
    for (const { scheme, width } of LOOKS) {
      await page.emulateMedia({ colorScheme: scheme });
      await page.setViewportSize({ width, height: HEIGHT });
      for (const at of ["/", link, "/invitation"]) {
        await page.goto("about:blank");
        await page.goto(dashboard.origin + at);
        await settled(page);
        const name = at === "/" ? "sign-in" : at === link ? "invitation" : "invitation-without-its-end";
        found.push(...(await faults(`${name} ${scheme} ${String(width)}`)));
      }
    }
    assert.deepEqual(found, []);
  });

  for (const role of ["developer", "operator"] as const)
    it(`of a ${role}`, async () => {
      await person.forget();
      const whose = role === "developer" ? { developerId: "shop" } : {};
      const token = await dashboard.invite({ purpose: "sign-up", role, ...whose });
      await acceptInvitation(person.page, `${dashboard.origin}/invitation#${token}`, "Ada Example");
      assert.deepEqual(await look(role), []);
    });

  it("a page beyond its bound is not built", async () => {
    const to = path.join(".cloister", "test", `page-${String(process.pid)}`);
    const sizes = await buildPage({ ...PAGES["dashboard"]!, to });
    assert.ok(sizes.firstLoad > 0 && sizes.firstLoad <= 150 * 1024);
    const tight = { ...PAGES["dashboard"]!, to, mostBytes: sizes.firstLoad - 1 };
    await assert.rejects(buildPage(tight), /more than/);
  });
});
