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

  /** What it reads is as of half the time. */
  async ask<Answer>(read: () => Answer): Promise<Answer> {
    this.asked += 1;
    await this.#after(this.#answerMs / 2);
    const answer = read();
    await this.#after(this.#answerMs / 2);
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

/** How far behind each pass of 50 was at its worst, and questions of a pass, after some to find its pace. */
async function followed(blockMs: number, answerMs: number, pollMs: number) {
  const node = new SlowNode(blockMs, answerMs);
  let tip = headerAt(100);
  const chain = {
    header: (at: number | string) =>
      node.ask(() => {
        const number = at === "latest" ? node.head : Number(at);
        return number > node.head ? undefined : headerAt(number);
      }),
  };
  const behind: number[] = [];
  const fold = {
    ...{ tip: () => tip, start: () => 0, leaveOrphans: () => assert.fail("nothing was reorganised") },
    ...{ ask: (header: Header) => node.ask(() => ({ header })), takeRange: () => assert.fail("it is near") },
    take({ header }: { readonly header: Header }): void {
      behind.push(node.head - tip.number);
      tip = header;
    },
  };
  const following = new Follow(chain, fold, {
    ...{ isStopped: () => false, pollIntervalMs: pollMs, now: () => node.now },
  });
  const pass = async (): Promise<boolean> => following.to(await following.newest());
  for (let i = 0; i < 10; i++) {
    await node.until(pass());
    node.now += following.waitMs();
  }
  behind.length = node.asked = 0;
  for (let i = 0; i < 50; i++) {
    await node.until(pass());
    node.now += following.waitMs();
  }
  return { behind: Math.max(...behind), questions: node.asked / 50 };
}

describe("following a chain", () => {
  for (const pollMs of [1_000, 62])
    it(`is two blocks behind at most where a block takes 250 ms and each answer 120 ms, polled every ${String(pollMs)} ms`, async () => {
      const { behind, questions } = await followed(250, 120, pollMs);
      assert.ok(behind <= 2, String(behind));
      assert.ok(questions <= 4, String(questions));
    });

  for (const blockMs of [1_000, 12_000])
    it(`asks for nothing ahead, and waits, where a block takes ${String(blockMs)} ms`, async () => {
      const { behind, questions } = await followed(blockMs, 120, 1_000 - 240);
      assert.ok(behind <= 2, String(behind));
      // The newest block at each pass, and what it says.
      assert.ok(questions <= (blockMs === 1_000 ? 2 : 1.2), String(questions));
    });
});
