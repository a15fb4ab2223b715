// The dashboard beside a running network, as `npm start` has it: what a developer sets there holds at the proxy, what is
// used there is seen here, and an operator sees the alarm of a watcher that judged the chain itself. Its screens, full of
// what has happened, are the guides' pictures of the dashboard.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import type { Page } from "playwright-core";
import {
  startLocalDashboard,
  WATCHER_FILE,
  type LocalDashboard,
} from "../../scripts/stack/local-dashboard.ts";
import { DEVELOPER_ID } from "../../scripts/stack/development-credential.ts";
import { inStore } from "../../scripts/stack/local-store.ts";
import { requireBrowser, startBrowser, type TestBrowser } from "../support/chromium.ts";
import { startTestStack, type TestStack } from "../support/stack.ts";
import { PROJECT_ROOT } from "../support/tree.ts";
import { until } from "../support/until.ts";
import { acceptInvitation, go, settled, startPerson, type Person } from "./dashboard-person.ts";
import { takePictures } from "./pictures.ts";

const SHOP = "https://shop.example";
const DAY_MS = 86_400_000;
/** Each screen, and the name of its picture. */
const DEVELOPER = {
  ...{ "/": "overview", "/tickets": "tickets", "/keys": "keys", "/origins": "origins", "/apps": "apps" },
  ...{ "/sessions": "sessions", "/fees": "fees", "/audit": "audit", "/account": "account" },
};
const OPERATOR = {
  ...{
    "/": "health",
    "/alarms": "alarms",
    "/queue": "queue",
    "/enclaves": "enclaves",
    "/bridges": "bridges",
  },
  ...{ "/developers": "developers", "/invitations": "invitations", "/accounts": "accounts" },
  ...{ "/approvals": "approvals", "/schedule": "schedule", "/audit": "audit", "/account": "account" },
};

