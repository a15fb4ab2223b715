// What every store of fee rules and promises promises itself.
import assert from "node:assert/strict";
import type {
  DeveloperRule,
  FeePromise,
  FeeRuleStore,
  FeeTerms,
} from "../../../proxy/base/store/fee-rules.ts";
import { FIELD_ORDER, mustField, type Address } from "../../../shared/protocol/brands.ts";
import { asAddress } from "../../../shared/protocol/host/text.ts";

const USDC = asAddress(`0x${"11".repeat(20)}`) as Address;
const WETH = asAddress(`0x${"22".repeat(20)}`) as Address;

/** Larger than any number of JSON or of 64 bits. */
export function someTerms(flat = 2n ** 127n): FeeTerms {
  return { flat, bps: 15, sink: "clo1sink", owner: mustField(FIELD_ORDER - 1n) };
}

export function aRuleOf(flat: bigint, change: Partial<DeveloperRule> = {}): DeveloperRule {
  const earlier = [
    { terms: someTerms(flat + 1n), goodUntil: 1_800_000_000_000 },
    { terms: undefined, goodUntil: 1_800_000_000_001 },
  ];
  return { asset: USDC, operation: "swap", terms: someTerms(flat), earlier, ...change };
}

export function feeRuleStoreSuite(of: () => [FeeRuleStore, FeeRuleStore]): void {
  it("gives back a developer's rules as they were set, and forgets who has none", async () => {
    const [one, other] = of();
    const rules = [aRuleOf(0n), aRuleOf(2n ** 128n, { asset: WETH, operation: "deposit", earlier: [] })];
    assert.deepEqual(await one.rules("shop"), []);
    assert.deepEqual(await one.changeRules("shop", () => rules), rules);
    await one.changeRules("bank", () => [aRuleOf(1n)]);
    assert.deepEqual(await other.rules("shop"), rules);
    assert.deepEqual(await other.developersWithRules(), ["bank", "shop"]);
    assert.deepEqual(await other.changeRules("shop", () => []), []);
    assert.deepEqual(await one.rules("shop"), []);
    assert.deepEqual(await one.developersWithRules(), ["bank"]);
  });

  it("loses nobody's change, and nothing by one that throws", async () => {
    const stores = of();
    await Promise.all(
      Array.from({ length: 16 }, (_, i) =>
        stores[i % 2]!.changeRules("shop", (now) => [...now, aRuleOf(BigInt(i))]),
      ),
    );
    const flats = (await stores[0].rules("shop")).map(({ terms }) => Number(terms.flat));
    assert.deepEqual(
      [...flats].sort((a, b) => a - b),
      Array.from({ length: 16 }, (_, i) => i),
    );
    const thrown = new Error("no");
    await assert.rejects(
      stores[0].changeRules("shop", () => {
        throw thrown;
      }),
      (error) => error === thrown,
    );
    assert.equal((await stores[1].rules("shop")).length, 16);
  });

  const promise = (
    flat: bigint | undefined,
    goodUntil: number,
    change: Partial<FeePromise> = {},
  ): FeePromise => ({
    asset: USDC,
    operation: "transfer",
    terms: flat === undefined ? undefined : someTerms(flat),
    goodUntil,
    ...change,
  });

  it("what one proxy promised is good at every other until its time", async () => {
    const [one, other] = of();
    const elsewhere = { asset: WETH, operation: "swap" } as const;
    await one.promise([promise(1n, 100), promise(undefined, 200), promise(3n, 300, elsewhere)], 0);
    assert.deepEqual(await other.promised(USDC, "transfer", 99), [
      { terms: someTerms(1n), goodUntil: 100 },
      { terms: undefined, goodUntil: 200 },
    ]);
    assert.deepEqual(await other.promised(USDC, "transfer", 100), [{ terms: undefined, goodUntil: 200 }]);
    assert.deepEqual(await other.promised(WETH, "swap", 0), [{ terms: someTerms(3n), goodUntil: 300 }]);
    assert.deepEqual(await other.promised(WETH, "transfer", 0), []);
  });

  it("of equal terms the later time stands, whoever told it and in whatever order", async () => {
    const [one, other] = of();
    await one.promise([promise(1n, 300)], 0);
    await other.promise([promise(1n, 200), promise(undefined, 50)], 0);
    assert.deepEqual(await one.promised(USDC, "transfer", 60), [{ terms: someTerms(1n), goodUntil: 300 }]);
    await other.promise([promise(1n, 400)], 0);
    assert.deepEqual(await one.promised(USDC, "transfer", 60), [{ terms: someTerms(1n), goodUntil: 400 }]);
  });

  it("loses no promise of proxies that speak at once", async () => {
    const stores = of();
    await Promise.all(
      Array.from({ length: 12 }, (_, i) => stores[i % 2]!.promise([promise(BigInt(i), 100 + i)], 0)),
    );
    const kept = await stores[0].promised(USDC, "transfer", 0);
    assert.deepEqual(
      kept.map(({ goodUntil }) => goodUntil).sort((a, b) => a - b),
      Array.from({ length: 12 }, (_, i) => 100 + i),
    );
  });

  it("describes the instance, newest last", async () => {
    const [one, other] = of();
    assert.equal(await one.instance(), undefined);
    const first = { addressPrefix: "clo", assets: [{ address: USDC, symbol: "USDC", decimals: 6 }] };
    await one.describe(first);
    assert.deepEqual(await other.instance(), first);
    await other.describe({ ...first, assets: [] });
    assert.deepEqual(await one.instance(), { ...first, assets: [] });
  });
}
