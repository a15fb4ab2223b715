// The example wallet page on the running stack, as people use it: two of them in browsers of their own, on an origin that
// is not the service's, from the first deposit to a restore in a third browser.
import axe from "axe-core";
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { Wallet as EthereumWallet } from "ethers";
import { startWalletPage, type WalletPage } from "../../scripts/stack/wallet-page.ts";
import { requireBrowser, startBrowser, type TestBrowser } from "../support/chromium.ts";
import { startTestStack, type TestStack } from "../support/stack.ts";
import { imageOf } from "../../shared/protocol/host/registration.ts";
import { takePictures } from "./pictures.ts";
import { Person } from "./wallet-page-person.ts";

const FREE = { page: 0, sessions: 0 };
const MEMO = "Dinner, with wine";
const READER = "Tax office";

/** Without the gaps that are for reading aloud. */
const joined = (text: string): string => text.replaceAll(" ", "");

/** What axe finds in the screen that is open, in both colours. */
async function examined({ page }: Person): Promise<string[]> {
  const found: string[] = [];
  for (const colorScheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
    // By the debugger, which no policy of the page stops.
    await page.evaluate(axe.source);
    const { violations } = await page.evaluate(() =>
      (window as unknown as { axe: typeof axe }).axe.run(document, { resultTypes: ["violations"] }),
    );
    for (const { id, impact, nodes } of violations)
      if (impact === "serious" || impact === "critical")
        found.push(`${colorScheme} ${id}: ${nodes.map(({ html }) => html).join(" ")}`);
  }
  await page.emulateMedia({ colorScheme: "light" });
  return found;
}

/** What the page's own reader finds in a picture of the code that it shows. */
function scanned({ page }: Person): Promise<unknown> {
  return page.evaluate(async () => {
    const svg = document.querySelector(".qr")?.cloneNode(true) as SVGElement;
    svg.setAttribute("width", "600");
    svg.setAttribute("height", "600");
    svg.setAttribute("xmlns", "http://www.w3.org/2000/svg");
    const image = new Image();
    image.src = `data:image/svg+xml,${encodeURIComponent(svg.outerHTML)}`;
    await image.decode();
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [640, 640];
    const context = canvas.getContext("2d")!;
    context.fillStyle = "white";
    context.fillRect(0, 0, 640, 640);
    context.drawImage(image, 20, 20);
    const { data, width, height } = context.getImageData(0, 0, 640, 640);
    const reader = new Worker("/assets/scan.js", { type: "module" });
    return new Promise((resolve) => {
      reader.onmessage = (message) => resolve(message.data);
      reader.postMessage({ data, width, height });
    });
  });
}

