// The service's fee and the developer's, together: to the smallest unit, a note for each, and terms of a moment ago.
import assert from "node:assert/strict";
import { removeRule, setRule, type RuleChange } from "../../../../../proxy/base/fees/developer-rules.ts";
import type { Fees } from "../../../../../proxy/api/fees/fee-rules.ts";
import { ApiError } from "../../../../../proxy/base/http/errors.ts";
import { embeddedStores } from "../../../../../proxy/base/store/instance.ts";
import type { FeeRuleStore } from "../../../../../proxy/base/store/fee-rules.ts";
import { mustField, type Field } from "../../../../../shared/protocol/brands.ts";
import { asAddress } from "../../../../../shared/protocol/host/text.ts";
import type { FeeOperation } from "../../../../../shared/protocol/host/fees.ts";
import type { Kind } from "../../../../../shared/protocol/statements.ts";
import { temporaryDatabase, testFees } from "../../../../support/fees.ts";
import { commit, facts, opening, OTHER as WETH, USDC } from "./notes.ts";

const SERVICE = mustField(777n);
const SHOP = mustField(888n);
const ANOTHER = mustField(999n);
const MINUTE = 60_000;
const GRACE = 10 * MINUTE;

interface Noted {
  readonly owner: Field;
  readonly value: bigint;
}
const toService = (value: bigint): Noted => ({ owner: SERVICE, value });
const toShop = (value: bigint): Noted => ({ owner: SHOP, value });

const KIND: Readonly<Record<FeeOperation, Kind>> = {
  deposit: "deposit-shield",
  transfer: "spend",
  withdraw: "spend",
  swap: "private-swap",
};

