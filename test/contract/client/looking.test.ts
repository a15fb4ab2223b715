// What a person sees of a wallet: what was done with it, to whom and what for; without a network, in a second tab, and
// after a restore from the key alone.
import { Wallet as EthereumWallet } from "ethers";
import assert from "node:assert/strict";
import { memoryStorage, type Wallet } from "../../../shared/client/index.ts";
import { SpendingKey } from "../../../shared/notes/keys.ts";
import { PREFIX } from "./checks.ts";
import type { TestService } from "./service.ts";
import { startWallets, type OpenWallet } from "./wallets.ts";

const BOB = SpendingKey.fromSeed(new Uint8Array(32).fill(2)).viewing.addressText(PREFIX);
const code = (expected: string) => (error: unknown) => (error as { code?: string }).code === expected;
const offline: typeof fetch = () => Promise.reject(new TypeError("Failed to fetch"));
/** What a person reads of each item. */
const shown = (wallet: Wallet) =>
  wallet.activity().map(({ kind, state, amount, change, label, counterparty, memo }) => {
    return [kind, state, amount, change, label ?? counterparty, memo];
  });

describe("looking at a wallet", function () {
  let service: TestService;
  let open: OpenWallet;
  beforeEach(async () => {
    ({ service, open } = await startWallets());
  });
  afterEach(() => service.close());

  it("shows deposits, payments with memo and name, and income; without a network the same, after a restore what the chain tells", async () => {
    const storage = memoryStorage();
    const wallet = await open({ storage });
    const bob = await open({ key: 2 });
    const depositor = EthereumWallet.createRandom();
    await wallet.deposit(10_000_000n, depositor);
    await wallet.contacts.set("Bob", BOB.toUpperCase());
    await assert.rejects(wallet.pay(BOB, 1n, { memo: "two\nlines" }), code("OPTIONS_INVALID"));
    const { fees } = await wallet.pay(BOB, 3_000_000n, { memo: "rent" });
    await bob.sync();
    await bob.pay(wallet.address, 500_000n);
    await wallet.sync();

    const balance = wallet.balance().total;
    const items = wallet.activity();
    assert.deepEqual(
      items.map(({ kind, state, amount }) => [kind, state, amount]),
      [
        ["received", "done", 500_000n],
        ["transfer", "done", 3_000_000n],
        ["deposit", "done", 10_000_000n],
      ],
    );
    const [, paid, deposit] = items;
    assert.deepEqual(
      [paid!.counterparty, paid!.label, paid!.memo, paid!.fees, paid!.change],
      [BOB, "Bob", "rent", fees, -(3_000_000n + fees)],
    );
    assert.equal(deposit!.counterparty, depositor.address.toLowerCase());
    assert.match(paid!.txHash!, /^0x[0-9a-f]{64}$/);
    assert.equal(bob.notes().find(({ value }) => value === 3_000_000n)!.leafIndex, paid!.leaf);
    assert.equal(
      items.reduce((sum, { change }) => sum + change, 0n),
      balance,
    );
    const before = shown(wallet);
    await wallet.close();

    const dark = await open({ storage, fetch: offline });
    assert.deepEqual(shown(dark), before);
    assert.equal(dark.balance().total, balance);
    assert.equal(dark.contacts.labelOf(BOB), "Bob");
    await assert.rejects(dark.sync(), code("NETWORK"));
    assert.deepEqual(shown(dark), before);

    const restored = await open();
    await restored.sync();
    const again = restored.activity();
    assert.deepEqual(
      again.map(({ kind, change }) => [kind, change]),
      [
        ["received", 500_000n],
        ["sent", paid!.change],
        ["deposit", deposit!.change],
      ],
    );
    assert.equal(
      again.reduce((sum, { change }) => sum + change, 0n),
      balance,
    );
    await Promise.all([dark.close(), restored.close(), bob.close()]);
  });

  it("keeps no trace of what was given up before it was sent", async () => {
    const wallet = await open();
    await wallet.deposit(10_000_000n, EthereumWallet.createRandom());
    const leaving = new AbortController();
    const paying = wallet.pay(BOB, 1_000_000n, {
      signal: leaving.signal,
      progress: ({ step, state }) => step === "prove" && state === "begin" && leaving.abort(),
    });
    await assert.rejects(paying, { name: "AbortError", sent: false });
    assert.deepEqual(
      wallet.activity().map(({ kind }) => kind),
      ["deposit"],
    );
    await wallet.close();
  });

  it("has one address book for all tabs, which takes no foreign address and no name twice", async () => {
    const storage = memoryStorage();
    const [one, two] = [await open({ storage }), await open({ storage })];
    const ann = SpendingKey.fromSeed(new Uint8Array(32).fill(3)).viewing;
    await one.contacts.set("Bob", BOB);
    await two.contacts.set("Ann", ann.addressText(PREFIX));
    const refused: [string, string, string][] = [
      ["ADDRESS_INVALID", "X", ann.addressText(`${PREFIX}x`)],
      ["ADDRESS_INVALID", "X", `${BOB.slice(0, -1)}${BOB.endsWith("q") ? "p" : "q"}`],
      ["ADDRESS_INVALID", "X", `0x${"ab".repeat(20)}`],
      ["CONTACT_INVALID", "Ann", BOB],
      ["CONTACT_INVALID", "", BOB],
      ["CONTACT_INVALID", "a\u202eb", BOB],
      ["CONTACT_INVALID", "x".repeat(65), BOB],
    ];
    for (const [expected, label, address] of refused)
      await assert.rejects(two.contacts.set(label, address), code(expected), label);
    assert.deepEqual(
      two.contacts.list().map(({ label }) => label),
      ["Ann", "Bob"],
    );
    await two.contacts.remove(BOB);
    await one.contacts.set("Anna", ann.addressText(PREFIX));
    const third = await open({ storage });
    assert.deepEqual(third.contacts.list(), [{ label: "Anna", address: ann.addressText(PREFIX) }]);
    await Promise.all([one.close(), two.close(), third.close()]);
  });
});
