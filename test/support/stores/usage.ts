// What every store promises of the sums of usage.
import assert from "node:assert/strict";
import { LeaseLost } from "../../../proxy/base/store/lease.ts";
import type { InstanceStores } from "../../../proxy/base/store/instance.ts";
import type { TicketDraft } from "../../../proxy/base/store/tickets.ts";
import { dayOf, DAY_MS, type Counted, type UsageDay } from "../../../proxy/base/store/usage.ts";
import { mustField, type Address } from "../../../shared/protocol/brands.ts";
import { addressToField } from "../../../shared/protocol/host/text.ts";
import { writeSignals } from "../../../shared/protocol/host/statements.ts";
import { KINDS, type Kind } from "../../../shared/protocol/statements.ts";
import { end } from "./ended-tickets.ts";
import { ERROR, hash, leased, ticketDraft } from "./tickets.ts";

export const TOKEN = `0x${"ab".repeat(20)}` as Address;
const DAY = dayOf(Date.UTC(2026, 10, 25));
const NOON = DAY * DAY_MS + DAY_MS / 2;

type Stores = Pick<InstanceStores, "tickets" | "lease" | "usage">;

/** Of a statement that moves so much in public. */
export function payingDraft(n: number, kind: Kind, amount: bigint, createdAt = NOON): TicketDraft {
  const draft = ticketDraft(n, [n]);
  const { inputs, outputs } = KINDS[kind];
  const signals = writeSignals(kind, {
    ...{ context: mustField(1n), root: kind === "deposit-shield" ? undefined : mustField(2n) },
    ...{ asset: amount === 0n ? mustField(0n) : addressToField(TOKEN), amount: mustField(amount) },
    nullifiers: Array.from({ length: inputs }, (_, i) => mustField(BigInt(i))),
    commitments: Array.from({ length: outputs }, (_, i) => mustField(BigInt(i))),
  });
  return { ...draft, createdAt, transaction: { ...draft.transaction, kind, signals } };
}

const counted = (operation: string, count: number, code?: string, day = DAY): Counted => ({
  ...{ developerId: "d", day, operation, code, count },
});

