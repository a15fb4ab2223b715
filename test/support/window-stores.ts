// What every window store promises, as one suite. Time is the store's own: a test waits until the store itself
// says that a place is free, whatever clock it goes by.
import assert from "node:assert/strict";
import type { WindowRule, WindowStore } from "../../proxy/base/store/windows.ts";

export interface TestedStore {
  readonly store: WindowStore;
  /** Lets so much of the store's time pass. */
  pass(ms: number): Promise<void>;
}

let made = 0;
/** A rule that nobody has used. */
export function aRule(changes: Partial<WindowRule> = {}): WindowRule {
  made++;
  return { policy: "test", key: `key ${String(made)}`, windowMs: 60_000, quota: 3, ...changes };
}

export function windowStoreSuite(of: () => TestedStore): void {
  const takes = async (rules: readonly WindowRule[], times: number): Promise<boolean[]> => {
    const all: boolean[] = [];
    for (let i = 0; i < times; i++) all.push((await of().store.take(rules)).isAdmitted);
    return all;
  };

  it("admits the quota and not one more, and tells how it stands", async () => {
    const rule = aRule();
    const first = await of().store.take([rule]);
    assert.equal(first.isAdmitted, true);
    const [state] = first.states;
    assert.ok(state?.used === 1 && state.oldestLeavesInMs > 50_000 && state.oldestLeavesInMs <= 60_000);
    assert.deepEqual(await takes([rule], 3), [true, true, false]);
    assert.equal((await of().store.take([rule])).states[0]?.used, 3);
    assert.equal((await of().store.peek([rule]))[0]?.used, 3);
  });

  it("admits the quota of many who ask together", async () => {
    const rule = aRule({ quota: 20 });
    const all = await Promise.all(Array.from({ length: 60 }, () => of().store.take([rule])));
    assert.equal(all.filter(({ isAdmitted }) => isAdmitted).length, 20);
  });

  it("charges no rule when one is used up", async () => {
    const [narrow, wide] = [aRule({ quota: 1 }), aRule({ quota: 5 })];
    assert.deepEqual(await takes([narrow, wide], 3), [true, false, false]);
    const states = await of().store.peek([narrow, wide]);
    assert.deepEqual(
      states.map(({ used }) => used),
      [1, 1],
    );
  });

  it("frees a place when its own admission leaves the window, never two at an edge", async () => {
    const rule = aRule({ quota: 2, windowMs: 60_000 });
    await takes([rule], 1);
    await of().pass(30_000);
    await takes([rule], 1);
    assert.deepEqual(await takes([rule], 1), [false]);
    const [full] = await of().store.peek([rule]);
    await of().pass((full?.oldestLeavesInMs ?? 0) + 1);
    assert.deepEqual(await takes([rule], 2), [true, false]);
  });

  it("counts nothing for looking, and nothing for what was refused", async () => {
    const rule = aRule({ quota: 1, windowMs: 60_000 });
    assert.deepEqual(await of().store.peek([rule]), [{ used: 0, oldestLeavesInMs: 0 }]);
    await takes([rule], 5);
    await of().pass(60_001);
    assert.deepEqual(await of().store.peek([rule]), [{ used: 0, oldestLeavesInMs: 0 }]);
    assert.deepEqual(await takes([rule], 1), [true]);
  });

  it("feels a raised or lowered quota at once", async () => {
    const rule = aRule({ quota: 1 });
    assert.deepEqual(await takes([rule], 2), [true, false]);
    assert.deepEqual(await takes([{ ...rule, quota: 3 }], 3), [true, true, false]);
    assert.deepEqual(await takes([{ ...rule, quota: 2 }], 1), [false]);
  });

  it("keeps policies and keys apart, whatever a key looks like", async () => {
    const key = "a:b\n{x} \u0000*é";
    const rules = [
      aRule({ key, quota: 1 }),
      aRule({ key: `${key} `, quota: 1 }),
      aRule({ key, policy: "other", quota: 1 }),
    ];
    for (const rule of rules) assert.deepEqual(await takes([rule], 2), [true, false]);
  });

  it("holds so many leases of a group, and gives each back once", async () => {
    const { store } = of();
    const group = aRule().key;
    assert.equal(await store.openLease(group, "a", 2), true);
    assert.equal(await store.openLease(group, "b", 2), true);
    assert.equal(await store.openLease(group, "c", 2), false);
    assert.equal(await store.openLease(aRule().key, "c", 2), true);
    await store.keepLeases(group, ["a", "b"]);
    await store.endLease(group, "a");
    await store.endLease(group, "a");
    assert.equal(await store.openLease(group, "c", 2), true);
    assert.equal(await store.openLease(group, "d", 2), false);
  });
}
