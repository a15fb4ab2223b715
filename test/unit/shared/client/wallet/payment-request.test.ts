import assert from "node:assert/strict";
import {
  MOST_REQUEST_CHARS,
  paymentLink,
  readPaymentRequest,
  writePaymentRequest,
  type PaymentRequest,
} from "../../../../../shared/client/wallet/payment-request.ts";
import { SpendingKey } from "../../../../../shared/notes/keys.ts";

const viewing = SpendingKey.fromSeed(new Uint8Array(32).fill(5)).viewing;
const to = viewing.addressText("clodev");
const asset = `0x${"ab".repeat(20)}`;
const pins = { chainId: 31_337, pool: `0x${"cd".repeat(20)}`, assets: [asset], addressPrefix: "clodev" };
const NOW = 1_000_000;
const request: PaymentRequest = {
  to,
  asset,
  amount: 1_500_000n,
  memo: "Café, 2 & 3 = 5 ☕",
  expiresAt: NOW + 60,
};
const text = writePaymentRequest(pins, request);
const read = (given: string) => readPaymentRequest(given, pins, NOW);
const code = (expected: string) => (error: unknown) => (error as { code?: string }).code === expected;

describe("payment requests", () => {
  it("come back as they were written, from the text, its link, and a link of a page with a path", () => {
    assert.deepEqual(read(text), request);
    assert.deepEqual(read(paymentLink("https://wallet.example/pay?x=1", text)), request);
    const least = { to, asset, amount: 1n };
    assert.deepEqual(read(writePaymentRequest(pins, least)), least);
  });

  it("stand behind the # alone, in characters that a link needs no other spelling for", () => {
    const link = paymentLink("https://wallet.example/", text);
    assert.equal(link, `https://wallet.example/#${text}`);
    assert.ok(!new URL(link).search.includes("cloister") && !new URL(link).pathname.includes("cloister"));
  });

  it("fit into a QR code, also the longest", () => {
    const memo = "☕".repeat(46);
    const longest = writePaymentRequest(pins, {
      ...request,
      amount: (1n << 128n) - 1n,
      memo,
      expiresAt: 2 ** 53 - 1,
    });
    assert.ok(longest.length <= MOST_REQUEST_CHARS, String(longest.length));
    assert.equal(read(longest).memo, memo);
  });

  const replaced = (from: string | RegExp, by: string): string => {
    const changed = text.replace(from, by);
    assert.notEqual(changed, text);
    return changed;
  };
  const refused: Record<string, [string, string][]> = {
    REQUEST_INVALID: [
      ["nothing", ""],
      ["another version", replaced("pay/1", "pay/2")],
      ["an unknown field", `${text}&fee=1`],
      ["a field twice", `${text}&amount=1`],
      ["no amount", replaced(/&amount=[0-9]+/, "")],
      ["no recipient", replaced(/to=[^&]+&/, "")],
      ["a name from the prototype", `${text}&constructor=1`],
      ["an address in capitals", replaced(to, to.toUpperCase())],
      ["a token in capitals", replaced(asset, asset.toUpperCase().replace("0X", "0x"))],
      ["a chain with a zero before it", replaced("chain=31337", "chain=031337")],
      ["a time that is none", replaced(/until=[0-9]+/, "until=soon")],
      ["a memo with another spelling", replaced("memo=", "memo=%43%61f")],
      ["a memo that is cut", replaced("memo=", "memo=%E2%98")],
      ["a memo that turns text round", replaced("memo=", `memo=${encodeURIComponent("a\u202eb")}`)],
      ["a memo of two lines", replaced("memo=", "memo=a%0Ab")],
      ["an endless one", `${text}&${"x".repeat(MOST_REQUEST_CHARS)}`],
    ],
    REQUEST_ELSEWHERE: [
      ["another chain", replaced("chain=31337", "chain=1")],
      ["another pool", replaced("cdcd", "cece")],
      ["another token", replaced(/asset=0xab/, "asset=0xac")],
    ],
    ADDRESS_INVALID: [
      ["a recipient of another network", replaced(to, viewing.addressText("clodevb"))],
      [
        "a recipient with a wrong checksum",
        replaced(to, `${to.slice(0, -1)}${to.endsWith("q") ? "p" : "q"}`),
      ],
      ["a public account", replaced(to, asset)],
    ],
    REQUEST_AMOUNT: [
      ...["0", "-1", "+1", "1.5", "1,5", "01", "1e6", "0x10", "", " 1", String(1n << 128n)].map(
        (amount): [string, string] => [
          `the amount "${amount}"`,
          replaced(/amount=[0-9]+/, `amount=${amount}`),
        ],
      ),
    ],
    REQUEST_EXPIRED: [["a time that is over", replaced(/until=[0-9]+/, `until=${NOW - 1}`)]],
  };
  for (const [expected, cases] of Object.entries(refused))
    for (const [name, given] of cases)
      it(`refuses ${name}: ${expected}`, () => assert.throws(() => read(given), code(expected)));

  it("are not written with what could not be read", () => {
    const bad: [string, Partial<PaymentRequest>][] = [
      ["ADDRESS_INVALID", { to: viewing.addressText("clo") }],
      ["AMOUNT_INVALID", { amount: 0n }],
      ["AMOUNT_INVALID", { amount: 1 as unknown as bigint }],
      ["PIN_MISMATCH", { asset: `0x${"11".repeat(20)}` }],
      ["REQUEST_INVALID", { memo: "x".repeat(141) }],
      ["REQUEST_INVALID", { memo: " spaces " }],
      ["REQUEST_INVALID", { expiresAt: 1.5 }],
    ];
    for (const [expected, change] of bad)
      assert.throws(() => writePaymentRequest(pins, { ...request, ...change }), code(expected));
    assert.throws(() => paymentLink("data:text/html,hello", text), code("REQUEST_INVALID"));
  });
});