export function usageStoreSuite(stores: () => [Stores, Stores]): void {
  let [one, other]: [Stores, Stores] = [undefined as never, undefined as never];
  beforeEach(() => {
    [one, other] = stores();
  });
  const today = async (developerId = "d"): Promise<UsageDay> => {
    const [found, ...more] = await other.usage.days(developerId, DAY, DAY);
    assert.deepEqual(more, []);
    return found ?? { day: "", requests: [], refusals: [], payments: [], amounts: [] };
  };

  it("adds what two proxies counted, by developer, operation, code and day", async () => {
    const [a, b] = [counted("relay", 3), counted("relay", 1, "RATE_LIMITED")];
    await Promise.all([
      ...[one.usage.pour("one", 1, [a, b]), other.usage.pour("other", 1, [a, { ...a, developerId: "e" }])],
    ]);
    await one.usage.pour("one", 2, [counted("spend", 2), counted("spend", 2, undefined, DAY + 1)]);
    const { requests, refusals } = await today();
    assert.deepEqual(
      new Map(requests.map(({ operation, count }) => [operation, count])),
      new Map([
        ["relay", 6],
        ["spend", 2],
      ]),
    );
    assert.deepEqual(refusals, [{ operation: "relay", code: "RATE_LIMITED", count: 1 }]);
    assert.deepEqual((await today("e")).requests, [{ operation: "relay", count: 3 }]);
    const days = await other.usage.days("d", DAY - 3, DAY + 3);
    assert.deepEqual(
      days.map(({ day }) => day),
      ["2026-11-25", "2026-11-26"],
    );
    assert.deepEqual(await other.usage.developersOn(DAY), ["d", "e"]);
    assert.deepEqual(await other.usage.developersOn(DAY + 1), ["d"]);
    assert.deepEqual(await other.usage.developersOn(DAY + 2), []);
  });

  it("counts a pour once, however often it is sent, and takes none whose place it does not know", async () => {
    const some = [counted("relay", 5)];
    for (let i = 0; i < 3; i++) assert.equal(await one.usage.pour("s", 1, some), true);
    assert.deepEqual((await today()).requests, [{ operation: "relay", count: 5 }]);
    assert.equal(await other.usage.pour("s", 2, some), true);
    assert.equal(await one.usage.pour("s", 4, some), false);
    assert.equal(await one.usage.pour("unknown", 2, some), false);
    assert.deepEqual((await today()).requests, [{ operation: "relay", count: 10 }]);
  });

  it("counts payments by the step that ends them, with what they moved in public, to the last unit", async () => {
    const writes = await leased(one);
    const large = 2n ** 128n - 1n;
    const paid: [Kind, bigint][] = [
      ["spend", 0n],
      ["spend9", 0n],
      ["spend", 12_345_678_901n],
      ["spend", large],
      ["deposit-shield", 99_999_999n],
      ["private-swap", 100_000_000n],
    ];
    for (const [i, [kind, amount]] of paid.entries())
      await end(one, writes, payingDraft(i, kind, amount), "finalized", NOON + DAY_MS);
    await end(one, writes, payingDraft(10, "spend", 7n), "failed", NOON);
    await end(one, writes, payingDraft(11, "spend", 0n), "expired", NOON);
    await other.tickets.accept(payingDraft(12, "spend", 7n), 10);
    const { payments, amounts } = await today();
    assert.deepEqual(
      new Map(payments.map(({ operation, state, count }) => [`${operation} ${state}`, count])),
      new Map([
        ["transfer finalized", 2],
        ["withdraw finalized", 2],
        ["deposit finalized", 1],
        ["swap finalized", 1],
        ["withdraw failed", 1],
        ["transfer expired", 1],
      ]),
    );
    assert.deepEqual(
      new Map(amounts.map(({ operation, asset, amount }) => [`${operation} ${asset}`, amount])),
      new Map([
        [`withdraw ${TOKEN}`, large + 12_345_678_901n],
        [`deposit ${TOKEN}`, 99_999_999n],
        [`swap ${TOKEN}`, 100_000_000n],
      ]),
    );
  });

  it("counts many that one step ends, and takes one back that is open again", async () => {
    const writes = await leased(one);
    const outcome = { txHash: hash(3), block: 3, leafIndexes: [] };
    for (let n = 0; n < 4; n++) await one.tickets.accept(payingDraft(n, "spend", 3n), 10);
    const all = Array.from({ length: 4 }, (_, n) => `id-${String(n)}`);
    await writes.change(
      all.map((id) => ({ id, status: { state: "finalized", outcome } })),
      NOON,
    );
    await writes.change([{ id: "id-0", status: { state: "submitted", txHash: hash(3) } }], NOON);
    assert.deepEqual((await today()).payments, [{ operation: "withdraw", state: "finalized", count: 3 }]);
    assert.deepEqual((await today()).amounts, [{ operation: "withdraw", asset: TOKEN, amount: 9n }]);
    await writes.change([{ id: "id-0", status: { state: "failed", error: ERROR } }], NOON);
    assert.deepEqual((await today()).amounts, [{ operation: "withdraw", asset: TOKEN, amount: 9n }]);
    // Told once more, it counts no more.
    await writes.change([{ id: "id-0", status: { state: "failed", error: ERROR } }], NOON + 1);
    assert.equal((await today()).payments.find(({ state }) => state === "failed")?.count, 1);
  });

  it("removes whole days, the oldest first, under the lease alone", async () => {
    const { fence, ...held } = await fenceOf(one);
    for (const [i, day] of [DAY, DAY - 2, DAY - 1].entries())
      await one.usage.pour("s", i + 1, [
        counted("relay", 1, "REJECTED", day),
        counted("relay", 1, undefined, day),
      ]);
    await one.usage.pour("s", 4, [{ ...counted("relay", 1, undefined, DAY - 2), developerId: "e" }]);
    const left = async (): Promise<string[]> =>
      (await other.usage.days("d", DAY - 9, DAY)).map(({ day }) => day);
    assert.equal(await one.usage.removeOne(fence, DAY - 1), true);
    assert.equal(await one.usage.removeOne(fence, DAY - 1), true);
    assert.equal(await one.usage.removeOne(fence, DAY - 1), false);
    assert.deepEqual(await left(), ["2026-11-24", "2026-11-25"]);
    assert.deepEqual(await other.usage.developersOn(DAY - 2), []);
    await held.lose();
    await assert.rejects(one.usage.removeOne(fence, DAY + 1), LeaseLost);
    assert.deepEqual(await left(), ["2026-11-24", "2026-11-25"]);
  });

  async function fenceOf({ lease }: Stores): Promise<{ fence: number; lose(): Promise<void> }> {
    const fence = await lease.take("holder", 60_000);
    assert.ok(fence !== undefined);
    return {
      fence,
      async lose() {
        await lease.giveBack("holder");
        await leased(other, "next");
      },
    };
  }
}
