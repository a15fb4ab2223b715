import assert from "node:assert/strict";
import type { IndexedBlock } from "../../../../../proxy/base/store/chain-data.ts";
import type { Bytes32 } from "../../../../../shared/protocol/brands.ts";
import { Backoff } from "../../../../../proxy/api/sequencer/backoff.ts";

const blockOf = (number: number, branch: string): IndexedBlock => ({
  number,
  hash: `0x${branch.repeat(63)}${String(number)}` as Bytes32,
  timestamp: number,
});

/** Blocks in which a ticket is tried and refused, of the first `blocks`. */
function tries(refuse: (backoff: Backoff, tip: number) => void, blocks: number): number[] {
  const backoff = new Backoff(() => true);
  const tried: number[] = [];
  for (let tip = 0; tip < blocks; tip++) {
    if (backoff.isWaiting("t", tip)) continue;
    tried.push(tip);
    refuse(backoff, tip);
  }
  return tried;
}

describe("sequencer/backoff", () => {
  it("doubles the wait of a ticket that was mined and refused: a day of two-second blocks costs few tries", () => {
    const tried = tries((backoff, tip) => backoff.refused("t", tip), 43_200);
    assert.deepEqual(tried.slice(0, 6), [0, 1, 3, 7, 15, 31]);
    assert.ok(tried.length <= 52, String(tried.length));
  });

  it("waits at most eight blocks for one that only a simulation refused", () => {
    const tried = tries((backoff, tip) => backoff.wouldBeRefused("t", tip), 100);
    assert.deepEqual(tried.slice(0, 7), [0, 1, 3, 7, 15, 23, 31]);
  });

  it("a simulation does not shorten what a mined refusal began", () => {
    const backoff = new Backoff(() => true);
    for (let i = 0; i < 6; i++) backoff.refused("t", 100);
    backoff.wouldBeRefused("t", 100);
    assert.ok(backoff.isWaiting("t", 131));
    assert.ok(!backoff.isWaiting("t", 132));
  });

  it("forgets what a simulation refused when the chain goes back, and not what was mined", () => {
    const backoff = new Backoff(() => true);
    const chain = new Map([1, 2, 3, 4].map((number) => [number, blockOf(number, "a")]));
    const reach = (number: number): void =>
      backoff.reach(chain.get(number)!, (height) => chain.get(height)?.hash);
    reach(2);
    backoff.wouldBeRefused("simulated", 2);
    backoff.wouldBeRefused("simulated", 2);
    backoff.refused("mined", 2);
    backoff.refused("mined", 2);
    reach(3);
    assert.deepEqual([backoff.isWaiting("simulated", 3), backoff.isWaiting("mined", 3)], [true, true]);
    for (const number of [3, 4]) chain.set(number, blockOf(number, "b"));
    reach(3);
    assert.deepEqual([backoff.isWaiting("simulated", 3), backoff.isWaiting("mined", 3)], [false, true]);
    // It counts from the start again: one block, and not the four of a third time.
    backoff.wouldBeRefused("simulated", 3);
    assert.deepEqual([backoff.isWaiting("simulated", 3), backoff.isWaiting("simulated", 4)], [true, false]);
  });

  it("knows one ticket from another", () => {
    const backoff = new Backoff(() => true);
    backoff.refused("t", 5);
    assert.ok(backoff.isWaiting("t", 5));
    assert.ok(!backoff.isWaiting("other", 5));
  });

  it("remembers none for long that is over, however many were refused, and every one that is open", () => {
    const backoff = new Backoff((id) => id.startsWith("open"));
    for (let i = 0; i < 20; i++) backoff.refused("open", 0);
    for (let n = 0; n < 20_000; n++) {
      backoff.wouldBeRefused(`over-${String(n)}`, n);
      assert.ok(backoff.size <= 1_024, String(backoff.size));
    }
    assert.deepEqual([backoff.isWaiting("open", 1_023), backoff.isWaiting("open", 1_024)], [true, false]);
  });
});