describe("fees of service and developer", () => {
  let now: number;
  let store: FeeRuleStore;
  let fees: Fees;
  beforeEach(() => {
    now = 1_800_000_000_000;
    store = embeddedStores(temporaryDatabase()).feeRules;
    fees = service(50_000n);
  });

  /** 0.05 flat, for a swap 15 basis points. A second one over the same store is a restart, or another proxy. */
  function service(flat: bigint, bps = 15): Fees {
    return testFees({
      assets: [
        { address: USDC, symbol: "USDC", decimals: 6 },
        { address: WETH, symbol: "WETH", decimals: 18 },
      ],
      serviceFee: { text: "clo1service", sink: { owner: SERVICE } },
      feeSchedule: [USDC, WETH].flatMap((asset) => [
        ...(["deposit", "transfer", "withdraw"] as const).map((operation) => ({
          ...{ asset, operation, flat, bps: 0 },
        })),
        { asset, operation: "swap" as const, flat: 0n, bps },
      ]),
      store,
      now: () => now,
    });
  }

  const sink = (owner: Field, text = `clo1${owner}`) => ({ text, owner, viewingKey: new Uint8Array(32) });
  const rule = async (
    operation: FeeOperation,
    flat: bigint,
    bps: number,
    more: Partial<RuleChange> & { developer?: string } = {},
  ): Promise<void> => {
    const { developer = "shop", ...change } = more;
    const wanted = { asset: USDC, operation, flat, bps, sink: sink(SHOP), ...change };
    await setRule(store, developer, wanted, now);
  };
  /** Long ago: nothing older is in force. */
  const settled = async (...args: Parameters<typeof rule>): Promise<void> => {
    now -= 60 * MINUTE;
    await rule(...args);
    now += 60 * MINUTE;
  };

  async function check(
    operation: FeeOperation,
    amount: bigint,
    notes: readonly Noted[],
    { developer = "shop", by = fees, unopened = [] as readonly number[], asset = USDC } = {},
  ): Promise<string> {
    const blinding = (output: number): Field => mustField(BigInt(output + 4_000));
    const commitments = notes.map(({ owner, value }, output) =>
      commit(owner, asset, value, blinding(output)),
    );
    const openings = notes
      .map(({ value }, output) => opening(output, value, asset, blinding(output)))
      .filter(({ output }) => !unopened.includes(output));
    const seen = operation === "transfer" ? 0n : amount;
    try {
      const paid = await by.check({
        developerId: developer,
        kind: KIND[operation],
        facts: facts(KIND[operation], seen, commitments, asset),
        openings,
      });
      return paid.map(({ receiver, value }) => `${receiver ?? "service"} ${value}`).join(", ");
    } catch (error) {
      assert.ok(error instanceof ApiError, String(error));
      return `${error.code}: ${error.message}`;
    }
  }

  it("are both owed, to the smallest unit, and told who received what", async () => {
    await settled("withdraw", 1_000n, 25);
    // 25 basis points of 9,999 are 24.9975.
    assert.equal(
      await check("withdraw", 9_999n, [toService(50_000n), toShop(1_024n)]),
      "service 50000, shop 1024",
    );
    assert.match(
      await check("withdraw", 9_999n, [toService(50_000n), toShop(1_023n)]),
      /^FEE_TOO_LOW: The developer fee is 1024/,
    );
    assert.match(
      await check("withdraw", 9_999n, [toService(49_999n), toShop(1_024n)]),
      /^FEE_TOO_LOW: The service fee is 50000/,
    );
    assert.match(await check("withdraw", 9_999n, [toService(50_000n)]), /^FEE_MISSING: .* developer fee$/);
    assert.match(await check("withdraw", 9_999n, [toShop(1_024n)]), /^FEE_MISSING: .* service fee$/);
    assert.equal(
      await check("deposit", 9_999n, [toService(50_000n)]),
      "service 50000",
      "no rule for deposits",
    );
  });

  it("are those of the developer that posts, for its asset", async () => {
    await settled("deposit", 7n, 0);
    assert.match(await check("deposit", 10n, [toService(50_000n)]), /^FEE_MISSING/);
    assert.equal(await check("deposit", 10n, [toService(50_000n)], { developer: "else" }), "service 50000");
    assert.equal(await check("deposit", 10n, [toService(50_000n)], { asset: WETH }), "service 50000");
  });

  it("are never paid by one note, nor by a note of somebody else's", async () => {
    await settled("deposit", 50_000n, 0);
    assert.match(await check("deposit", 10n, [toService(100_000n)]), /^FEE_MISSING: .* developer/);
    assert.match(
      await check("deposit", 10n, [toService(50_000n), { owner: ANOTHER, value: 50_000n }]),
      /^FEE_MISSING: .* developer/,
    );
  });

  it("need two notes where service and developer have one sink, and find them in any order", async () => {
    await settled("deposit", 500n, 0, { sink: sink(SERVICE, "clo1service") });
    assert.match(await check("deposit", 10n, [toService(50_500n)]), /^FEE_MISSING: .* developer/);
    assert.equal(
      await check("deposit", 10n, [toService(500n), toService(50_000n)]),
      "shop 500, service 50000",
    );
    assert.equal(
      await check("deposit", 10n, [toService(50_000n), toService(500n)]),
      "service 50000, shop 500",
    );
    assert.match(await check("deposit", 10n, [toService(50_000n), toService(499n)]), /^FEE_TOO_LOW: The dev/);
    assert.match(await check("deposit", 10n, [toService(49_999n), toService(501n)]), /^FEE_TOO_LOW: The ser/);
  });

  it("of a swap are both of the gross amount, each rounded down by itself", async () => {
    await settled("swap", 13n, 30);
    for (const gross of [1_000n, 9_999n, 10_001n, 123_456_789n, 2n ** 100n + 1n]) {
      const [ours, theirs] = [(gross * 15n) / 10_000n, 13n + (gross * 30n) / 10_000n];
      const left = gross - ours - theirs;
      assert.equal(
        await check("swap", left, [toService(ours), toShop(theirs)]),
        `service ${ours}, shop ${theirs}`,
      );
      assert.match(await check("swap", left + 1n, [toService(ours), toShop(theirs - 1n)]), /^FEE_TOO_LOW/);
      assert.match(await check("swap", left + 1n, [toService(ours - 1n), toShop(theirs)]), /^FEE_TOO_LOW/);
    }
  });

  it("of a transfer: a flat one is enforced, one with basis points is not, and the caller is told", async () => {
    await settled("transfer", 20n, 0);
    assert.match(await check("transfer", 0n, [toService(50_000n)]), /^FEE_MISSING: .* developer/);
    assert.equal(await check("transfer", 0n, [toService(50_000n), toShop(20n)]), "service 50000, shop 20");
    const enforced = async (): Promise<boolean | undefined> =>
      (await fees.effective("shop")).find(
        ({ asset, operation }) => asAddress(asset) === USDC && operation === "transfer",
      )?.developer?.enforced;
    assert.equal(await enforced(), true);
    await settled("transfer", 20n, 1);
    assert.equal(await enforced(), false);
    assert.equal(await check("transfer", 0n, [toService(50_000n)]), "service 50000");
    // Whoever opens its note all the same tells us something, and is not refused for it.
    assert.equal(await check("transfer", 0n, [toService(50_000n), toShop(3n)]), "service 50000, shop 3");
  });

  it("of a transfer are not asked where no note would tell its asset from one that is free", async () => {
    fees = testFees({
      assets: [USDC, WETH].map((address) => ({ address, symbol: "T", decimals: 6 })),
      store,
      now: () => now,
    });
    await settled("transfer", 20n, 0);
    const enforced = async (): Promise<boolean[]> =>
      (await fees.effective("shop")).map(({ developer }) => developer?.enforced ?? false);
    assert.deepEqual(await enforced(), [false]);
    assert.equal(await check("transfer", 0n, []), "");
    await settled("transfer", 30n, 0, { asset: WETH });
    assert.deepEqual(await enforced(), [true, true]);
    assert.match(await check("transfer", 0n, []), /^FEE_MISSING: .* developer/);
    assert.equal(await check("transfer", 0n, [toShop(30n)], { asset: WETH }), "shop 30");
    assert.match(await check("transfer", 0n, [toShop(20n)], { asset: WETH }), /^FEE_TOO_LOW/);
  });

  it("of a new rule are owed ten minutes after it was set, of a removed one never again", async () => {
    await rule("deposit", 7n, 0);
    const without = (): Promise<string> => check("deposit", 10n, [toService(50_000n)]);
    assert.equal(await check("deposit", 10n, [toService(50_000n), toShop(7n)]), "service 50000, shop 7");
    now += GRACE;
    assert.equal(await without(), "service 50000");
    now += MINUTE + 1;
    assert.match(await without(), /^FEE_MISSING/);
    assert.equal(await removeRule(store, "shop", USDC, "deposit"), true);
    assert.equal(await removeRule(store, "shop", USDC, "deposit"), false);
    assert.equal(await without(), "service 50000");
    assert.deepEqual(await store.rules("shop"), []);
  });

  it("by the rule of a moment ago are enough, to its sink, and by a mixture of two rules are not", async () => {
    await settled("deposit", 10n, 50);
    await rule("deposit", 1n, 100, { sink: sink(ANOTHER) });
    const pay = (owner: Field, value: bigint): Promise<string> =>
      check("deposit", 1_000n, [toService(50_000n), { owner, value }]);
    assert.equal(await pay(SHOP, 15n), "service 50000, shop 15");
    assert.equal(await pay(ANOTHER, 11n), "service 50000, shop 11");
    assert.match(await pay(SHOP, 11n), /^FEE_/);
    now += GRACE + MINUTE + 1;
    assert.match(await pay(SHOP, 15n), /^FEE_MISSING/);
    assert.equal(await pay(ANOTHER, 11n), "service 50000, shop 11");
  });

  it("of the service by the terms of before a restart, or of another proxy, are enough for ten minutes", async () => {
    await fees.refresh();
    const [shown] = await fees.effective("shop");
    const dearer = service(60_000n);
    await dearer.refresh();
    const pay = (value: bigint, by: Fees = dearer): Promise<string> =>
      check("deposit", 10n, [toService(value)], { by });
    assert.equal(await pay(50_000n), "service 50000");
    assert.match(await pay(49_999n), /^FEE_TOO_LOW: The service fee is 60000/);
    // The proxy that did not know yet takes what the other one asks.
    assert.equal(await pay(60_000n, fees), "service 60000");

    now = Date.parse(shown?.valid_until ?? "");
    assert.equal(await pay(50_000n), "service 50000");
    now += MINUTE + 1;
    assert.match(await pay(50_000n), /^FEE_TOO_LOW: The service fee is 60000/);
    assert.equal(await pay(60_000n), "service 60000");
  });

  it("are shown with a time that a promise on disk covers, as long as the promise is renewed", async () => {
    await fees.refresh();
    for (let minute = 0; minute < 30; minute += 1) {
      now += 20_000;
      await fees.refresh();
      const [shown] = await fees.effective("shop");
      assert.equal(Date.parse(shown?.valid_until ?? ""), now + GRACE);
      const promised = await store.promised(USDC, "deposit", now);
      assert.ok(promised.every(({ goodUntil }) => goodUntil >= now + GRACE));
      assert.equal(promised.length, 1);
    }
    // The disk takes nothing any more: what was promised still stands, and no more is said.
    now += 5 * MINUTE;
    const [late] = await fees.effective("shop");
    const [kept] = await store.promised(USDC, "deposit", now);
    assert.equal(Date.parse(late?.valid_until ?? ""), kept?.goodUntil);
  });

  it("forget terms that are past, so that moving prices fill nothing", async () => {
    for (let round = 0; round < 100; round += 1) {
      now += 20_000;
      await service(50_000n + BigInt(round)).refresh();
    }
    const promised = await store.promised(USDC, "deposit", now);
    assert.ok(promised.length <= 34, String(promised.length));
    assert.deepEqual(
      (await store.promised(USDC, "deposit", now + GRACE + MINUTE)).map(({ terms }) => terms),
      [],
    );
  });

  it("are quoted as they are in force", async () => {
    await settled("swap", 13n, 30);
    const { service: ours, developer: theirs } = await fees.rulesFor("shop", USDC, "swap");
    assert.deepEqual([ours?.flat, ours?.bps, theirs?.flat, theirs?.bps], [0n, 15, 13n, 30]);
    assert.equal((await fees.rulesFor("else", USDC, "swap")).developer, undefined);
  });
});

