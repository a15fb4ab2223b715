// A real browser for tests: Debian's chromium through playwright-core, with a profile of its own that asks nobody
// but the pages of the test.
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import type { Context } from "mocha";
import { chromium, type BrowserContext } from "playwright-core";
import { PATIENCE_MS } from "../../scripts/base/poll.ts";

/** `npm test` finds one on the PATH and names it here. */
const CHROMIUM = process.env["CHROMIUM_PATH"] ?? "/usr/bin/chromium";
const ARGUMENTS = [
  "--headless",
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

export interface TestBrowser {
  readonly pages: BrowserContext;
  close(): Promise<void>;
}

/** In a `before` hook, first: leaves the suite out where there is no browser, and fails it where one is required. */
export function requireBrowser(suite: Context): void {
  if (existsSync(CHROMIUM)) return;
  const text = `no browser at ${CHROMIUM}: install Debian's chromium, or name one in CHROMIUM_PATH`;
  if (process.env["CLOISTER_REQUIRE_ALL"] === "1") throw new Error(text);
  console.log(`    left out: ${text}`);
  suite.skip();
}

export async function startBrowser(): Promise<TestBrowser> {
  const profile = await mkdtemp(path.join(tmpdir(), "cloister-browser-"));
  const forget = (): Promise<void> => rm(profile, { recursive: true, force: true, maxRetries: 5 });
  const options = { executablePath: CHROMIUM, args: ARGUMENTS, timeout: PATIENCE_MS };
  const pages = await chromium.launchPersistentContext(profile, options).catch(async (error: unknown) => {
    await forget();
    throw error;
  });
  pages.setDefaultTimeout(PATIENCE_MS);
  return {
    pages,
    close: async () => {
      await pages.close();
      await forget();
    },
  };
}
