// A call's `timeoutMs` in the test's hands: it runs out where the test says, not after a guess of how many milliseconds
// the machine needs to get there.
import assert from "node:assert/strict";

/** Two hours and some: by itself it never runs out here, and nothing else in the library waits exactly so long. */
const HELD_MS = 7_654_321;

export interface HeldLimit {
  /** For the call that is to run out of time. */
  readonly timeoutMs: number;
  /** Every other clock that was set meanwhile, in milliseconds. */
  readonly clocks: readonly number[];
  /** Lets the limit run out now. The call has set one clock for all that it waits for, or this throws. */
  runOut(): void;
}

export async function withHeldLimit<T>(work: (limit: HeldLimit) => Promise<T>): Promise<T> {
  const real = globalThis.setTimeout;
  const clocks: number[] = [];
  const held: (() => void)[] = [];
  const watching = <Given extends unknown[]>(run: (...given: Given) => void, ms = 0, ...given: Given) => {
    const timer = real(run, ms, ...given);
    if (ms === HELD_MS) {
      held.push(() => run(...given));
      // A call that never ends fails its test, and does not keep the process for two hours.
      timer.unref();
    } else clocks.push(ms);
    return timer;
  };
  globalThis.setTimeout = watching as typeof setTimeout;
  try {
    return await work({
      timeoutMs: HELD_MS,
      clocks,
      runOut() {
        assert.equal(held.length, 1, "one clock for all of the call");
        held[0]!();
      },
    });
  } finally {
    globalThis.setTimeout = real;
  }
}
