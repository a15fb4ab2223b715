import assert from "node:assert/strict";
import { Heap } from "../../../../proxy/submission/heap.ts";

describe("submission/heap", () => {
  it("gives what is due, smallest first, once, whatever the order in which it came", () => {
    let seed = 11;
    const random = (below: number): number => (seed = (seed * 48_271) % 2_147_483_647) % below;
    for (let trial = 0; trial < 50; trial++) {
      const heap = new Heap<number>();
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
    const heap = new Heap<string>();
    assert.deepEqual([...heap.takeUpTo(Infinity)], []);
    heap.add(5, "five");
    assert.deepEqual([...heap.takeUpTo(4)], []);
    assert.deepEqual([...heap.takeUpTo(5)], ["five"]);
  });
});
