// The example wallet page on a pool that asks for an attestation of each kind of verifier.
import assert from "node:assert/strict";
import { startWalletPage, type WalletPage } from "../../scripts/stack/wallet-page.ts";
import { imageOf } from "../../shared/protocol/host/registration.ts";
import { requireBrowser, startBrowser, type TestBrowser } from "../support/chromium.ts";
import { startTestStack, type TestStack } from "../support/stack.ts";
import { Person } from "./wallet-page-person.ts";

const FREE = { page: 0, sessions: 0 };

describe("wallet page: two verifiers", function () {
  this.timeout(480_000);
  let stack: TestStack;
  let site: WalletPage;
  let browser: TestBrowser;
  let anna: Person;

  before(async function () {
    requireBrowser(this);
    stack = await startTestStack({ threshold: 2 });
    site = await startWalletPage(stack.stack, { ports: FREE });
    browser = await startBrowser();
  });
  after(async () => {
    await (browser as TestBrowser | undefined)?.close();
    await (site as WalletPage | undefined)?.stop();
    await (stack as TestStack | undefined)?.stop();
  });

  it("shows both programs, each as the one that answers, and the registration of each", async () => {
    anna = await Person.arrive(browser.pages, site.url);
    await anna.make();
    await anna.go("Safety");
    await anna.page.locator("[data-attested=true]").waitFor();
    const { enclave, second_enclave: second, enclave_signers: signers } = stack.entry;
    const images = [enclave, second!].map(({ measurement }) => imageOf(measurement).slice(2));

    const prints = await anna.page.getByLabel("Fingerprint").allTextContents();
    assert.equal(prints.length, 2);
    for (const [i, print] of prints.entries()) {
      assert.match(print, /The program that answers now/);
      assert.ok(joined(print).includes(images[i]!), "in the order of the pins");
    }
    const registrations = await anna.page.getByLabel("Registration").allTextContents();
    assert.equal(registrations.length, 2);
    for (const [i, registration] of registrations.entries()) {
      assert.match(registration, [/The first of the two/, /The second of the two/][i]!);
      assert.ok(joined(registration).includes(images[i]!));
      assert.ok(registration.toLowerCase().includes(signers[i]!.toLowerCase()));
    }
  });

  it("deposits and pays, to the last unit", async () => {
    await anna.deposit("20");
    const payee = await stack.wallet();
    await anna.go("Wallet", "Pay");
    await anna.fill("To", payee.address);
    await anna.fill("Amount", "1");
    await anna.press("Pay");
    await anna.done().waitFor();
    await anna.go("Wallet");
    await anna.untilBalance("18.9");
    await payee.sync();
    assert.equal(payee.balance(stack.entry.usdc).total, 1_000_000n);
  });

  it("says that nothing can be paid while one of them is lost, and goes on when it is back", async () => {
    await stack.local.enclave(1).kill();
    await anna.go("Wallet", "Pay");
    await anna.fill("To", (await stack.wallet()).address);
    await anna.fill("Amount", "1");
    await anna.press("Pay");
    assert.match(await anna.fault(), /Its verifying program is away or busy/);
    await stack.local.restartEnclave(1);
    await anna.press("Pay");
    await anna.done().waitFor();
    await anna.go("Wallet");
    await anna.untilBalance("17.85");
    assert.deepEqual(anna.faults, []);
  });
});

/** Without the spaces between groups of digits. */
const joined = (text: string): string => text.replaceAll(/\s/g, "");
