import assert from "node:assert/strict";
import { setImmediate as settled } from "node:timers/promises";
import { Follow } from "../../../../../proxy/base/chain/follow.ts";
import type { Header } from "../../../../../proxy/base/chain/provider.ts";
import { madeHash } from "../../../../support/bridges.ts";

/** A node whose answers take their time by a clock of the test's own: nothing here depends on how fast the machine is. */
class SlowNode {
  now = 0;
  asked = 0;
  readonly blockMs: number;
  readonly #answerMs: number;
  #waiting: { readonly at: number; readonly act: () => void }[] = [];

  constructor(blockMs: number, answerMs: number) {
    this.blockMs = blockMs;
    this.#answerMs = answerMs;
  }

  get head(): number {
    return 100 + Math.floor(this.now / this.blockMs);
  }

  /** What it reads is as of the beginning: nothing is older. */
  async ask<Answer>(read: () => Answer): Promise<Answer> {
    this.asked += 1;
    const answer = read();
    await this.#after(this.#answerMs);
    return answer;
  }

  /** Time goes on until this is done. */
  async until(work: Promise<unknown>): Promise<void> {
    const state = { isDone: false };
    const end = work.finally(() => {
      state.isDone = true;
    });
    await settled();
    while (!state.isDone) {
      this.#waiting.sort((one, other) => one.at - other.at);
      const next = this.#waiting.shift();
      assert.ok(next, "it waits for nothing");
      this.now = next.at;
      next.act();
      await settled();
    }
    await end;
  }

  #after(ms: number): Promise<void> {
    return new Promise((act) => this.#waiting.push({ at: this.now + ms, act }));
  }
}

const headerAt = (number: number): Header => ({
  ...{ number, hash: madeHash(number), parentHash: madeHash(number - 1), timestamp: number, baseFee: 0n },
});

/** One after another, as often as it says itself; some first, to find their pace. */
class Passes {
  readonly node: SlowNode;
  readonly following: Follow<{ readonly header: Header }>;
  /** At each block that was taken. */
  readonly behind: number[] = [];

  private constructor(node: SlowNode, pollIntervalMs: number, keepsUp: boolean) {
    this.node = node;
    let tip = headerAt(100);
    const chain = {
      header: (at: number | string) =>
        node.ask(() => {
          const number = at === "latest" ? node.head : Number(at);
          return number > node.head ? undefined : headerAt(number);
        }),
    };
    const fold = {
      ...{ tip: () => tip, start: () => 0, leaveOrphans: () => assert.fail("nothing was reorganised") },
      ...{
        ask: (header: Header) => node.ask(() => ({ header })),
        takeRange: () => assert.fail("it is near"),
      },
      take: ({ header }: { readonly header: Header }): void => {
        this.behind.push(node.head - tip.number);
        tip = header;
      },
    };
    this.following = new Follow(chain, fold, {
      ...{ isStopped: () => false, pollIntervalMs, keepsUp, now: () => node.now },
    });
  }

  static async begin(blockMs: number, answerMs: number, pollMs: number, keepsUp = true): Promise<Passes> {
    const passes = new Passes(new SlowNode(blockMs, answerMs), pollMs, keepsUp);
    await passes.pass(10);
    passes.behind.length = passes.node.asked = 0;
    return passes;
  }

  /** @param isAwaited somebody waits for each, and for nothing older */
  async pass(times: number, isAwaited = false): Promise<void> {
    const { node, following } = this;
    const once = async (): Promise<boolean> =>
      following.to(await following.newest(isAwaited ? node.now : -Infinity));
    for (let i = 0; i < times; i++) {
      await node.until(once());
      node.now += following.waitMs();
    }
  }
}

describe("following a chain", () => {
  for (const pollMs of [1_000, 62])
    it(`is two blocks behind at most where a block takes 250 ms and each answer 120 ms, polled every ${String(pollMs)} ms`, async () => {
      const passes = await Passes.begin(250, 120, pollMs);
      await passes.pass(50);
      const worst = Math.max(...passes.behind);
      assert.ok(worst <= 2, String(worst));
      assert.ok(passes.node.asked <= 5 * 50, String(passes.node.asked));
    });

  it("is no further behind where somebody waits for each pass, and each answer takes 130 ms", async () => {
    const passes = await Passes.begin(250, 130, 1_000);
    await passes.pass(50, true);
    const worst = Math.max(...passes.behind);
    assert.ok(worst <= 2, String(worst));
  });

  for (const blockMs of [1_000, 12_000])
    it(`asks for nothing ahead, and waits, where a block takes ${String(blockMs)} ms`, async () => {
      const passes = await Passes.begin(blockMs, 120, 760);
      await passes.pass(50);
      const worst = Math.max(...passes.behind);
      assert.ok(worst <= 2, String(worst));
      // The newest block at each pass, and what it says.
      assert.ok(passes.node.asked <= (blockMs === 1_000 ? 100 : 60), String(passes.node.asked));
    });

  it("keeps to its poll where it need not keep up, and asks for nothing ahead", async () => {
    const passes = await Passes.begin(250, 120, 1_000, false);
    const { node } = passes;
    const [began, taken] = [node.now, passes.behind.length];
    await passes.pass(10);
    assert.ok(node.now - began >= 10 * 1_000);
    // The newest block at each pass, and of each block its header and what it says.
    const blocks = passes.behind.length - taken;
    assert.ok(node.asked <= 10 + 2 * blocks, `${String(node.asked)} for ${String(blocks)} blocks`);
  });

  it("gives whoever waits for a pass no answer to what was asked before", async () => {
    const passes = await Passes.begin(250, 120, 1_000);
    const { node, following } = passes;
    // Beside the last block that it took it has begun to look for the next one, which comes after that.
    while (passes.behind.length === 0) await passes.pass(1);
    node.now += node.blockMs;
    const { head, now } = node;
    let newest: Header | undefined;
    await node.until(following.newest(now).then((found) => (newest = found)));
    assert.ok(newest!.number >= head, `${String(newest!.number)} of ${String(head)}`);
  });
});
