// The example wallet page when things do not go their way: what is typed wrong, a payment cancelled or cut off, two tabs, no
// network, a service that does not prove what it runs, and no mouse.
import assert from "node:assert/strict";
import { Interface, toQuantity } from "ethers";
import type { BrowserContext, Page } from "playwright-core";
import { startWalletPage, type WalletPage } from "../../scripts/stack/wallet-page.ts";
import { writePaymentRequest } from "../../shared/client/index.ts";
import { pinsOf } from "../../scripts/stack/stack-wallet.ts";
import { POOL_ABI } from "../../shared/contracts/abi.ts";
import { requireBrowser, startBrowser, type TestBrowser } from "../support/chromium.ts";
import { startTestStack, type TestStack } from "../support/stack.ts";
import { PASSWORD, Person } from "./wallet-page-person.ts";

const FREE = { page: 0, sessions: 0 };
const TABS_AT_MOST = 80;
const HOUR = 3_600;
const POOL_INTERFACE = new Interface(POOL_ABI);
/** Of a proposal: whatever its owner writes is shown as text. */
const WORDS = ["7d5c1f0 <b>audited</b>", "npm run build-image"];

describe("wallet page: states", function () {
  let stack: TestStack;
  let site: WalletPage;
  let browser: TestBrowser;
  let other: string;
  let anna: Person;

  before(async function () {
    requireBrowser(this);
    stack = await startTestStack();
    site = await startWalletPage(stack.stack, { ports: FREE });
    browser = await startBrowser();
    other = (await stack.wallet()).address;
  });
  after(async () => {
    await (browser as TestBrowser | undefined)?.close();
    await (site as WalletPage | undefined)?.stop();
    await (stack as TestStack | undefined)?.stop();
  });

  const arrive = (context: BrowserContext = browser.pages): Promise<Person> =>
    Person.arrive(context, site.url);

  async function pay(person: Person, amount: string, to = other): Promise<void> {
    await person.go("Wallet", "Pay");
    await person.fill("To", to);
    await person.fill("Amount", amount);
    await person.press("Pay");
  }
  const paid = async (person: Person, amount: string): Promise<void> => {
    await pay(person, amount);
    await person.done().waitFor();
  };

  it("says beside each field what is wrong, and sends nothing", async () => {
    anna = await arrive();
    await anna.make();
    await anna.deposit("20");
    const own = await anna.address();
    const said = async (to: string, amount: string): Promise<string> => {
      await pay(anna, amount, to);
      return (await anna.wrong()).join(" ");
    };
    assert.match(await said(other, "1,5"), /with a point, and no commas/);
    assert.match(await said(other, "1000"), /more than the 19\.95 USDC that you can use/);
    assert.match(await said(other, "0.0000001"), /has 6 decimals/);
    assert.match(await said(own, "1"), /This is your own address/);
    assert.match(await said(stack.entry.pool, "1"), /public address/);
    assert.match(await said("clodevb1qqqqqqqqq", "1"), /begins with clodev1/);
    const stale = writePaymentRequest(pinsOf(stack.entry), {
      ...{ to: other, asset: stack.entry.usdc, amount: 1_000_000n },
      expiresAt: Math.floor(Date.now() / 1_000) - HOUR,
    });
    await anna.go("Wallet", "Pay");
    await anna.fill("A request’s link, if you have one", `${site.url}/pay#${stale}`);
    assert.match((await anna.wrong()).join(), /This request has expired/);
    await anna.go("Wallet", "Withdraw");
    await anna.fill("Public address", other);
    await anna.fill("Amount", "1");
    await anna.press("Withdraw");
    assert.match((await anna.wrong()).join(), /private address. To pay it, use Pay/);
    await anna.fill("Public address", `0xA${"a".repeat(39)}`);
    await anna.press("Withdraw");
    await anna.page.getByText("the case of its letters does not fit").waitFor();
    assert.match((await anna.wrong()).join(), /case of its letters/);
    await anna.go("Wallet");
    await anna.untilBalance("19.95");
  });

  it("cancels a proof: nothing is sent, nothing is held, and the next payment goes", async () => {
    await pay(anna, "1");
    await anna.page
      .getByText(/Fetching the proving key|Checking the proving key|Proving on this device/)
      .waitFor();
    await anna.press("Cancel");
    assert.match(await anna.fault(), /Cancelled\. Nothing was sent/);
    await anna.go("Wallet");
    await anna.untilBalance("19.95");
    await paid(anna, "1");
    await anna.go("Wallet");
    await anna.untilBalance("18.9");
  });

  it("closed while it proves: not sent and not held; the proving key is fetched no second time", async () => {
    await pay(anna, "1");
    await anna.page.getByText("Proving on this device").waitFor();
    const fetched: string[] = [];
    anna.page.on("request", (request) => {
      if (request.url().includes("/artefacts/")) fetched.push(request.url());
    });
    await anna.reload();
    await anna.unlock();
    await anna.untilBalance("18.9");
    await anna.page.locator("[data-standing=live]").waitFor({ state: "attached" });
    await anna.untilBalance("18.9");
    await paid(anna, "1");
    await anna.go("Wallet");
    await anna.untilBalance("17.85");
    assert.deepEqual(fetched, []);
  });

  it("closed behind its sending, before the answer: found again after the reload", async () => {
    let arrived: () => void = () => undefined;
    const taken = new Promise<void>((resolve) => (arrived = resolve));
    await anna.page.route("**/sequence/spend", async (route) => {
      // The service has it; the page never hears of that.
      await route.fetch();
      arrived();
    });
    await pay(anna, "2");
    await taken;
    await anna.page.unroute("**/sequence/spend");
    await anna.reload();
    await anna.unlock();
    await anna.untilBalance("15.8");
    await anna.go("Activity");
    await anna.page.locator("[data-kind=transfer][data-state=done]").nth(2).waitFor();
    assert.match((await anna.page.locator("[data-kind=transfer]").first().textContent()) ?? "", /2\.05 USDC/);
  });

  it("two tabs show one wallet, and both may pay", async () => {
    const second = await arrive();
    await second.unlock();
    await second.untilBalance("15.8");
    await paid(anna, "1");
    await second.untilBalance("14.75");
    await paid(second, "1");
    await anna.go("Wallet");
    await anna.untilBalance("13.7");
    assert.deepEqual(second.faults, []);
    await second.page.close();
  });

  it("opens without a network, shows what was known, and says so", async () => {
    await anna.page.evaluate(() => navigator.serviceWorker.ready.then(() => undefined));
    await browser.pages.setOffline(true);
    await anna.reload();
    await anna.unlock();
    await anna.untilBalance("13.7");
    await anna.page.locator("[data-standing=away] p").waitFor();
    await anna.go("Activity");
    await anna.page.locator("[data-kind=deposit]").waitFor();
    for (const place of ["People", "Safety", "Settings"]) {
      await anna.go(place);
      await anna.heading(place);
    }
    await browser.pages.setOffline(false);
    await anna.page.locator("[data-standing=live]").waitFor({ state: "attached" });
  });

  it("a damaged copy of the history is told at the door, and read again by one button; the rest stays", async () => {
    await anna.go("Wallet");
    const network = await anna.page.locator("select[name=network]").inputValue();
    /** Takes the part out that is `place`-th by its name, and puts the last one back; false when there is none. */
    const take = (place: number): Promise<boolean> =>
      anna.page.evaluate(
        ([key, at]) =>
          new Promise<boolean>((resolve, reject) => {
            const opening = indexedDB.open("cloister-wallets", 1);
            opening.onerror = () => reject(new Error("it does not open"));
            opening.onsuccess = () => {
              const change = opening.result.transaction("wallets", "readwrite");
              const store = change.objectStore("wallets");
              let isTaken = false;
              change.onabort = () => reject(new Error("it gave up"));
              change.oncomplete = () => {
                opening.result.close();
                resolve(isTaken);
              };
              const last = store.get("taken");
              last.onsuccess = () => {
                const taken = last.result as { name: IDBValidKey; part: unknown } | undefined;
                if (taken !== undefined) store.put(taken.part, taken.name);
                const names = store.getAllKeys(IDBKeyRange.bound([key], [key, []]));
                names.onsuccess = () => {
                  const name = names.result[at];
                  if (name === undefined) return;
                  const part = store.get(name);
                  part.onsuccess = () => {
                    store.put({ name, part: part.result as unknown }, "taken");
                    store.delete(name);
                    isTaken = true;
                  };
                };
              };
            };
          }),
        [network, place] as const,
      );
    // What is the wallet's own nobody can read again: those parts are put back.
    for (let place = 0; ; place++) {
      await anna.reload();
      assert.ok(await take(place), "no part of the history was found");
      await anna.reload();
      await anna.page.getByLabel("Password").fill(PASSWORD);
      await anna.press("Open");
      const fault = await anna.fault();
      if (/copy of the pool's history is damaged/.test(fault)) break;
      assert.match(fault, /^This device: What this browser kept cannot be read/);
    }
    await anna.press("Read the history again");
    await anna.page.locator("[data-history='read again']").waitFor();
    await anna.untilBalance("13.7");
    await anna.go("Activity");
    await anna.page.locator("[data-kind=transfer][data-state=done]").nth(4).waitFor();
    await anna.reload();
    await anna.unlock();
    await anna.untilBalance("13.7");
    assert.equal(await anna.page.locator("[data-history]").count(), 0);
  });

  it("keeps what a new build brings, and nothing of the build before", async () => {
    const { page } = anna;
    const left = "/assets/left-00000000.js";
    const brought = await page.evaluate(async (left) => {
      const cache = await caches.open("cloister-page");
      const files = (await cache.keys()).map(({ url }) => new URL(url).pathname);
      const brought = files.find((file) => file.startsWith("/assets/main-"));
      if (brought !== undefined) await cache.delete(brought);
      await cache.put(left, new Response(""));
      return brought;
    }, left);
    assert.ok(brought !== undefined);
    await anna.reload();
    await page.waitForFunction(
      async ([brought, left]) => {
        const cache = await caches.open("cloister-page");
        return (await cache.match(brought)) !== undefined && (await cache.match(left)) === undefined;
      },
      [brought, left] as const,
    );
  });

  it("locks where nothing can be stored, and where the browser brings a page back", async () => {
    const { page } = anna;
    const isLocked = (): Promise<void> => anna.heading("Open your wallet");
    await anna.unlock();
    await anna.go("People");
    await page.evaluate(() => {
      IDBObjectStore.prototype.put = () => {
        throw new DOMException("full", "QuotaExceededError");
      };
    });
    await anna.fill("Name", "Bob");
    await anna.fill("Private address", other);
    await anna.press("Add");
    await page.locator(".field small.wrong").waitFor();
    await anna.go("Settings");
    // What is done in the background is told, too: here what is kept when everything was read anew.
    await page.evaluate(() => void dispatchEvent(new Event("offline")));
    await page.getByRole("status").getByText("Is the disk full?").waitFor();
    await page.getByLabel("Colours").selectOption("dark");
    await page.getByText("What you chose last holds until this page is left.").waitFor();
    await anna.press("Lock");
    await isLocked();
    // From here on everything can be stored.
    await anna.reload();
    assert.equal(await page.evaluate(() => document.documentElement.dataset["theme"]), undefined);
    await anna.unlock();
    await anna.heading("Your wallet");
    await page.evaluate(() => void dispatchEvent(new PageTransitionEvent("pageshow", { persisted: true })));
    await isLocked();
    await anna.unlock();
    await anna.untilBalance("13.7");
  });

  it("names the service where it does not prove what it runs, and blames nobody else", async () => {
    const stranger = await arrive();
    await stranger.page.route(`${stack.entry.base_url}/info*`, async (route) => {
      const response = await route.fetch();
      const info = (await response.json()) as object;
      await route.fulfill({ response, json: { ...info, enclaves: [] } });
    });
    await stranger.unlock();
    const told = stranger.page.locator("[data-standing=away] p");
    await told.waitFor();
    assert.match((await told.textContent()) ?? "", /^The service: It did not prove that it runs the program/);
    await pay(stranger, "1");
    assert.match(await stranger.fault(), /^The service: It did not prove/);
    await stranger.page.close();
  });

  it("shows how an image came in later, in its owner's words", async () => {
    const { pool, chain_rpc } = stack.entry;
    const [admitted] = await stack.chain.getLogs({
      ...{ address: pool, fromBlock: 0, topics: [POOL_INTERFACE.getEvent("ImageAdmitted")!.topicHash] },
    });
    const image = admitted!.topics[1]!;
    // The image of this stack was there when the pool was made, so a node says that it was proposed before.
    const proposal = POOL_INTERFACE.encodeEventLog("ImageProposed", [image, 1, 0, 0, ...WORDS]);
    const person = await arrive();
    await person.page.route(chain_rpc, async (route) => {
      const asked = route.request().postDataJSON() as {
        id: number;
        method: string;
        params: [{ topics: unknown[] }];
      };
      if (asked.method !== "eth_getLogs" || asked.params[0].topics[0] !== proposal.topics[0])
        return route.continue();
      const { blockNumber, blockHash, transactionHash } = admitted!;
      const log = {
        ...{ ...proposal, address: pool, blockNumber: toQuantity(blockNumber), blockHash, transactionHash },
        ...{ logIndex: "0x0", transactionIndex: "0x0", removed: false },
      };
      await route.fulfill({ json: { jsonrpc: "2.0", id: asked.id, result: [log] } });
    });
    await person.unlock();
    await person.go("Safety");
    const registration = person.page.getByLabel("Registration");
    await registration.waitFor();
    assert.match((await registration.textContent()) ?? "", /the pool’s owner had announced it/);
    const said = await registration.locator("dd code").allTextContents();
    assert.deepEqual(said.slice(-2), WORDS);
    assert.deepEqual(person.faults, []);
    await person.page.close();
  });

  it("deposits from a browser wallet, which is told where it is on another network", async () => {
    const account = await stack.depositor(5_000_000n);
    const person = await arrive();
    let chain = "0x1";
    await person.page.exposeFunction("askWallet", async (method: string, params: readonly unknown[]) => {
      if (method === "eth_chainId") return chain;
      if (method === "eth_requestAccounts") return [account.address];
      assert.equal(method, "eth_signTypedData_v4");
      const { domain, types, message } = JSON.parse(params[1] as string);
      delete types.EIP712Domain;
      return account.signTypedData(domain, types, message);
    });
    await person.page.addInitScript(
      "window.ethereum = { request: ({ method, params }) => window.askWallet(method, params) }",
    );
    await person.reload();
    await person.unlock();
    await person.untilBalance("13.7");
    await person.go("Deposit");
    await person.press("Connect your browser wallet");
    assert.match(await person.fault(), /^Please check: Your browser wallet is on another network\./);
    chain = `0x${stack.entry.chain_id.toString(16)}`;
    await person.press("Connect your browser wallet");
    await person.page.locator("[data-public]", { hasText: "5 USDC" }).waitFor();
    await person.fill("Amount", "6");
    await person.press("Deposit");
    assert.match((await person.wrong()).join(), /more than the 5 USDC/);
    await person.fill("Amount", "5");
    await person.press("Deposit");
    await person.done().waitFor();
    await person.go("Wallet");
    await person.untilBalance("18.65");
    assert.deepEqual(person.faults, []);
    await person.page.close();
  });

  it("needs no mouse", async () => {
    const { page } = anna;
    await page.bringToFront();
    await anna.reload();
    const tabTo = async (name: RegExp): Promise<void> => {
      const reached = [];
      for (let count = 0; count < TABS_AT_MOST; count++) {
        await page.keyboard.press("Tab");
        const at = await nameOfFocused(page);
        if (name.test(at)) return;
        reached.push(at.slice(0, 20));
      }
      const shown = await page.locator("body").innerText();
      assert.fail(
        `the keyboard does not reach ${String(name)} but ${reached.join(", ")}, on this page:\n${shown}`,
      );
    };
    await tabTo(/^Password/);
    await page.keyboard.type(PASSWORD);
    await page.keyboard.press("Enter");
    await anna.heading("Your wallet");
    await tabTo(/^Request$/);
    await page.keyboard.press("Enter");
    await anna.heading("Request");
    await tabTo(/^Amount/);
    await page.keyboard.type("3");
    await page.keyboard.press("Enter");
    await page.getByLabel("link", { exact: true }).waitFor();
    await tabTo(/^Copy link$/);
    assert.deepEqual(anna.faults, []);
  });

  it("forgets the wallet, and which guest the browser was", async () => {
    const { page } = anna;
    const kept = (): Promise<readonly (string | undefined)[]> =>
      page.evaluate(async () => [
        ...(await indexedDB.databases())
          .map(({ name }) => name)
          .filter((name) => name === "cloister-wallets"),
        ...Object.keys(localStorage),
        ...Object.keys(sessionStorage).filter((name) => name.startsWith("cloister-session")),
      ]);
    assert.equal((await kept()).length, 3);
    await anna.go("Settings");
    await anna.press("Forget this wallet");
    await anna.press("Forget it");
    await anna.heading("Private dollars, in your browser");
    assert.deepEqual(await kept(), []);
  });
});

/** By its label, or its text. */
function nameOfFocused(page: Page): Promise<string> {
  return page.evaluate(() => {
    const focused = document.activeElement as HTMLInputElement | null;
    const label = focused?.labels?.[0]?.textContent ?? focused?.getAttribute("aria-label");
    return (label ?? focused?.textContent ?? "").trim();
  });
}
