// What every store of bridge requests promises: one request for one owner's terms, limits that hold when two proxies
// race, and news of every change at both.
import assert from "node:assert/strict";
import type { BridgeStore, Opening } from "../../../proxy/base/store/bridges.ts";
import { bridgeDraft, DAY_MS } from "../bridges.ts";
import { until } from "../until.ts";

const LIMITS = { openPerUser: 3, openPerDeveloper: 1_000, openPerInstance: 1_000 };

export function bridgeStoreSuite(fresh: () => readonly [BridgeStore, BridgeStore]): void {
  let one: BridgeStore;
  let other: BridgeStore;
  beforeEach(() => {
    [one, other] = fresh();
  });
  const idsOf = (found: readonly { readonly id: string }[]): string[] => found.map(({ id }) => id);
  async function openIds(store: BridgeStore): Promise<string[]> {
    const ids: string[] = [];
    for await (const page of store.open()) ids.push(...idsOf(page));
    return ids;
  }
  const kindOf = ({ kind }: Opening): string => kind;

  for (const kind of ["from-evm", "from-altchain", "to-exchange", "to-chain"] as const) {
    it(`gives a request ${kind} back as it was made, at both proxies`, async () => {
      const draft = bridgeDraft(1, { kind });
      assert.deepEqual(await one.make(draft, LIMITS), { kind: "new", record: draft });
      assert.deepEqual(await other.get(draft.id), draft);
      assert.deepEqual(await openIds(other), [draft.id]);
    });
  }

  it("is found by each of its addresses, in any case of hex, by its own developer alone", async () => {
    const evm = bridgeDraft(1, {});
    const alt = bridgeDraft(2, { kind: "from-altchain" });
    await one.make(evm, LIMITS);
    await one.make(alt, LIMITS);
    assert.ok(evm.way.kind === "from-evm" && alt.way.kind === "from-altchain");
    for (const address of [
      evm.address,
      evm.way.source!.address,
      evm.address.toUpperCase().replace("0X", "0x"),
    ])
      assert.deepEqual(idsOf(await other.atAddress("d", address)), [evm.id], address);
    for (const address of [alt.address, alt.way.tokenAccount, alt.way.depositKey])
      assert.deepEqual(idsOf(await other.atAddress("d", address)), [alt.id], address);
    assert.deepEqual(await other.atAddress("d", alt.way.depositKey.toLowerCase()), []);
    assert.deepEqual(await other.atAddress("e", evm.address), []);
  });

  it("answers the same terms of one owner with the same request, whichever proxy is asked, and watches it longer", async () => {
    const first = bridgeDraft(1, {});
    await one.make(first, LIMITS);
    const again = { ...bridgeDraft(1, {}), id: "0190a0a0-0000-7000-8000-0000000000ff" };
    const later = { ...again, watchUntil: first.watchUntil + DAY_MS };
    const answer = await other.make(later, LIMITS);
    assert.deepEqual(answer, { kind: "same", record: { ...first, watchUntil: later.watchUntil } });
    assert.equal(await one.get(again.id), undefined);
    // Never for less long than was promised.
    assert.equal(kindOf(await other.make({ ...again, watchUntil: 0 }, LIMITS)), "same");
    assert.equal((await one.get(first.id))?.watchUntil, later.watchUntil);
    assert.deepEqual(await openIds(one), [first.id]);
  });

  it("keeps the same terms of two owners apart: neither learns of the other", async () => {
    const mine = bridgeDraft(1, {});
    const theirs = { ...bridgeDraft(1, { sub: "mallory" }), id: "0190a0a0-0000-7000-8000-0000000000ee" };
    assert.equal(kindOf(await one.make(mine, LIMITS)), "new");
    assert.equal(kindOf(await other.make(theirs, LIMITS)), "new");
    assert.deepEqual(idsOf(await one.openOf("d", "user")), [mine.id]);
    assert.deepEqual(idsOf(await one.openOf("d", "mallory")), [theirs.id]);
    assert.deepEqual(idsOf(await one.openOf("d", undefined)).sort(), [mine.id, theirs.id].sort());
    assert.deepEqual(await one.openOf("e", undefined), []);
  });

  it("opens no more for a user, and in all, than is allowed, when both proxies are asked at once", async () => {
    const asked = Array.from({ length: 12 }, (_, n) => bridgeDraft(n + 1, {}));
    const answers = await Promise.all(
      asked.map((draft, n) => (n % 2 === 0 ? one : other).make(draft, LIMITS)),
    );
    assert.equal(answers.filter(({ kind }) => kind === "new").length, 3);
    const refused = answers.filter(({ kind }) => kind === "full");
    assert.deepEqual(refused, Array(9).fill({ kind: "full", of: "user" }));
    assert.equal((await openIds(one)).length, 3);
    const small = { openPerUser: 100, openPerDeveloper: 100, openPerInstance: 3 };
    const another = bridgeDraft(50, { sub: "another" });
    // Its users are names that a developer gives.
    const share = { ...small, openPerDeveloper: 3, openPerInstance: 100 };
    assert.deepEqual(await other.make(another, share), { kind: "full", of: "developer" });
    assert.deepEqual(await other.make(another, small), { kind: "full", of: "instance" });
    assert.equal(await one.get(another.id), undefined);
  });

  it("closes what is past its time and makes room, and takes it up again only where there is room", async () => {
    const limits = { openPerUser: 1, openPerDeveloper: 1_000, openPerInstance: 1_000 };
    const first = bridgeDraft(1, {});
    const second = bridgeDraft(2, {});
    await one.make(first, limits);
    await one.close(first.id, first.watchUntil - 1);
    assert.equal((await one.get(first.id))?.closedAt, undefined);
    await Promise.all([one.close(first.id, first.watchUntil), other.close(first.id, first.watchUntil + 5)]);
    assert.ok(((await other.get(first.id))?.closedAt ?? 0) >= first.watchUntil);
    assert.deepEqual(await openIds(other), []);
    assert.equal(kindOf(await other.make(second, limits)), "new");
    assert.deepEqual(await one.takeUp(first.id, first.watchUntil + DAY_MS, limits), {
      kind: "full",
      of: "user",
    });
    await one.close(second.id, second.watchUntil);
    const taken = await one.make({ ...first, id: second.id, watchUntil: first.watchUntil + DAY_MS }, limits);
    assert.deepEqual(taken, { kind: "same", record: { ...first, watchUntil: first.watchUntil + DAY_MS } });
    assert.deepEqual(await openIds(other), [first.id]);
    // Counted once, not twice: there is no room for another.
    assert.deepEqual(await other.make(bridgeDraft(3, {}), limits), { kind: "full", of: "user" });
  });

  it("tells both proxies what was made and changed, and of nothing else", async () => {
    const heard: string[][] = [[], []];
    const stops = [one, other].map((store, at) =>
      store.follow(({ id, screening, resendAt }) => {
        heard[at]!.push(`${id.slice(-2)} ${String(screening?.isRefused)} ${String(resendAt)}`);
      }),
    );
    const draft = bridgeDraft(1, {});
    // Who follows and then reads misses nothing from there on.
    for (const store of [one, other]) await store.get(draft.id);
    await one.make(draft, LIMITS);
    await until("the new one is heard of", async () => heard.every((lines) => lines.length > 0));
    await other.screen(draft.id, true, 5);
    await other.screen(draft.id, true, 6);
    await one.resend(draft.id, 7);
    await until("the changes are heard of", async () => heard.every((lines) => lines.includes("01 true 7")));
    assert.deepEqual((await one.get(draft.id))?.screening, { isRefused: true, at: 5 });
    for (const stop of stops) stop();
    assert.equal(await one.screen("0190a0a0-0000-7000-8000-00000000dead", true, 1), undefined);
  });
}
