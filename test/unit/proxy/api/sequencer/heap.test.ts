import assert from "node:assert/strict";
import { Heap } from "../../../../../proxy/api/sequencer/heap.ts";

describe("sequencer/heap", () => {
  it("gives what is due, smallest first, once, whatever the order in which it came", () => {
    let seed = 11;
    const random = (below: number): number => (seed = (seed * 48_271) % 2_147_483_647) % below;
    for (let trial = 0; trial < 50; trial++) {
      const heap = new Heap<number>(() => true);
      let left: number[] = [];
      for (let step = 0; step < 60; step++) {
        if (random(3) > 0) {
          const at = random(20);
          heap.add(at, at);
          left.push(at);
        } else {
          const now = random(20);
          const due = left.filter((at) => at <= now).sort((a, b) => a - b);
          left = left.filter((at) => at > now);
          assert.deepEqual([...heap.takeUpTo(now)], due);
        }
        if (random(10) === 0) {
          heap.removeFirst();
          left = left.sort((a, b) => a - b).slice(1);
        }
        assert.equal(heap.size, left.length);
        assert.equal(heap.first(), left.length === 0 ? undefined : Math.min(...left));
      }
    }
  });

  it("has nothing due before its time, nor when it is empty", () => {
    const heap = new Heap<string>(() => true);
    assert.deepEqual([...heap.takeUpTo(Infinity)], []);
    heap.add(5, "five");
    assert.deepEqual([...heap.takeUpTo(4)], []);
    assert.deepEqual([...heap.takeUpTo(5)], ["five"]);
  });

  it("has at most twice as many as are wanted, and some, and loses none of these", () => {
    let seed = 7;
    const random = (below: number): number => (seed = (seed * 48_271) % 2_147_483_647) % below;
    const wanted = new Set<number>();
    const heap = new Heap<number>((value) => wanted.has(value));
    for (let value = 0; value < 20_000; value++) {
      heap.add(random(1_000), value);
      wanted.add(value);
      if (wanted.size > 500) wanted.delete(random(value));
      assert.ok(heap.size <= Math.max(1_024, 2 * wanted.size + 1), String(heap.size));
    }
    const given = [...heap.takeUpTo(1_000)];
    assert.deepEqual(
      given.filter((value) => wanted.has(value)).sort((a, b) => a - b),
      [...wanted].sort((a, b) => a - b),
    );
  });

  it("keeps its order when it is looked through", () => {
    const heap = new Heap<number>((value) => value % 3 === 0);
    for (let value = 0; value < 1_025; value++) heap.add((value * 389) % 1_024, (value * 389) % 1_024);
    const given = [...heap.takeUpTo(1_024)];
    assert.ok(given.length < 400, String(given.length));
    assert.deepEqual(
      given,
      given.toSorted((a, b) => a - b),
    );
  });

  it("looks at each value twice at most while all are wanted", () => {
    let looks = 0;
    const heap = new Heap<number>(() => ++looks > 0);
    for (let value = 0; value < 20_000; value++) heap.add(value, value);
    assert.equal(heap.size, 20_000);
    assert.ok(looks > 0 && looks <= 40_000, String(looks));
  });
});
