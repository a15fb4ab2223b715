// Pictures of the pages, as the guides show them. Each is named here, and a suite that draws a page takes its picture;
// it is kept only where CLOISTER_SCREENSHOTS names a folder, as `npm run screens` does.
import assert from "node:assert/strict";
import { mkdir, writeFile } from "node:fs/promises";
import path from "node:path";
import type { Page } from "playwright-core";
import type { Side } from "../../scripts/build/screens.ts";

const FOLDER = process.env["CLOISTER_SCREENSHOTS"];
/** A repository is cloned by everybody. */
export const MOST_PICTURE_BYTES = 60 * 1024;
/** Best first: only a picture that would be too large is drawn less well. */
const QUALITIES = [82, 60, 40];

const LOOKS = {
  desk: { width: 1024, most: 1280, colorScheme: "light" },
  dark: { width: 1024, most: 1280, colorScheme: "dark" },
  phone: { width: 390, most: 844, colorScheme: "light" },
} as const;
const LEAST_HEIGHT = 480;

/** `NAME`, `NAME-dark` and `NAME-phone`, as LOOKS says. */
export const PICTURES: Readonly<Record<Side, readonly string[]>> = {
  dashboard: [
    ...["sign-in", "invitation", "invitation-phone"],
    ...["developer-overview", "developer-overview-dark", "developer-overview-phone"],
    ...["developer-tickets", "developer-ticket", "developer-keys", "developer-origins", "developer-apps"],
    ...["developer-sessions", "developer-fees", "developer-audit", "developer-account"],
    ...["operator-health", "operator-health-dark", "operator-health-phone", "operator-alarms"],
    ...["operator-queue", "operator-enclaves", "operator-bridges", "operator-developers"],
    ...["operator-invitations", "operator-accounts", "operator-approvals", "operator-schedule"],
    ...["operator-audit", "operator-account"],
  ],
  wallet: [
    ...["begin", "settings", "safety", "deposit", "request", "request-phone", "pay"],
    ...["wallet", "wallet-dark", "wallet-phone", "activity", "people", "bridge", "withdraw"],
    ...["disclose", "verify", "swap"],
  ],
};

/** Takes every picture of this name that the list has. The page is left at its size, and light. */
export async function takePictures(page: Page, side: Side, name: string): Promise<void> {
  assert.ok(PICTURES[side].includes(name), `the guides' pictures of the ${side} do not name ${name}`);
  if (FOLDER === undefined) return;
  const before = page.viewportSize();
  await mkdir(path.join(FOLDER, side), { recursive: true });
  // Nothing is shown as pointed at.
  await page.mouse.move(0, 0);
  for (const [look, { width, most, colorScheme }] of Object.entries(LOOKS)) {
    const picture = look === "desk" ? name : `${name}-${look}`;
    if (!PICTURES[side].includes(picture)) continue;
    await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
    await page.setViewportSize({ width, height: LEAST_HEIGHT });
    await page.setViewportSize({ width, height: Math.min(most, await heightOf(page)) });
    await showWhatWasMade(page);
    await writeFile(path.join(FOLDER, side, `${picture}.webp`), await smallPicture(page, picture));
  }
  await page.emulateMedia({ colorScheme: "light" });
  if (before !== null) await page.setViewportSize(before);
}

const heightOf = (page: Page): Promise<number> =>
  page.evaluate(() => {
    // The menu scrolls by itself beside a page that is shorter.
    const menu = document.querySelector(".side")?.scrollHeight ?? 0;
    return Math.max(document.documentElement.scrollHeight, menu, innerHeight);
  });

/** On a page that is longer than its picture, that is what a reader wants to see. */
const showWhatWasMade = (page: Page): Promise<void> =>
  page.evaluate(() => {
    scrollTo(0, 0);
    const made = document.querySelector(".made, .offer");
    if (made !== null && made.getBoundingClientRect().bottom > innerHeight) made.scrollIntoView();
  });

async function smallPicture(page: Page, name: string): Promise<Buffer> {
  for (const quality of QUALITIES) {
    const picture = await page.screenshot({ type: "webp", quality, scale: "css", animations: "disabled" });
    if (picture.length <= MOST_PICTURE_BYTES) return picture;
  }
  assert.fail(`${name} is no picture of at most ${String(MOST_PICTURE_BYTES)} bytes`);
}
