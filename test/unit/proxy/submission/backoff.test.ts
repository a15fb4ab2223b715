import assert from "node:assert/strict";
import { Backoff } from "../../../../proxy/submission/backoff.ts";

/** Blocks in which a ticket is tried and refused, of the first `blocks`. */
function tries(refuse: (backoff: Backoff, tip: number) => void, blocks: number): number[] {
  const backoff = new Backoff();
  const tried: number[] = [];
  for (let tip = 0; tip < blocks; tip++) {
    if (backoff.isWaiting("t", tip)) continue;
    tried.push(tip);
    refuse(backoff, tip);
  }
  return tried;
}

describe("submission/backoff", () => {
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
    const backoff = new Backoff();
    for (let i = 0; i < 6; i++) backoff.refused("t", 100);
    backoff.wouldBeRefused("t", 100);
    assert.ok(backoff.isWaiting("t", 131));
    assert.ok(!backoff.isWaiting("t", 132));
  });

  it("knows one ticket from another", () => {
    const backoff = new Backoff();
    backoff.refused("t", 5);
    assert.ok(backoff.isWaiting("t", 5));
    assert.ok(!backoff.isWaiting("other", 5));
  });
});