describe("the dashboard beside a running network", function () {
  let stack: TestStack;
  let dashboard: LocalDashboard;
  let browser: TestBrowser;
  let person: Person;
  let page: Page;
  let apiKey: string;

  before(async function () {
    requireBrowser(this);
    stack = await startTestStack({ proxySettings: { CLOISTER_OPERATIONS_PORT: "0" } });
    dashboard = await startLocalDashboard(stack.local, 0);
    browser = await startBrowser();
    person = await startPerson(browser);
    ({ page } = person);
  });
  after(async () => {
    await (person as Person | undefined)?.close();
    await (browser as TestBrowser | undefined)?.close();
    await (dashboard as LocalDashboard | undefined)?.stop();
    await (stack as TestStack | undefined)?.stop();
  });
  afterEach(() => assert.deepEqual(person.faults.splice(0), []));

  const press = (name: string): Promise<void> => page.getByRole("button", { name, exact: true }).click();
  const info = async (): Promise<number> => {
    const response = await fetch(`${stack.entry.base_url}/info`, { headers: { "X-API-Key": apiKey } });
    await response.body?.cancel();
    return response.status;
  };
  const letIn = async (): Promise<string | null> => {
    const response = await fetch(`${stack.entry.base_url}/info`, {
      method: "OPTIONS",
      headers: { Origin: SHOP, "Access-Control-Request-Method": "GET" },
    });
    await response.body?.cancel();
    return response.headers.get("Access-Control-Allow-Origin");
  };

  /** Opens each, and what each says that is wrong. */
  async function open(role: string, screens: Readonly<Record<string, string>>): Promise<string[]> {
    const told: string[] = [];
    await page.setViewportSize({ width: 1024, height: 720 });
    for (const [at, name] of Object.entries(screens)) {
      await page.goto(dashboard.origin + at);
      await settled(page);
      if (at === "/fees") await page.getByText(/^Of a transfer of 100/).waitFor();
      const faults = await page.locator("main .fault, main .notice.bad").allTextContents();
      told.push(...faults.map((fault) => `${at}: ${fault.replace(/ Seen .*/, "")}`));
      const wider = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      if (wider > 0) told.push(`${at}: ${String(wider)} pixels wider than the window`);
      await takePictures(page, "dashboard", `${role}-${name}`);
    }
    return told;
  }

  it("the way in, and an invitation", async () => {
    await page.goto(dashboard.origin);
    await page.getByRole("button", { name: "Sign in with a passkey" }).waitFor();
    await takePictures(page, "dashboard", "sign-in");
    await page.goto(dashboard.invitations.developer);
    await page.getByLabel("Your name").waitFor();
    await settled(page);
    await takePictures(page, "dashboard", "invitation");
  });

  it("a key made there is taken by the proxy, and its use is seen", async () => {
    await acceptInvitation(page, dashboard.invitations.developer, "Ada");
    await go(page, "API keys");
    await page.getByLabel("Name").fill("production server");
    await press("Create the key");
    apiKey = (await page.getByRole("dialog").locator("pre").textContent()) ?? "";
    await press("I have stored it");
    assert.equal(await info(), 200);
    await until("the request to be in the sums", async () => {
      await page.goto(dashboard.origin);
      await settled(page);
      return (await page.getByText(/Requests: [1-9]/).count()) > 0;
    });
  });

  it("an origin registered there is let in by the proxy, and not before", async () => {
    assert.equal(await letIn(), null);
    await go(page, "Origins");
    await page.getByLabel("Origin", { exact: true }).fill(SHOP);
    await press("Register it");
    await page.getByRole("rowheader", { name: SHOP }).waitFor();
    await until("the proxy to know it", async () => (await letIn()) === SHOP);
  });

  it("a key revoked there is refused by the proxy", async () => {
    await go(page, "API keys");
    const row = page.getByRole("row").filter({ hasText: "production server" });
    await row.getByRole("button", { name: /Revoke/ }).click();
    await page
      .getByRole("dialog")
      .getByRole("button", { name: /Revoke/ })
      .click();
    await until("the proxy to refuse it", async () => (await info()) === 401);
  });

  it("a payment of its users is among the tickets, with its life", async () => {
    const wallet = await stack.wallet();
    await wallet.deposit(10_000_000n, await stack.depositor(10_000_000n));
    const sink = wallet.address;
    await wallet.close();
    const ended = page.getByRole("row", { name: /deposit/ }).getByRole("link");
    await until("the payment to be final", async () => {
      await page.goto(`${dashboard.origin}/tickets`);
      await settled(page);
      return (await ended.count()) === 1;
    });
    await ended.click();
    await page.getByRole("heading", { level: 1, name: "Ticket" }).waitFor();
    await settled(page);
    await page.getByText("finalized").first().waitFor();
    await takePictures(page, "dashboard", "developer-ticket");

    await go(page, "Fee rules");
    await page.getByLabel("Flat, in").fill("0.30");
    await page.getByLabel("Sink").fill(sink);
    await press("Set the rule");
    await page.getByRole("cell", { name: /0\.30/ }).first().waitFor();
  });

  it("a developer's every screen shows what it is for", async () => {
    await go(page, "Identity providers");
    await page.getByText("Request an app").click();
    await page.getByLabel("Issuer").fill("https://id.example/");
    await page.getByLabel("Audience").fill("https://api.example");
    await page.getByLabel("Key set").fill("https://id.example/keys.json");
    await press("Send the request");
    await page.getByText("pending").waitFor();
    const today = Math.floor(Date.now() / DAY_MS);
    const counted = { developerId: DEVELOPER_ID, operation: "relay" };
    await inStore(stack.local.folder.inside("store"), ({ usage }) =>
      usage.pour("earlier", 1, [
        ...Array.from({ length: 20 }, (_, ago) => ({
          ...{ ...counted, day: today - 1 - ago, code: undefined, count: 40 + ((ago * 13) % 30) },
        })),
        { ...counted, day: today - 3, code: "RATE_LIMITED", count: 6 },
      ]),
    );
    assert.deepEqual(await open("developer", DEVELOPER), []);
  });

  it("an operator sees that the parts answer, and the alarm of a watcher that finds the pool short", async () => {
    await person.forget();
    await acceptInvitation(page, dashboard.invitations.operator, "Olga");
    await go(page, "Health");
    const part = (name: string) =>
      page.getByRole("article").filter({ has: page.getByRole("heading", { name, exact: true }) });
    for (const name of ["proxy 1", "store", "chain"])
      await part(name).getByText("ok", { exact: true }).first().waitFor();
    await part("watcher").getByText("the watcher is silent").waitFor();

    const { pool, usdc } = stack.entry;
    await stack.chain.send("anvil_impersonateAccount", [pool]);
    await stack.chain.send("anvil_setBalance", [pool, "0xde0b6b3a7640000"]);
    const data = `0xa9059cbb${"5b".repeat(20).padStart(64, "0")}${"1".padStart(64, "0")}`;
    await stack.chain.send("eth_sendTransaction", [{ from: pool, to: usdc, data }]);
    const words = [
      "--once",
      "--stack",
      stack.stack.folder.path,
      "--status",
      stack.local.folder.inside(WATCHER_FILE),
    ];
    const watcher = spawn(process.execPath, ["scripts/build/run.mjs", "scripts/watch/main.ts", ...words], {
      cwd: PROJECT_ROOT,
      stdio: "ignore",
    });
    assert.deepEqual(await once(watcher, "close"), [2, null]);
    await go(page, "Alarms");
    await page.getByRole("heading", { name: "BALANCE_SHORT" }).waitFor();
  });

  it("an operator's every screen shows what it is for, the bad news among it", async () => {
    const told = await open("operator", OPERATOR);
    await page.goto(`${dashboard.origin}/schedule`);
    await page.getByRole("cell", { name: "$ 0.05 (0.05 USDC now)" }).first().waitFor();
    assert.deepEqual(told, [
      "/: A part is down: payments may wait.",
      "/alarms: the pool holds less than it owes to its notes",
    ]);
  });
});