describe("rules of a developer", () => {
  const store = embeddedStores(temporaryDatabase()).feeRules;
  const sink = { text: "clo1shop", owner: SHOP, viewingKey: new Uint8Array(32) };
  const set = (change: Partial<RuleChange>, now = 0) =>
    setRule(store, "shop", { asset: USDC, operation: "deposit", flat: 1n, bps: 0, sink, ...change }, now);

  const faulty: readonly [string, Partial<RuleChange>, RegExp][] = [
    ["more than all", { bps: 10_001 }, /0 to 10000$/],
    ["a fraction of a basis point", { bps: 1.5 }, /0 to 10000$/],
    ["less than nothing", { bps: -1 }, /0 to 10000$/],
    ["more than half of a swap", { operation: "swap", bps: 5_001 }, /0 to 5000$/],
    ["what no note holds", { flat: 2n ** 128n }, /below 2\^128/],
    ["nothing", { flat: 0n }, /remove it/],
    ["no sink, where there was none", { sink: undefined }, /no sink yet/],
  ];
  for (const [what, change, words] of faulty) {
    it(`cannot ask for ${what}`, async () => {
      await assert.rejects(set(change), words);
      assert.deepEqual(await store.rules("shop"), []);
    });
  }

  it("share the sink of their asset, which the next change may leave out", async () => {
    await set({});
    await set({ operation: "withdraw", bps: 10_000, sink: undefined });
    await set({ operation: "transfer", sink: { ...sink, text: "clo1new", owner: ANOTHER } });
    await set({ asset: WETH });
    const rules = await store.rules("shop");
    assert.deepEqual(
      rules.map(({ asset, operation, terms }) => [asset, operation, terms.sink, terms.owner]),
      [
        [USDC, "deposit", "clo1new", ANOTHER],
        [USDC, "withdraw", "clo1new", ANOTHER],
        [USDC, "transfer", "clo1new", ANOTHER],
        [WETH, "deposit", "clo1shop", SHOP],
      ],
    );
    assert.deepEqual(await store.developersWithRules(), ["shop"]);
  });

  it("change no faster than earlier terms can be honoured", async () => {
    const at = 10_000_000;
    await assert.rejects(async () => {
      for (let flat = 100n; flat < 140n; flat += 1n) await set({ flat }, at);
    }, /too often/);
    const refused = (await store.rules("shop"))[0];
    assert.ok((refused?.earlier.length ?? 0) <= 16);
    await set({ flat: 999n }, at + GRACE + 2 * MINUTE);
    assert.deepEqual((await store.rules("shop"))[0]?.earlier.length, 1);
  });
});
