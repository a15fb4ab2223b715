import assert from "node:assert/strict";
import { install, type Clock } from "@sinonjs/fake-timers";
import type { Fence, Lease as Whole } from "../../../../proxy/base/store/lease.ts";
import { LeaseKeeper } from "../../../../proxy/base/lease-keeper.ts";

type Lease = Pick<Whole, "take" | "giveBack">;

const LEASE_MS = 90;
const TRY_MS = LEASE_MS / 3;

describe("sequencer/lease", () => {
  const running: LeaseKeeper[] = [];
  let clock: Clock;
  beforeEach(() => {
    clock = install({ toFake: ["setTimeout", "clearTimeout", "performance"] });
  });
  afterEach(async () => {
    const stopped = running.splice(0).map((one) => one.stop());
    // What a store was asked is answered in time that passes on demand.
    await pass(10 * LEASE_MS);
    await Promise.all(stopped);
    clock.uninstall();
  });
  const pass = (ms: number): Promise<number> => clock.tickAsync(ms);

  async function lead(lease: Lease, leaseMs = LEASE_MS) {
    const changes: (Fence | undefined)[] = [];
    const faults: unknown[] = [];
    const keeper = new LeaseKeeper(lease, {
      leaseMs,
      onChange: (fence) => changes.push(fence),
      onFault: (error) => faults.push(error),
    });
    running.push(keeper);
    assert.equal(keeper.current(), undefined);
    keeper.start();
    await pass(0);
    return { keeper, changes, faults };
  }

  it("has a fence once the lease is given, keeps asking, and gives it back at its end", async () => {
    let asked = 0;
    let back = "";
    let holder = "";
    const { keeper, changes } = await lead({
      take: async (name) => {
        holder = name;
        asked += 1;
        return 7;
      },
      giveBack: async (name) => void (back = name),
    });
    assert.equal(keeper.current(), 7);
    await pass(LEASE_MS);
    assert.equal(asked, 4);
    assert.equal(keeper.current(), 7);
    assert.deepEqual(changes, [7]);
    await keeper.stop();
    assert.equal(keeper.current(), undefined);
    assert.equal(back, holder);
    await pass(10 * LEASE_MS);
    assert.equal(asked, 4);
  });

  it("gives up when its time is over by its own clock, also when the store says nothing", async () => {
    let isUnreachable = false;
    const { keeper, changes, faults } = await lead({
      take: () => (isUnreachable ? Promise.reject(new Error("unreachable")) : Promise.resolve(3)),
      giveBack: () => Promise.reject(new Error("unreachable")),
    });
    isUnreachable = true;
    await pass(LEASE_MS - 1);
    assert.equal(keeper.current(), 3);
    await pass(1);
    assert.equal(keeper.current(), undefined);
    assert.equal(faults.length, 3);
    assert.deepEqual(changes, [3, undefined]);
    isUnreachable = false;
    await pass(TRY_MS);
    assert.equal(keeper.current(), 3);
    assert.deepEqual(changes, [3, undefined, 3]);
  });

  it("counts from before it asked, so an answer that was long on its way does not make the lease longer", async () => {
    let answered = 0;
    const take = async (): Promise<Fence> => {
      await new Promise((resolve) => clock.setTimeout(resolve, 80));
      answered += 1;
      return 1;
    };
    const { keeper } = await lead({ take, giveBack: () => Promise.resolve() }, 60);
    for (let i = 0; i < 200; i++) {
      assert.equal(keeper.current(), undefined);
      await pass(1);
    }
    assert.equal(answered, 2);
  });

  it("has no fence after a write without an answer, until it has another one", async () => {
    let fence = 4;
    let isUnreachable = false;
    const { keeper, changes } = await lead({
      take: async (_holder, _ms, underNewFence) => {
        if (isUnreachable) throw new Error("unreachable");
        return underNewFence === true ? ++fence : fence;
      },
      giveBack: () => Promise.resolve(),
    });
    isUnreachable = true;
    keeper.invalidate();
    keeper.invalidate();
    assert.equal(keeper.current(), undefined);
    await pass(0);
    assert.deepEqual(changes, [4, undefined]);
    isUnreachable = false;
    await pass(TRY_MS);
    assert.equal(keeper.current(), 5);
    await pass(10 * LEASE_MS);
    assert.deepEqual(changes, [4, undefined, 5], "raised once, then kept");
  });

  it("stands aside for longer than the others wait, then asks again", async () => {
    const asked: string[] = [];
    const { keeper, changes } = await lead({
      take: async () => {
        asked.push("take");
        return 1;
      },
      giveBack: async () => void asked.push("back"),
    });
    keeper.stepDown();
    await pass(LEASE_MS - 1);
    assert.deepEqual(asked, ["take", "back"]);
    assert.equal(keeper.current(), undefined);
    await pass(1);
    assert.deepEqual(asked, ["take", "back", "take"]);
    assert.deepEqual(changes, [1, undefined, 1]);
  });

  it("says whom it has lost it to and what it got again", async () => {
    let fence: Fence | undefined = 1;
    const { changes } = await lead({ take: async () => fence, giveBack: () => Promise.resolve() });
    fence = undefined;
    await pass(TRY_MS);
    fence = 3;
    await pass(TRY_MS);
    assert.deepEqual(changes, [1, undefined, 3]);
  });
});
