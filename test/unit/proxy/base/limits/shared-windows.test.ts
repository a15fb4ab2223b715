import assert from "node:assert/strict";
import { LocalWindows } from "../../../../../proxy/base/limits/local-windows.ts";
import { SharedWindows, type SharedStore } from "../../../../../proxy/base/limits/shared-windows.ts";
import { aRule, windowStoreSuite } from "../../../../support/window-stores.ts";
import { until } from "../../../../support/until.ts";

/** A shared store that can go: refusing, silent, or back with its memory lost. */
class Elsewhere extends LocalWindows implements SharedStore {
  mood: "well" | "refuses" | "silent" = "well";
  asked = 0;

  async #answer<T>(work: () => Promise<T>): Promise<T> {
    this.asked++;
    if (this.mood === "refuses") throw new Error("refused");
    if (this.mood === "silent") return new Promise(() => undefined);
    return work();
  }
  override take: SharedStore["take"] = (rules) => this.#answer(() => super.take(rules));
  override peek: SharedStore["peek"] = (rules) => this.#answer(() => super.peek(rules));
  override openLease: SharedStore["openLease"] = (group, id, most) =>
    this.#answer(() => super.openLease(group, id, most));
  revive(): Promise<void> {
    return this.#answer(async () => undefined);
  }
}

interface Scene {
  readonly elsewhere: Elsewhere;
  readonly alarms: string[];
  proxy(): SharedWindows;
  close(): void;
}

function aScene(now: () => number = () => 1_000_000): Scene {
  const elsewhere = new Elsewhere(now);
  const alarms: string[] = [];
  const proxies: SharedWindows[] = [];
  return {
    elsewhere,
    alarms,
    proxy: () => {
      const made = new SharedWindows(new LocalWindows(now), elsewhere, {
        deadlineMs: 20,
        reviveEveryMs: 20,
        now,
        onUnreachable: () => alarms.push("unreachable"),
        onReachable: () => alarms.push("back"),
      });
      proxies.push(made);
      return made;
    },
    close: () => {
      for (const proxy of proxies) proxy.close();
    },
  };
}

describe("SharedWindows, as every window store", () => {
  let now = 1_000_000;
  const scene = aScene(() => now);
  const store = scene.proxy();
  after(() => scene.close());
  windowStoreSuite(() => ({
    store,
    pass: async (ms) => {
      now += ms;
    },
  }));
});

describe("SharedWindows", () => {
  let scene: Scene;
  beforeEach(() => {
    scene = aScene();
  });
  afterEach(() => scene.close());
  const admitted = async (store: SharedWindows, rule = aRule(), times = 10): Promise<number> => {
    let count = 0;
    for (let i = 0; i < times; i++) if ((await store.take([rule])).isAdmitted) count++;
    return count;
  };

  it("two proxies share one count, leases included", async () => {
    const [one, two] = [scene.proxy(), scene.proxy()];
    const rule = aRule({ quota: 3 });
    assert.equal(await admitted(one, rule, 2), 2);
    assert.equal(await admitted(two, rule), 1);
    assert.deepEqual(await one.peek([rule]), await two.peek([rule]));
    assert.equal(await one.openLease("g", "a", 1), true);
    assert.equal(await two.openLease("g", "b", 1), false);
    await one.endLease("g", "a");
    assert.equal(await two.openLease("g", "b", 1), true);
  });

  for (const mood of ["refuses", "silent"] as const) {
    it(`goes on by itself when the store ${mood}: limited, with one alarm, and asks it no more`, async () => {
      const store = scene.proxy();
      const rule = aRule({ quota: 3 });
      assert.equal(await admitted(store, rule, 2), 2);
      scene.elsewhere.mood = mood;
      // What was admitted before counts on: nobody starts afresh because the store became unreachable.
      assert.equal(await admitted(store, rule), 1);
      assert.equal(await admitted(store, aRule({ quota: 3 })), 3);
      assert.equal(await store.openLease("g", "a", 1), true);
      assert.equal(await store.openLease("g", "b", 1), false);
      assert.deepEqual(scene.alarms, ["unreachable"]);
    });
  }

  it("those who find out that it is silent wait one deadline together, those after them not at all", async () => {
    const store = scene.proxy();
    scene.elsewhere.mood = "silent";
    const rule = aRule({ quota: 5 });
    const all = await Promise.all(Array.from({ length: 20 }, () => store.take([rule])));
    assert.equal(all.filter(({ isAdmitted }) => isAdmitted).length, 5);
    assert.equal(store.isUnreachable, true);
    const { asked } = scene.elsewhere;
    assert.equal((await store.take([aRule()])).isAdmitted, true);
    assert.ok(scene.elsewhere.asked <= asked + 1, "at most the look whether it is back");
  });

  it("comes back quietly, and gives nobody a second helping of what this proxy admitted", async () => {
    const store = scene.proxy();
    const rule = aRule({ quota: 3 });
    scene.elsewhere.mood = "refuses";
    assert.equal(await admitted(store, rule), 3);
    scene.elsewhere.mood = "well";
    await until("the store to be back", () => !store.isUnreachable);
    assert.equal(await admitted(store, rule), 0);
    assert.equal((await store.peek([rule]))[0]?.used, 3);
    assert.deepEqual(scene.alarms, ["unreachable", "back"]);
  });

  it("starts without the store", async () => {
    scene.elsewhere.mood = "silent";
    const store = scene.proxy();
    await store.start();
    assert.equal(await admitted(store, aRule({ quota: 2 })), 2);
    assert.deepEqual(scene.alarms, ["unreachable"]);
  });
});
