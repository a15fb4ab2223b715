// `cloister-client/chain` in a real browser: a page with a key and a node alone restores a wallet, and pays by a proof of its
// own. Its origin is not the node's, and its policy lets it ask its own files and that node, and nobody else.
import { build } from "esbuild";
import { toBeHex, Wallet as Account } from "ethers";
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import type { Page } from "playwright-core";
import { DEVELOPMENT_KEYS, developmentProver } from "../../shared/client/node/development.ts";
import { folderArtefacts, readManifest } from "../../shared/client/node/index.ts";
import type { Prover, Wallet } from "../../shared/client/index.ts";
import { requireBrowser, startBrowser, type TestBrowser } from "../support/chromium.ts";
import { freshProject, type FreshProject } from "../support/fresh-project.ts";
import { LonePool, PROVED_DELAY_SECS, SILENCE_SECS } from "../support/lone-pool.ts";
import { startPageOrigin, strictPolicy, type PageOrigin } from "../support/page-origin.ts";
import { PROJECT_ROOT } from "../support/tree.ts";
import type { GivenChain } from "./chain-page.ts";

const [OWN, RECEIVER] = [31, 32];
const DEPOSITS = [100n, 60n];
const HELD = 160n;
const BLOCK_SECS = 1;
const FINALITY = 2;

