// Fees against real commitments: what pays, what only looks like paying.
import assert from "node:assert/strict";
import type { FeeOpening, Fees } from "../../../../../proxy/api/fees/fee-rules.ts";
import { ApiError } from "../../../../../proxy/base/http/errors.ts";
import { mustField, type Field } from "../../../../../shared/protocol/brands.ts";
import { operationOf } from "../../../../../shared/protocol/host/fees.ts";
import type { Kind } from "../../../../../shared/protocol/statements.ts";
import { testFees } from "../../../../support/fees.ts";
import { commit, facts, opening, OTHER, USDC } from "./notes.ts";

const SINK = mustField(777n);

const fees = testFees({
  now: () => 0,
  assets: [{ address: USDC, symbol: "USDC", decimals: 6 }],
  serviceFee: { text: "clo1sink", sink: { owner: SINK } },
  feeSchedule: [
    { asset: USDC, operation: "deposit", flat: 50_000n, bps: 0 },
    { asset: USDC, operation: "transfer", flat: 50_000n, bps: 0 },
    { asset: USDC, operation: "withdraw", flat: 50_000n, bps: 15 },
    { asset: USDC, operation: "swap", flat: 0n, bps: 15 },
  ],
  minimums: [
    { asset: USDC, operation: "deposit", minimum: 100_000n },
    { asset: USDC, operation: "withdraw", minimum: 10_000n },
    { asset: USDC, operation: "swap", minimum: 1_000n },
  ],
});

const dummy = mustField(99n);

async function codeOf(
  kind: Kind,
  amount: bigint,
  commitments: readonly Field[],
  openings: FeeOpening[],
  asset = USDC,
  asked: Fees = fees,
): Promise<string> {
  try {
    await asked.check({ developerId: "d", kind, facts: facts(kind, amount, commitments, asset), openings });
    return "passes";
  } catch (error) {
    assert.ok(error instanceof ApiError, String(error));
    return error.code;
  }
}

