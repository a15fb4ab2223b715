import assert from "node:assert/strict";
import type { FeeRules } from "../../../../../shared/api/credentials.ts";
import { feesFor } from "../../../../../shared/client/statements/fees.ts";
import type { Pins } from "../../../../../shared/client/base/pins.ts";
import { SpendingKey } from "../../../../../shared/notes/keys.ts";
import type { Address } from "../../../../../shared/protocol/brands.ts";

const asset = "0x00000000000000000000000000000000000000bb" as Address;
const sink = SpendingKey.fromSeed(new Uint8Array(32).fill(1)).viewing.addressText("cltest");
const part = (flat: string, bps = 0, enforced = true) => ({ flat, bps, sink, enforced });
const rules = (
  operation: FeeRules["operation"],
  service: FeeRules["service"],
  developer: FeeRules["developer"] = null,
): FeeRules[] => [{ asset, operation, service, developer, valid_until: "" }];
const pins = (flat: bigint, bps = 0, more: Partial<Pins> = {}): Pins => {
  const ceiling = { flat, bps };
  return {
    chainId: 1,
    pool: asset,
    assets: [asset],
    addressPrefix: "cltest",
    enclaves: "unverified",
    feeCeiling: { transfer: ceiling, withdraw: ceiling },
    ...more,
  };
};
const code = (expected: string) => (error: unknown) => (error as { code?: string }).code === expected;

describe("fees of a payment", () => {
  it("are flat plus basis points rounded down, each part to its own sink", () => {
    const fees = feesFor(
      rules("withdraw", part("50"), part("7", 25)),
      { asset, operation: "withdraw", amount: 999n },
      pins(100n),
    );
    assert.equal(fees.service?.value, 50n);
    assert.equal(fees.developer?.value, 7n + 2n);
    assert.equal(fees.total, 59n);
  });

  it("never opens a note that would tell a transfer's amount, whatever the service asks", () => {
    const charged = { asset, operation: "transfer", amount: 10_000n } as const;
    assert.equal(feesFor(rules("transfer", part("5")), charged, pins(1000n)).service?.enforced, true);
    assert.equal(feesFor(rules("transfer", part("5", 10)), charged, pins(1000n)).service?.enforced, false);
  });

  it("are none without a rule, or when a rule comes to nothing", () => {
    const charged = { asset, operation: "transfer", amount: 10n } as const;
    assert.equal(feesFor([], charged, pins(0n)).total, 0n);
    assert.equal(feesFor(rules("transfer", part("0", 1)), charged, pins(0n)).service, undefined);
  });

  it("have a ceiling of their own where the token has one, and no other then", () => {
    const charged = { asset, operation: "transfer", amount: 10n } as const;
    const own = (ceiling: Pins["feeCeiling"]): Partial<Pins> => ({
      feeCeilings: { [asset.toUpperCase().replace("0X", "0x")]: ceiling },
    });
    const fees = (more: Partial<Pins>): bigint =>
      feesFor(rules("transfer", part("5")), charged, pins(4n, 0, more)).total;
    assert.equal(fees(own({ transfer: { flat: 5n, bps: 0 } })), 5n);
    assert.throws(() => fees({}), code("FEE_ABOVE_CEILING"));
    assert.throws(() => fees(own({ deposit: { flat: 5n, bps: 0 } })), code("FEE_ABOVE_CEILING"));
    const elsewhere = { feeCeilings: { [`0x${"12".repeat(20)}`]: { transfer: { flat: 9n, bps: 0 } } } };
    assert.throws(() => fees(elsewhere), code("FEE_ABOVE_CEILING"));
  });

  it("for a swap are reckoned from the gross amount, each part rounded down", () => {
    const charged = { asset, operation: "swap", amount: 4_000_001n } as const;
    const ceiling = { feeCeiling: { swap: { flat: 7n, bps: 16 } } };
    const fees = feesFor(rules("swap", part("0", 15), part("7", 1)), charged, pins(0n, 0, ceiling));
    assert.deepEqual([fees.service?.value, fees.developer?.value], [6_000n, 407n]);
    // A swap's amount is public: opening its fee notes tells nothing.
    assert.ok(fees.service?.enforced === true && fees.developer?.enforced === true);
  });

  it("are refused above the ceiling, without a ceiling, to an unknown sink and to nonsense", () => {
    const charged = { asset, operation: "transfer", amount: 10n } as const;
    assert.throws(
      () => feesFor(rules("transfer", part("5"), part("5")), charged, pins(9n)),
      code("FEE_ABOVE_CEILING"),
    );
    assert.throws(
      () => feesFor(rules("transfer", part("5")), charged, { ...pins(9n), feeCeiling: {} }),
      code("FEE_ABOVE_CEILING"),
    );
    assert.throws(
      () => feesFor(rules("transfer", part("5")), charged, pins(9n, 0, { feeSinks: [] })),
      code("PIN_MISMATCH"),
    );
    const nonsense = { ...part("5"), sink: "cltest1qq" };
    assert.throws(() => feesFor(rules("transfer", nonsense), charged, pins(9n)), code("UNEXPECTED_ANSWER"));
  });
});
