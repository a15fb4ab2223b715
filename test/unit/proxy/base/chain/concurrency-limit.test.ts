// Questions in turn: bounded at a time and in line, and nothing lost when one fails.
import assert from "node:assert/strict";
import { ChainUnreachable } from "../../../../../proxy/base/chain/json-rpc.ts";
import { createConcurrencyLimit } from "../../../../../proxy/base/chain/concurrency-limit.ts";

const never = new AbortController().signal;

describe("base/chain/concurrency-limit", () => {
  it("lets so many at a time, and the rest in order", async () => {
    const limit = createConcurrencyLimit(2, 10);
    let running = 0;
    let most = 0;
    const order: number[] = [];
    const work = [0, 1, 2, 3, 4].map((i) =>
      limit.run(async () => {
        most = Math.max(most, ++running);
        await new Promise<void>((resolve) => setImmediate(resolve));
        running--;
        order.push(i);
        return i;
      }, never),
    );
    assert.deepEqual(await Promise.all(work), [0, 1, 2, 3, 4]);
    assert.deepEqual(order, [0, 1, 2, 3, 4]);
    assert.equal(most, 2);
  });

  it("hands the place on when a question fails", async () => {
    const limit = createConcurrencyLimit(1, 10);
    const failed = limit.run(async () => Promise.reject(new Error("no")), never);
    const next = limit.run(async () => "yes", never);
    await assert.rejects(failed, /no/);
    assert.equal(await next, "yes");
    assert.equal(await limit.run(async () => "free again", never), "free again");
  });

  it("refuses more than the line holds", async () => {
    const limit = createConcurrencyLimit(1, 1);
    let release: () => void = () => undefined;
    const first = limit.run(() => new Promise<void>((resolve) => (release = resolve)), never);
    const second = limit.run(async () => "second", never);
    await assert.rejects(
      limit.run(async () => "third", never),
      ChainUnreachable,
    );
    release();
    await first;
    assert.equal(await second, "second");
  });

  it("does not ask what was given up in line", async () => {
    const limit = createConcurrencyLimit(1, 1);
    const giveUp = new AbortController();
    let release: () => void = () => undefined;
    const first = limit.run(() => new Promise<void>((resolve) => (release = resolve)), never);
    let wasAsked = false;
    const second = limit.run(async () => (wasAsked = true), giveUp.signal);
    giveUp.abort();
    release();
    await first;
    await assert.rejects(second, ChainUnreachable);
    assert.equal(wasAsked, false);
    assert.equal(await limit.run(async () => "next", never), "next");
  });
});