describe("wallet page", function () {
  this.timeout(900_000);
  let stack: TestStack;
  let site: WalletPage;
  const browsers: TestBrowser[] = [];
  let anna: Person;
  let ben: Person;
  const looked = new Map<string, string[]>();

  async function arrive(): Promise<Person> {
    const browser = await startBrowser();
    browsers.push(browser);
    return Person.arrive(browser.pages, site.url);
  }
  /** Each screen once: examined, and pictured; that of the settings is, while no phrase is on it. */
  async function look(person: Person, screen: string): Promise<void> {
    looked.set(screen, await examined(person));
    const { scrollWidth, clientWidth } = await person.page.evaluate(() => ({
      scrollWidth: document.documentElement.scrollWidth,
      clientWidth: document.documentElement.clientWidth,
    }));
    assert.ok(scrollWidth <= clientWidth, `${screen} is wider than a phone: ${String(scrollWidth)}`);
    if (screen !== "settings") await takePictures(person.page, "wallet", screen);
  }

  before(async function () {
    requireBrowser(this);
    stack = await startTestStack({ networks: ["first", "second"], bridges: true });
    site = await startWalletPage(stack.stack, { ports: FREE });
  });
  after(async () => {
    for (const browser of browsers) await browser.close();
    await (site as WalletPage | undefined)?.stop();
    await (stack as TestStack | undefined)?.stop();
  });

  it("makes a wallet, and reminds of the phrase until it was written down", async () => {
    anna = await arrive();
    await look(anna, "begin");
    await anna.press("Make the wallet");
    assert.deepEqual(await anna.wrong(), ["At least 8 characters."]);
    await anna.make();
    await anna.page.getByText("Write your phrase down.").waitFor();
    await anna.go("Settings");
    await anna.heading("Settings");
    await takePictures(anna.page, "wallet", "settings");
    const phrase = await anna.phrase();
    assert.equal(phrase.split(" ").length, 24);
    await look(anna, "settings");
    await anna.press("I have written it down");
    const asked = anna.page.locator("[name^=word-]");
    for (const field of await asked.all()) await field.fill("zebra");
    await anna.press("Confirm");
    assert.ok((await anna.wrong()).length > 0, "a guess is no proof of a paper");
    for (const field of await asked.all()) {
      const place = Number(((await field.getAttribute("name")) ?? "").slice("word-".length));
      await field.fill(phrase.split(" ")[place - 1] ?? "");
    }
    await anna.press("Confirm");
    await anna.page.getByText("You have confirmed").waitFor();
    await anna.go("Wallet");
    await anna.heading("Your wallet");
    assert.equal(await anna.page.getByText("Write your phrase down.").count(), 0);
  });

  it("shows which program checks what is sent, once that was proved", async () => {
    await anna.go("Safety");
    await anna.page.locator("[data-attested=true]").waitFor();
    const fingerprint = anna.page.getByLabel("Fingerprint");
    const { measurement } = stack.entry.enclave;
    assert.match((await fingerprint.textContent()) ?? "", /The program that answers now/);
    const prints = (await fingerprint.locator(".print code").allTextContents()).map(joined);
    const image = imageOf({ pcr0: measurement.pcr0, pcr1: measurement.pcr1, pcr2: measurement.pcr2 });
    assert.deepEqual(prints, [measurement.pcr0, measurement.pcr1, measurement.pcr2, image.slice(2)]);
    const registration = (await anna.page.getByLabel("Registration").textContent()) ?? "";
    assert.match(registration, /The first of the two.*when the pool was made/);
    assert.ok(joined(registration).includes(image.slice(2)), "the pool and the fingerprint name one image");
    await look(anna, "safety");
  });

  it("deposits, requests, pays by the link, and both see it", async () => {
    await anna.deposit("50");
    await look(anna, "deposit");
    ben = await arrive();
    await ben.make();
    await ben.go("Request");
    await ben.fill("Amount", "12.5");
    await ben.fill("What for", MEMO);
    await ben.press("Make the request");
    const link = await ben.page.getByLabel("link", { exact: true }).textContent();
    await ben.page.getByRole("img", { name: "The request as a QR code" }).waitFor();
    await look(ben, "request");
    assert.equal(await scanned(ben), link, "a camera reads what is shown");
    await anna.go("Wallet", "Pay");
    await anna.fill("A request’s link, if you have one", link ?? "");
    assert.match(
      (await anna.page.locator(".asked").textContent()) ?? "",
      /12\.5 USDC for “Dinner, with wine”/,
    );
    await look(anna, "pay");
    await anna.press("Pay");
    await anna.done().waitFor();
    await ben.go("Wallet");
    await ben.untilBalance("12.5");
    await anna.go("Wallet");
    await anna.untilBalance("37.4");
    await look(anna, "wallet");
    await anna.go("Activity");
    await anna.page.getByText(MEMO).first().waitFor();
    await look(anna, "activity");
    const downloading = anna.page.waitForEvent("download");
    await anna.press("Save as a spreadsheet (CSV)");
    const file = await downloading;
    assert.match(file.suggestedFilename(), /^cloister-first-\d{4}-\d\d-\d\d\.csv$/);
    const [names, newest] = (await readFile(await file.path(), "utf8")).split("\r\n");
    assert.match(names ?? "", /^time,kind,state,asset,amount,fees/);
    assert.match(newest ?? "", /,transfer,done,USDC,12\.5,0\.05,-12\.55,.*,"Dinner, with wine",/);
  });

  it("names an address, and pays it by its name", async () => {
    const address = await ben.address();
    await anna.go("People");
    await anna.fill("Name", "Ben");
    await anna.fill("Private address", `${address.slice(0, -1)}${address.endsWith("q") ? "p" : "q"}`);
    await anna.press("Add");
    assert.match((await anna.wrong()).join(), /checksum/);
    await anna.fill("Private address", address);
    await anna.press("Add");
    await anna.page.getByText("Ben", { exact: true }).waitFor();
    await look(anna, "people");
    await anna.go("Wallet", "Pay");
    await anna.fill("To", "Ben");
    await anna.fill("Amount", "1");
    await anna.press("Pay");
    await anna.done().waitFor();
    await ben.go("Wallet");
    await ben.untilBalance("13.5");
  });

  it("takes money in over a bridge, at an address that it has reckoned itself", async () => {
    await anna.go("Wallet", "Bridge");
    await anna.press("Make an address");
    const place = anna.page.getByLabel("bridge address", { exact: true });
    await place.waitFor();
    const address = (await place.textContent()) ?? "";
    await look(anna, "bridge");
    assert.equal(await anna.page.locator(".bridges code").first().textContent(), address);
    await stack.usdc.mint(address, 20_000_000n);
    await anna.page.locator(".bridges [data-state=completed]").waitFor();
    assert.match((await anna.page.locator("[data-in-wallet]").textContent()) ?? "", /^19\.95 USDC/);
    await anna.go("Wallet");
    await anna.untilBalance("56.3");
  });

  it("withdraws to a public account, and to another chain", async () => {
    const recipient = EthereumWallet.createRandom().address;
    await anna.go("Withdraw");
    await anna.fill("Public address", recipient);
    await anna.fill("Amount", "3");
    await anna.press("Withdraw");
    await anna.done().waitFor();
    await look(anna, "withdraw");
    assert.equal(await stack.usdc.balanceOf(recipient), 3_000_000n);
    await anna.page.getByLabel("Where to").selectOption({ index: 2 });
    await anna.fill("Public address", recipient);
    await anna.fill("Amount", "10");
    await anna.press("Withdraw");
    await anna.page.locator(".done", { hasText: "10 USDC" }).waitFor();
    await anna.go("Wallet");
    await anna.untilBalance("43.2");
  });

  it("discloses one payment to one reader, who verifies it with a page that reaches no service", async () => {
    await anna.go("Activity");
    await anna.page.locator("[data-kind=transfer]", { hasText: MEMO }).getByRole("link").click();
    await anna.fill("Who is to read it", READER);
    await anna.press("Make the disclosure");
    const place = anna.page.getByLabel("disclosure", { exact: true });
    await place.waitFor();
    const disclosure = (await place.textContent()) ?? "";
    await look(anna, "disclose");

    const reader = await arrive();
    let asked = 0;
    await reader.page.route(`${stack.entry.base_url}/**`, (route) => {
      asked += 1;
      return route.abort();
    });
    await reader.go("Verify a disclosure");
    await reader.fill("The disclosure", disclosure);
    await reader.fill("Your name", "Somebody else");
    await reader.press("Verify");
    assert.match(await reader.fault(), /another name/);
    await reader.fill("Your name", READER);
    await reader.press("Verify");
    await reader.page.locator(".verified").waitFor();
    const told = (await reader.page.locator(".verified").textContent()) ?? "";
    assert.match(told, /12\.5 USDC were paid/);
    assert.ok(told.includes(await ben.address()));
    await look(reader, "verify");
    assert.equal(asked, 0);
    assert.deepEqual(reader.faults, []);
  });

  it("swaps on the other network, with route and floor shown first", async () => {
    await anna.choose("Second network");
    await anna.deposit("30");
    await anna.go("Wallet", "Swap");
    await anna.fill("You give", "10");
    await anna.press("Ask for an offer");
    assert.match((await anna.page.locator("[data-route]").textContent()) ?? "", /USDC → /);
    assert.match((await anna.page.locator("[data-floor]").textContent()) ?? "", /^\d/);
    await look(anna, "swap");
    await anna.press("Swap");
    await anna.page.locator(".done", { hasText: "you have bought" }).waitFor();
    await anna.go("Wallet");
    await anna.untilBalance("19.95");
    await anna.untilBalance("9\\.\\d+", "EURC");
  });

  it("is restored from the phrase in a browser that has never seen it", async () => {
    const bought = await anna.balance("EURC");
    const phrase = await anna.phrase();
    const restored = await arrive();
    await restored.page.getByLabel("Restore one from its phrase").check();
    await restored.fill("Phrase", "not a phrase at all");
    await restored.fill("A password for this browser", "long enough");
    await restored.press("Restore the wallet");
    await restored.page.getByText("Is one mistyped?").waitFor();
    assert.match((await restored.wrong()).join(), /Is one mistyped\?/);
    await restored.restore(phrase);
    await restored.untilBalance("43.2");
    assert.equal(await restored.page.getByText("Write your phrase down.").count(), 0);
    await restored.choose("Second network");
    await restored.untilBalance("19.95");
    assert.equal(await restored.balance("EURC"), bought);
    assert.equal(await restored.page.getByText("Write your phrase down.").count(), 0);
    assert.deepEqual(restored.faults, []);
  });

  it("has shown every screen: nothing serious for axe, nothing against the policy", () => {
    const screens = ["begin", "wallet", "deposit", "request", "pay", "people", "bridge", "withdraw", "swap"];
    assert.deepEqual(
      [...screens, "activity", "disclose", "verify", "safety", "settings"].filter(
        (name) => !looked.has(name),
      ),
      [],
    );
    assert.deepEqual(
      [...looked].filter(([, found]) => found.length > 0),
      [],
    );
    assert.deepEqual([...anna.faults, ...ben.faults], []);
  });
});
