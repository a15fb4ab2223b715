import assert from "node:assert/strict";
import type { Fence, SequencerLease as Whole } from "../../../../proxy/store/sequencer-lease.ts";
import { createLeaseKeeper, type LeaseKeeper } from "../../../../proxy/sequencer/lease.ts";
import { until } from "../../../support/until.ts";

type SequencerLease = Pick<Whole, "take" | "giveBack">;

describe("sequencer/lease", () => {
  const running: LeaseKeeper[] = [];
  afterEach(async () => {
    for (const one of running.splice(0)) await one.stop();
  });

  function lead(lease: SequencerLease, leaseMs: number) {
    const changes: (Fence | undefined)[] = [];
    const faults: unknown[] = [];
    const keeper = createLeaseKeeper(lease, {
      leaseMs,
      onChange: (fence) => changes.push(fence),
      onFault: (error) => faults.push(error),
    });
    running.push(keeper);
    keeper.start();
    return { keeper, changes, faults };
  }

  it("has a fence once the lease is given, keeps asking, and gives it back at its end", async () => {
    let asked = 0;
    let back = "";
    let holder = "";
    const { keeper, changes } = lead(
      {
        take: async (name) => {
          holder = name;
          asked += 1;
          return 7;
        },
        giveBack: async (name) => void (back = name),
      },
      90,
    );
    assert.equal(keeper.current(), undefined);
    await until("the lease", () => keeper.current() === 7);
    await until("it to be asked for again", () => asked >= 4);
    assert.deepEqual(changes, [7]);
    await keeper.stop();
    assert.equal(keeper.current(), undefined);
    assert.equal(back, holder);
    const before = asked;
    await new Promise((resolve) => setTimeout(resolve, 120));
    assert.equal(asked, before);
  });

  it("gives up when its time is over by its own clock, also when the store says nothing", async () => {
    let isUnreachable = false;
    const { keeper, changes, faults } = lead(
      {
        take: () => (isUnreachable ? Promise.reject(new Error("unreachable")) : Promise.resolve(3)),
        giveBack: () => Promise.reject(new Error("unreachable")),
      },
      90,
    );
    await until("the lease", () => keeper.current() === 3);
    isUnreachable = true;
    await until("its end", () => keeper.current() === undefined);
    assert.ok(faults.length > 0);
    await until("its end to be told", () => changes.length === 2);
    isUnreachable = false;
    await until("its return", () => keeper.current() === 3);
    assert.deepEqual(changes, [3, undefined, 3]);
  });

  it("counts from before it asked, so an answer that was long on its way does not make the lease longer", async () => {
    const { keeper } = lead(
      {
        take: async () => {
          await new Promise((resolve) => setTimeout(resolve, 80));
          return 1;
        },
        giveBack: () => Promise.resolve(),
      },
      60,
    );
    for (let i = 0; i < 40; i++) {
      assert.equal(keeper.current(), undefined);
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  });

  it("has no fence after a write without an answer, until it has another one", async () => {
    let fence = 4;
    let isUnreachable = false;
    const { keeper, changes } = lead(
      {
        take: async (_holder, _ms, underNewFence) => {
          if (isUnreachable) throw new Error("unreachable");
          return underNewFence === true ? ++fence : fence;
        },
        giveBack: () => Promise.resolve(),
      },
      90,
    );
    await until("the lease", () => keeper.current() === 4);
    isUnreachable = true;
    keeper.invalidate();
    keeper.invalidate();
    assert.equal(keeper.current(), undefined);
    await until("its loss to be told", () => changes.length === 2);
    isUnreachable = false;
    await until("another fence", () => keeper.current() === 5);
    await new Promise((resolve) => setTimeout(resolve, 100));
    assert.deepEqual(changes, [4, undefined, 5], "raised once, then kept");
  });

  it("stands aside for longer than the others wait, then asks again", async () => {
    const asked: string[] = [];
    const { keeper, changes } = lead(
      {
        take: async () => {
          asked.push("take");
          return 1;
        },
        giveBack: async () => void asked.push("back"),
      },
      90,
    );
    await until("the lease", () => keeper.current() === 1);
    keeper.stepDown();
    const at = performance.now();
    await until("it to be given back", () => asked.at(-1) === "back");
    assert.equal(keeper.current(), undefined);
    await until("it to be asked for again", () => asked.at(-1) === "take");
    assert.ok(performance.now() - at > 80);
    await until("the lease", () => keeper.current() === 1);
    assert.deepEqual(changes, [1, undefined, 1]);
  });

  it("says whom it has lost it to and what it got again", async () => {
    let fence: Fence | undefined = 1;
    const { changes } = lead({ take: async () => fence, giveBack: () => Promise.resolve() }, 60);
    await until("the first", () => changes.length === 1);
    fence = undefined;
    await until("its loss", () => changes.length === 2);
    fence = 3;
    await until("the next", () => changes.length === 3);
    assert.deepEqual(changes, [1, undefined, 3]);
  });
});
