// A person at the dashboard: a page of the real browser with a virtual authenticator, which says what the page's policy
// forbade and what the page threw.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { BrowserContext, CDPSession, Page } from "playwright-core";
import type { TestBrowser } from "../support/chromium.ts";

const axeSource = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

export interface Person {
  readonly page: Page;
  /** What the content security policy forbade, and errors that nothing caught. Empty where all is well. */
  readonly faults: string[];
  /** Serious and critical findings of axe on what is shown now. */
  findings(): Promise<string[]>;
  /** Signed out, and with an authenticator that is empty: it has room for three passkeys. */
  forget(): Promise<void>;
  close(): Promise<void>;
}

/** With an authenticator that says yes, as a person does who holds a finger on it. */
export async function startPerson({ pages }: TestBrowser): Promise<Person> {
  const browser = pages.browser();
  const context: BrowserContext = browser === null ? pages : await browser.newContext();
  const page = await context.newPage();
  const faults: string[] = [];
  page.on("pageerror", (error) => faults.push(String(error)));
  page.on("console", (message) => {
    if (/content security policy|trusted/i.test(message.text())) faults.push(message.text());
  });
  await page.exposeFunction("reportViolation", (text: string) => faults.push(text));
  await page.addInitScript(() => {
    document.addEventListener("securitypolicyviolation", ({ violatedDirective, blockedURI }) => {
      Reflect.get(globalThis, "reportViolation")(`${violatedDirective} ${blockedURI}`);
    });
  });
  const devTools = await context.newCDPSession(page);
  await devTools.send("WebAuthn.enable");
  const { authenticatorId } = await devTools.send("WebAuthn.addVirtualAuthenticator", {
    options: {
      ...{ protocol: "ctap2", transport: "internal", hasResidentKey: true },
      ...{ hasUserVerification: true, isUserVerified: true, automaticPresenceSimulation: true },
    },
  });
  return {
    page,
    faults,
    findings: () => findingsOf(devTools),
    forget: async () => {
      await context.clearCookies();
      await devTools.send("WebAuthn.clearCredentials", { authenticatorId });
    },
    close: async () => {
      await page.close();
      if (context !== pages) await context.close();
    },
  };
}

/** In a world of its own beside the page's: the page's policy lets no such script in. */
async function findingsOf(devTools: CDPSession): Promise<string[]> {
  const { frameTree } = await devTools.send("Page.getFrameTree");
  const world = { frameId: frameTree.frame.id, worldName: "axe" };
  const { executionContextId: contextId } = await devTools.send("Page.createIsolatedWorld", world);
  await devTools.send("Runtime.evaluate", { expression: axeSource, contextId });
  // Colours on their way from one to another are nobody's choice.
  const still = `Promise.allSettled(document.getAnimations()
    .filter(({ effect }) => Number.isFinite(effect.getComputedTiming().endTime))
    .map(({ finished }) => finished))`;
  const expression = `${still}.then(() => axe.run(document, { resultTypes: ["violations"] })).then(({ passes, violations }) =>
    JSON.stringify({
      passed: passes.length,
      found: violations
        .filter(({ impact }) => impact === "serious" || impact === "critical")
        .map(({ id, nodes }) => id + ": " + nodes[0].html.slice(0, 200)),
    }))`;
  const { result } = await devTools.send("Runtime.evaluate", {
    ...{ expression, contextId, awaitPromise: true, returnByValue: true },
  });
  const { passed, found } = JSON.parse(result.value);
  // Of a page where nothing was looked at nothing is known.
  return passed > 5 ? found : ["axe looked at nothing"];
}

/** Loaded, and nothing asked for any more. */
export async function settled(page: Page): Promise<void> {
  await page.waitForSelector("h1");
  await page.waitForFunction(() => document.querySelector("main [aria-busy=true]") === null);
}

/** Accepts an invitation by its link, as a person who has a device with passkeys. */
export async function acceptInvitation(page: Page, link: string, name: string): Promise<void> {
  await page.goto(link);
  await page.getByLabel("Your name").fill(name);
  await page.getByLabel("A name for this passkey").fill("my laptop");
  await page.getByRole("button", { name: "Make a passkey" }).click();
  await page.locator("#content h1").waitFor();
  await settled(page);
}

/** Through the menu, as a person goes. */
export async function go(page: Page, entry: string): Promise<void> {
  await page.getByRole("link", { name: entry, exact: true }).first().click();
  await settled(page);
}