describe("fee rules", () => {
  const paid = (value: bigint): Field[] => [dummy, commit(SINK, USDC, value), dummy, dummy];

  const rows: [string, string, () => Promise<string>][] = [
    [
      "a deposit with its fee note",
      "passes",
      () => codeOf("deposit-shield", 100_000_000n, paid(50_000n), [opening(1, 50_000n)]),
    ],
    [
      "paying more",
      "passes",
      () => codeOf("deposit-shield", 100_000_000n, paid(50_001n), [opening(1, 50_001n)]),
    ],
    [
      "one unit too little",
      "FEE_TOO_LOW",
      () => codeOf("deposit-shield", 100_000_000n, paid(49_999n), [opening(1, 49_999n)]),
    ],
    ["no opening", "FEE_MISSING", () => codeOf("deposit-shield", 100_000_000n, paid(50_000n), [])],
    [
      "a value that is not in the note",
      "FEE_MISSING",
      () => codeOf("deposit-shield", 100_000_000n, paid(1n), [opening(1, 50_000n)]),
    ],
    [
      "another output's number",
      "FEE_MISSING",
      () => codeOf("deposit-shield", 100_000_000n, paid(50_000n), [opening(2, 50_000n)]),
    ],
    [
      "an output that does not exist",
      "FEE_MISSING",
      () => codeOf("deposit-shield", 100_000_000n, paid(50_000n), [opening(15, 50_000n)]),
    ],
    [
      "another blinding",
      "FEE_MISSING",
      () => codeOf("deposit-shield", 100_000_000n, paid(50_000n), [opening(1, 50_000n, USDC, mustField(1n))]),
    ],
    [
      "a note to oneself",
      "FEE_MISSING",
      () =>
        codeOf(
          "deposit-shield",
          100_000_000n,
          [dummy, commit(mustField(5n), USDC, 50_000n), dummy],
          [opening(1, 50_000n)],
        ),
    ],
    [
      "a fee in an asset that is not listed",
      "ASSET_UNSUPPORTED",
      () => codeOf("deposit-shield", 100_000_000n, paid(50_000n), [opening(1, 50_000n, OTHER)]),
    ],
    [
      "a deposit of an asset that is not listed",
      "ASSET_UNSUPPORTED",
      () => codeOf("deposit-shield", 100_000_000n, paid(50_000n), [opening(1, 50_000n)], OTHER),
    ],
    [
      "a deposit below the minimum",
      "AMOUNT_TOO_SMALL",
      () => codeOf("deposit-shield", 99_999n, paid(50_000n), [opening(1, 50_000n)]),
    ],
    [
      "a deposit of exactly the minimum",
      "passes",
      () => codeOf("deposit-shield", 100_000n, paid(50_000n), [opening(1, 50_000n)]),
    ],
    [
      "a transfer with its flat note",
      "passes",
      () => codeOf("spend", 0n, paid(50_000n), [opening(1, 50_000n)]),
    ],
    ["a transfer that opens nothing", "FEE_MISSING", () => codeOf("spend", 0n, paid(50_000n), [])],
    [
      "a transfer whose note is too small",
      "FEE_TOO_LOW",
      () => codeOf("spend", 0n, paid(1n), [opening(1, 1n)]),
    ],
    [
      "a withdrawal of 12.5 with flat and 15 bps",
      "passes",
      () => codeOf("spend", 12_500_000n, paid(68_750n), [opening(1, 68_750n)]),
    ],
    [
      "a withdrawal one unit short",
      "FEE_TOO_LOW",
      () => codeOf("spend", 12_500_000n, paid(68_749n), [opening(1, 68_749n)]),
    ],
    [
      "a withdrawal below the minimum",
      "AMOUNT_TOO_SMALL",
      () => codeOf("spend", 9_999n, paid(68_750n), [opening(1, 68_750n)]),
    ],
    [
      "a transfer of nine notes with its flat note",
      "passes",
      () => codeOf("spend9", 0n, paid(50_000n), [opening(1, 50_000n)]),
    ],
    [
      "a withdrawal of nine notes one unit short",
      "FEE_TOO_LOW",
      () => codeOf("spend9", 12_500_000n, paid(68_749n), [opening(1, 68_749n)]),
    ],
    [
      "a swap of 100 with 15 bps of the gross amount",
      "passes",
      () => codeOf("private-swap", 99_850_000n, paid(150_000n), [opening(1, 150_000n)]),
    ],
    [
      "a swap with 15 bps of what is left",
      "FEE_TOO_LOW",
      () => codeOf("private-swap", 99_850_000n, paid(149_775n), [opening(1, 149_775n)]),
    ],
    [
      "a swap that opens nothing",
      "FEE_MISSING",
      () => codeOf("private-swap", 99_850_000n, paid(150_000n), []),
    ],
    [
      "a swap whose fee note is of another asset",
      "ASSET_UNSUPPORTED",
      () => codeOf("private-swap", 99_850_000n, paid(150_000n), [opening(1, 150_000n, OTHER)]),
    ],
    [
      "a swap of an asset that is not listed",
      "ASSET_UNSUPPORTED",
      () => codeOf("private-swap", 99_850_000n, paid(150_000n), [opening(1, 150_000n)], OTHER),
    ],
    [
      "a swap below the minimum",
      "AMOUNT_TOO_SMALL",
      () => codeOf("private-swap", 999n, paid(1n), [opening(1, 1n)]),
    ],
    [
      "a swap of exactly the minimum",
      "passes",
      () => codeOf("private-swap", 1_000n, paid(1n), [opening(1, 1n)]),
    ],
  ];
  for (const [what, code, run] of rows) it(`${what}: ${code}`, async () => assert.equal(await run(), code));

  it("rounds the proportional part down", async () => {
    // 15 bps of 10,001 is 15.0015.
    assert.equal(await codeOf("spend", 10_001n, paid(50_015n), [opening(1, 50_015n)]), "passes");
    assert.equal(await codeOf("spend", 10_001n, paid(50_014n), [opening(1, 50_014n)]), "FEE_TOO_LOW");
  });

  it("takes any swap that began with a gross amount and left its rounded-down fee out", async () => {
    for (const gross of [1_002n, 9_999n, 10_000n, 10_001n, 123_456_789n, 2n ** 100n]) {
      const fee = (gross * 15n) / 10_000n;
      const openings = (value: bigint): FeeOpening[] => [opening(1, value)];
      assert.equal(
        await codeOf("private-swap", gross - fee, paid(fee), openings(fee)),
        "passes",
        String(gross),
      );
      const less = await codeOf("private-swap", gross - fee + 1n, paid(fee - 1n), openings(fee - 1n));
      assert.equal(less, "FEE_TOO_LOW", String(gross));
    }
  });

  it("takes the best of several openings, whatever their order", async () => {
    const commitments = [commit(SINK, USDC, 1n), commit(SINK, USDC, 60_000n), dummy, dummy];
    assert.equal(await codeOf("spend", 0n, commitments, [opening(0, 1n), opening(1, 60_000n)]), "passes");
  });

  it("asks for nothing where the service takes no fee", async () => {
    const free = testFees({ assets: [{ address: USDC, symbol: "USDC", decimals: 6 }] });
    assert.equal(await codeOf("spend", 0n, [dummy], [], USDC, free), "passes");
    assert.equal(await codeOf("deposit-shield", 1n, [dummy], [], USDC, free), "passes");
  });

  it("never takes a transfer for one of another asset: what opens nothing true may be any that is charged", async () => {
    const both = testFees({
      assets: [USDC, OTHER].map((address) => ({ address, symbol: "T", decimals: 6 })),
      serviceFee: { text: "clo1sink", sink: { owner: SINK } },
      feeSchedule: [
        { asset: USDC, operation: "transfer", flat: 50_000n, bps: 0 },
        { asset: OTHER, operation: "transfer", flat: 1n, bps: 0 },
      ],
    });
    const check = (commitments: readonly Field[], openings: FeeOpening[]): Promise<string> =>
      codeOf("spend", 0n, commitments, openings, USDC, both);
    // A note of USDC, said to be of the asset with the lower fee.
    assert.equal(await check(paid(1n), [opening(1, 1n, OTHER)]), "FEE_MISSING");
    assert.equal(await check(paid(1n), [opening(1, 1n)]), "FEE_TOO_LOW");
    assert.equal(await check(paid(50_000n), [opening(1, 50_000n)]), "passes");
    assert.equal(await check([dummy, commit(SINK, OTHER, 1n)], [opening(1, 1n, OTHER)]), "passes");
    assert.equal(await check([dummy], []), "FEE_MISSING");
  });

  it("knows the operation from kind and amount", () => {
    assert.equal(operationOf("deposit-shield", { amount: mustField(1n) }), "deposit");
    assert.equal(operationOf("spend", { amount: mustField(0n) }), "transfer");
    assert.equal(operationOf("spend", { amount: mustField(1n) }), "withdraw");
    assert.equal(operationOf("spend9", { amount: mustField(0n) }), "transfer");
    assert.equal(operationOf("spend9", { amount: mustField(1n) }), "withdraw");
    assert.equal(operationOf("private-swap", { amount: mustField(1n) }), "swap");
  });

  it("shows rules with a sink and ten minutes of validity", async () => {
    await fees.refresh();
    const rules = await fees.effective("dev");
    const [deposit] = rules;
    assert.ok(deposit);
    assert.deepEqual(deposit.service, { flat: "50000", bps: 0, sink: "clo1sink", enforced: true });
    assert.equal(deposit.valid_until, new Date(600_000).toISOString());
    assert.equal(fees.schedule().service_address, "clo1sink");
    assert.equal(fees.minimums.length, 3);
    const swap = rules.find(({ operation }) => operation === "swap");
    assert.deepEqual(swap?.service, { flat: "0", bps: 15, sink: "clo1sink", enforced: true });
  });
});
