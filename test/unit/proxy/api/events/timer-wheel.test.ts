import assert from "node:assert/strict";
import { RoundRobin } from "../../../../../proxy/api/events/round-robin.ts";
import { TimerWheel } from "../../../../../proxy/api/events/timer-wheel.ts";
import { until } from "../../../../support/until.ts";

describe("events/timer-wheel", () => {
  it("tells what is due, in order, never early, once", () => {
    let now = 1_000;
    const told: string[] = [];
    const wheel = new TimerWheel<string>(
      100,
      () => now,
      (item) => told.push(item),
    );
    wheel.at(1_450, "later");
    wheel.at(1_210, "sooner");
    wheel.at(0, "overdue");
    const turnAt = (ms: number): string[] => {
      now = ms;
      wheel.turn();
      return told.splice(0);
    };
    assert.deepEqual(turnAt(1_050), []);
    assert.deepEqual(turnAt(1_200), ["overdue"]);
    assert.deepEqual(turnAt(1_299), []);
    assert.deepEqual(turnAt(1_300), ["sooner"]);
    assert.deepEqual(turnAt(900), []);
    assert.deepEqual(turnAt(9_000), ["later"]);
    assert.deepEqual(turnAt(99_000), []);
  });

  it("takes what is put back while it tells", () => {
    let now = 0;
    let times = 0;
    const wheel: TimerWheel<number> = new TimerWheel<number>(
      10,
      () => now,
      (item) => {
        times += 1;
        wheel.at(now + 10, item);
      },
    );
    wheel.at(10, 1);
    for (now = 10; now <= 50; now += 10) wheel.turn();
    wheel.stop();
    assert.equal(times, 5);
  });
});

describe("events/turns", () => {
  it("gives everybody a turn before anybody has a second one, and lets others in between", async () => {
    const order: string[] = [];
    const left = new Map([
      ["a", 3],
      ["b", 1],
      ["c", 2],
    ]);
    const turns = new RoundRobin<string>((item) => {
      order.push(item);
      const rest = (left.get(item) ?? 0) - 1;
      left.set(item, rest);
      return rest > 0;
    });
    for (const item of left.keys()) turns.add(item);
    assert.deepEqual(order, []);
    await until("all turns", () => order.length === 6);
    assert.deepEqual(order, ["a", "b", "c", "a", "c", "a"]);
  });

  it("forgets who is deleted, and gives the event loop back within a slice", async () => {
    let worked = 0;
    const turns = new RoundRobin<number>((item) => {
      if (item === 1) throw new Error("deleted, and yet at work");
      const end = performance.now() + 2;
      while (performance.now() < end) worked += 0;
      worked += 1;
      return worked < 100;
    });
    turns.add(1);
    turns.add(2);
    turns.delete(1);
    let between = 0;
    while (worked < 100) {
      await new Promise((resolve) => setImmediate(resolve));
      between += 1;
    }
    assert.ok(between > 10, String(between));
  });
});
