// A preview in money is by the fee formula, to the smallest unit, and says who gets what.
import assert from "node:assert/strict";
import * as fc from "fast-check";
import { previewOf, unitsText } from "../../../../proxy/dashboard/fees.service.ts";
import { feeOf } from "../../../../shared/protocol/host/fees.ts";

const USDC = { address: `0x${"22".repeat(20)}` as never, symbol: "USDC", decimals: 6 };
const OPERATIONS = ["deposit", "transfer", "withdraw", "swap"] as const;

describe("a fee in money", () => {
  it("adds up: what the user pays is what arrives and both fees", () => {
    const units = fc.bigInt({ min: 1n, max: 10n ** 24n });
    const rule = fc.record({
      flat: fc.bigInt({ min: 0n, max: 10n ** 6n }),
      bps: fc.integer({ min: 0, max: 5_000 }),
    });
    fc.assert(
      fc.property(
        fc.constantFrom(...OPERATIONS),
        units,
        rule,
        rule,
        (operation, amount, developer, service) => {
          const found = previewOf(USDC, operation, amount, { developer, service });
          assert.equal(BigInt(found.developer_fee), feeOf(developer, amount));
          assert.equal(BigInt(found.service_fee), feeOf(service, amount));
          if (found.is_impossible) assert.ok(BigInt(found.fees) >= amount);
          else assert.equal(BigInt(found.user_pays), BigInt(found.arrives) + BigInt(found.fees));
        },
      ),
    );
  });

  it("reads as a sentence", () => {
    const parties = { developer: { flat: 300_000n, bps: 0 }, service: { flat: 50_000n, bps: 0 } };
    assert.equal(
      previewOf(USDC, "transfer", 100_000_000n, parties).sentence,
      "Of a transfer of 100 USDC your user pays 100.35 USDC: 100 USDC arrive at the recipient, 0.3 USDC are your fee, 0.05 USDC the service's.",
    );
    assert.match(previewOf(USDC, "deposit", 350_000n, parties).sentence, /nothing would be left/);
  });

  it("writes units without losing or adding a digit", () => {
    assert.deepEqual(
      [
        unitsText(0n, 6),
        unitsText(1n, 6),
        unitsText(1_500_000n, 6),
        unitsText(7n, 0),
        unitsText(10n ** 18n, 18),
      ],
      ["0", "0.000001", "1.5", "7", "1"],
    );
  });
});