describe("a wallet without its service in a browser", function () {
  let project: FreshProject;
  let prover: Prover;
  let lone: LonePool;
  let browser: TestBrowser;
  let shop: PageOrigin;
  let receiver: Wallet;

  before(async function () {
    requireBrowser(this);
    project = await freshProject();
    const { outputFiles, metafile } = await build({
      entryPoints: [`${PROJECT_ROOT}/test/browser/chain-page.ts`],
      ...{ bundle: true, platform: "browser", format: "esm", target: "es2022", write: false, metafile: true },
      // The installed package, as an application gets it.
      plugins: [
        {
          name: "packaged client",
          setup({ onResolve, resolve }) {
            const packaged = (entry: string) => () =>
              resolve(entry, { kind: "import-statement", resolveDir: project.folder });
            onResolve({ filter: /\/shared\/client\/index\.ts$/ }, packaged("cloister-client"));
            onResolve({ filter: /\/shared\/client\/chain\.ts$/ }, packaged("cloister-client/chain"));
          },
        },
      ],
    });
    assert.deepEqual(
      Object.keys(metafile.inputs).filter((file) => /(^|\/)shared\/client\//.test(file)),
      [],
      "the page has the package's code, not this checkout's",
    );
    prover = await developmentProver();
    lone = await LonePool.start(prover);
    await depositAndAge();
    await lone.provider.send("evm_setIntervalMining", [BLOCK_SECS]);

    shop = await startPageOrigin(outputFiles[0]!.contents);
    shop.policy = strictPolicy(lone.anvil.url);
    const { zkey, wasm } = await folderArtefacts(DEVELOPMENT_KEYS)("spend");
    shop.files.set("/artefacts/spend.zkey", { type: "application/octet-stream", body: zkey });
    shop.files.set("/artefacts/spend.wasm", { type: "application/wasm", body: wasm });
    shop.files.set("/dist/worker.js", { type: "text/javascript", body: await readFile(project.worker) });
    browser = await startBrowser();
  });
  after(async () => {
    await (browser as TestBrowser | undefined)?.close();
    await (shop as PageOrigin | undefined)?.close();
    await (receiver as Wallet | undefined)?.close();
    await (lone as LonePool | undefined)?.stop();
    await (prover as Prover | undefined)?.close();
    await (project as FreshProject | undefined)?.remove();
  });

  /** By another device, long ago: two notes that are old enough. */
  async function depositAndAge(): Promise<void> {
    receiver = await lone.wallet({ seed: RECEIVER });
    const earlier = await lone.wallet({ seed: OWN });
    const alone = await earlier.withoutService(await lone.account(HELD));
    for (const amount of DEPOSITS) await alone.deposit(amount);
    await lone.pass(SILENCE_SECS);
    await alone.advance();
    await lone.pass(PROVED_DELAY_SECS);
    // A deadline is counted from the time of the newest final block, which has to be one after the jump.
    await lone.provider.send("anvil_mine", [toBeHex(FINALITY)]);
    await earlier.close();
  }

  interface Tab {
    readonly page: Page;
    readonly stored: string;
    /** What went wrong, and whom it asked. */
    ended(): Promise<{ faults: string[]; violations: readonly string[]; asked: string[] }>;
  }

  /** With an account of its own: two tabs of one account would take each other's nonces. */
  async function tab(database: string): Promise<Tab> {
    const { privateKey, address } = Account.createRandom();
    await lone.provider.send("anvil_setBalance", [address, toBeHex(10n ** 20n)]);
    const given: GivenChain = {
      ...{ node: lone.anvil.url, fromBlock: lone.block, finality: FINALITY, database },
      ...{ accountKey: privateKey, seed: Array.from({ length: 32 }, () => OWN) },
      manifest: await readManifest(DEVELOPMENT_KEYS),
      pins: {
        ...{ chainId: lone.anvil.chainId, pool: lone.pool, assets: [lone.asset] },
        ...{ addressPrefix: "clodev", verifyingKeys: lone.keyHashes },
      },
    };
    const page = await browser.pages.newPage();
    const [faults, asked] = [[] as string[], new Set<string>()];
    page.on("pageerror", (error) => faults.push(String(error)));
    page.on("request", (request) => asked.add(new URL(request.url()).origin));
    await page.goto(shop.url);
    await page.waitForFunction(() => "lone" in window);
    const stored = await page.evaluate((input) => window.lone.open(input), given);
    const ended = async () => {
      const violations = await page.evaluate(() => window.lone.violations());
      return { faults, violations, asked: [...asked].filter((origin) => origin !== "null").sort() };
    };
    return { page, stored, ended };
  }
  const balance = ({ page }: Tab): Promise<string> => page.evaluate(() => window.lone.balance());
  const pay = ({ page }: Tab, value: bigint) =>
    page.evaluate(([to, text]) => window.lone.pay(to, text), [receiver.address, String(value)] as const);
  it("restores from key and node, and pays by a proof of its own; a second tab knows it, exactly", async () => {
    const [one, two] = [await tab("lone"), await tab("lone")];
    assert.deepEqual([one.stored, two.stored], ["0", "0"]);
    assert.equal(await balance(one), String(HELD));
    assert.equal(await balance(two), String(HELD));

    const paid = await pay(one, 30n);
    assert.ok("hash" in paid, JSON.stringify(paid));
    const receipt = await lone.provider.getTransactionReceipt(paid.hash);
    assert.deepEqual([receipt?.status, receipt?.to?.toLowerCase()], [1, lone.pool]);
    for (const each of [one, two]) assert.equal(await balance(each), String(HELD - 30n));
    await receiver.sync();
    assert.equal(receiver.balance().total, 30n);
    // What came back is young: no root covers it yet.
    assert.match(JSON.stringify(await pay(two, 1n)), /NOTES_YOUNG/);

    for (const each of [one, two]) {
      const { faults, violations, asked } = await each.ended();
      assert.deepEqual([faults, violations], [[], []]);
      assert.deepEqual(asked, [shop.url, lone.anvil.url].sort());
    }
  });

  it("a tab that is opened later has it from its storage, and another browser from the node, exactly", async () => {
    const later = await tab("lone");
    assert.equal(later.stored, String(HELD - 30n));
    const elsewhere = await tab("elsewhere");
    assert.equal(elsewhere.stored, "0");
    assert.equal(await balance(elsewhere), String(HELD - 30n));
  });

  it("says that the node is not reached where the page's policy leaves it out, and asks nobody else", async () => {
    shop.policy = strictPolicy("");
    const barred = await tab("barred");
    const said = await barred.page.evaluate(() =>
      window.lone
        .balance()
        .then(String, (error: unknown) => (error as { code?: string }).code ?? String(error)),
    );
    assert.equal(said, "NODE_UNREACHABLE");
    const { violations, asked } = await barred.ended();
    assert.ok(violations.every((text) => text.startsWith("connect-src")) && violations.length > 0);
    assert.ok(asked.every((origin) => [shop.url, lone.anvil.url].includes(origin)));
  });
});
