/** `npm run screens`: draws the pictures that the guides show again, by the browser suites that use the pages. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { copyFile, mkdir, mkdtemp, readdir, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { runCommand, UsageError } from "../base/command.ts";

const HELP = `Usage: npm run screens [-- --only dashboard|wallet]

Draws the pictures of the dashboard and of the wallet page again, by the suites that use these pages in Chromium on
stacks of their own, and puts them in the place of the committed ones. A suite that fails changes no picture of its
page. The suites keep pictures wherever CLOISTER_SCREENSHOTS=FOLDER says; this command sets it.

  --only NAME   the pictures of one page: dashboard or wallet
  --help        this text`;

const ROOT = path.resolve(import.meta.dirname, "../..");

export type Side = "dashboard" | "wallet";

/** Where each page's pictures lie, beside its guide, and which suites draw them. */
export const SIDES: Readonly<Record<Side, { readonly folder: string; readonly suites: readonly string[] }>> =
  {
    dashboard: {
      folder: "proxy/dashboard/page/pictures",
      suites: ["test/browser/dashboard-stack.test.ts"],
    },
    wallet: { folder: "scripts/wallet-page/pictures", suites: ["test/browser/wallet-page.test.ts"] },
  };

async function draw(side: Side): Promise<void> {
  const { folder, suites } = SIDES[side];
  const scratch = await mkdtemp(path.join(tmpdir(), "cloister-screens-"));
  try {
    await play(suites, scratch);
    const drawn = path.join(scratch, side);
    const files = await readdir(drawn).catch(() => []);
    if (files.length === 0) throw new Error(`the suites of the ${side} drew nothing`);
    const place = path.join(ROOT, folder);
    await rm(place, { recursive: true, force: true });
    await mkdir(place, { recursive: true });
    let bytes = 0;
    for (const file of files) {
      await copyFile(path.join(drawn, file), path.join(place, file));
      bytes += (await stat(path.join(place, file))).size;
    }
    console.log(`${folder}: ${String(files.length)} pictures, ${(bytes / 1024).toFixed(0)} KiB`);
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

async function play(suites: readonly string[], pictures: string): Promise<void> {
  const mocha = path.join(ROOT, "node_modules", "mocha", "bin", "mocha.js");
  const child = spawn(process.execPath, [mocha, "test/support/as-modules.mjs", "--exit"], {
    cwd: ROOT,
    stdio: ["ignore", "inherit", "inherit"],
    env: {
      ...process.env,
      CLOISTER_SPECS: JSON.stringify(suites),
      CLOISTER_SCREENSHOTS: pictures,
      // Without a browser the suites would be left out, which draws nothing.
      CLOISTER_REQUIRE_ALL: "1",
    },
  });
  const [code] = (await once(child, "close")) as [number | null];
  if (code !== 0) throw new Error(`${suites.join(", ")}: failed, so no picture was changed`);
}

const isSide = (name: string): name is Side => Object.hasOwn(SIDES, name);

if (process.argv[1] === import.meta.filename)
  await runCommand(
    {
      help: HELP,
      options: { help: { type: "boolean", short: "h" }, only: { type: "string" } },
      failure: (error) => (error instanceof Error ? error.message : error),
    },
    async ({ values: { only } }) => {
      if (only !== undefined && !isSide(only)) throw new UsageError(`${only} is no page with pictures`);
      for (const side of Object.keys(SIDES).filter(isSide))
        if (only === undefined || only === side) await draw(side);
      return 0;
    },
  );
