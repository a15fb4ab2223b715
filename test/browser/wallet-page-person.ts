// A person with the wallet page in a browser of their own: does what people do, by labels and buttons, and notes what the
// browser complains about.
import assert from "node:assert/strict";
import type { BrowserContext, Locator, Page } from "playwright-core";

export const PASSWORD = "correct horse battery";

const PHONE = { width: 360, height: 740 };

export class Person {
  readonly page: Page;
  /** Errors that nobody caught, and violations of the content security policy. */
  readonly faults: string[];
  readonly #url: string;

  private constructor(page: Page, url: string, faults: string[]) {
    this.page = page;
    this.faults = faults;
    this.#url = url;
  }

  static async arrive(browser: BrowserContext, url: string): Promise<Person> {
    const page = await browser.newPage();
    await page.setViewportSize(PHONE);
    const faults: string[] = [];
    page.on("pageerror", (error) => faults.push(String(error)));
    page.on("console", (message) => {
      if (message.type() === "error" && /Content Security Policy|Refused to/.test(message.text()))
        faults.push(message.text());
    });
    await page.goto(url);
    return new Person(page, url, faults);
  }

  async make(): Promise<void> {
    await this.page.getByLabel("A password for this browser").fill(PASSWORD);
    await this.press("Make the wallet");
    await this.heading("Your wallet");
  }

  async restore(phrase: string): Promise<void> {
    await this.page.getByLabel("Restore one from its phrase").check();
    await this.page.getByLabel("Phrase", { exact: true }).fill(phrase);
    await this.page.getByLabel("A password for this browser").fill(PASSWORD);
    await this.press("Restore the wallet");
    await this.heading("Your wallet");
  }

  async unlock(): Promise<void> {
    await this.page.getByLabel("Password").fill(PASSWORD);
    await this.press("Open");
    await this.page.getByRole("button", { name: "Open", exact: true }).waitFor({ state: "detached" });
  }

  async heading(name: string): Promise<void> {
    await this.page.getByRole("heading", { level: 1, name, exact: true }).waitFor();
  }

  async press(name: string): Promise<void> {
    await this.page.getByRole("button", { name, exact: true }).click();
  }

  /** By the page's own links, as a person does: a reload would lock the wallet. */
  async go(...links: readonly string[]): Promise<void> {
    for (const name of links) await this.page.getByRole("link", { name, exact: true }).first().click();
  }

  async choose(network: string): Promise<void> {
    await this.page.locator("select[name=network]").selectOption({ label: network });
  }

  async fill(label: string, text: string): Promise<void> {
    await this.page.getByLabel(label, { exact: true }).fill(text);
  }

  done(): Locator {
    return this.page.locator(".done");
  }

  /** What is wrong, beside the fields. */
  wrong(): Promise<string[]> {
    return this.page.locator(".field small.wrong").allTextContents();
  }

  async fault(): Promise<string> {
    return (await this.page.locator(".fault").first().textContent()) ?? "";
  }

  async balance(symbol = "USDC"): Promise<string> {
    return (await this.page.locator(`[data-balance="${symbol}"]`).textContent()) ?? "";
  }

  async untilBalance(text: string, symbol = "USDC"): Promise<void> {
    await this.page.locator(`[data-balance="${symbol}"]`, { hasText: new RegExp(`^${text}$`) }).waitFor();
  }

  async address(): Promise<string> {
    await this.go("Wallet", "Request");
    const text = await this.page.getByLabel("address", { exact: true }).textContent();
    assert.ok(text !== null);
    return text;
  }

  async phrase(): Promise<string> {
    await this.go("Settings");
    await this.fill("Password", PASSWORD);
    await this.press("Show the phrase");
    await this.page.locator(".words li").first().waitFor();
    return (await this.page.locator(".words li").allTextContents()).join(" ");
  }

  async deposit(amount: string): Promise<void> {
    await this.go("Wallet", "Deposit");
    await this.press("Use a throw-away key");
    await this.press("Get 100 test USDC");
    await this.page.locator("[data-public]", { hasText: /[1-9]/ }).waitFor();
    await this.fill("Amount", amount);
    await this.press("Deposit");
    await this.done().waitFor();
  }

  async reload(): Promise<void> {
    await this.page.goto(this.#url);
  }
}
