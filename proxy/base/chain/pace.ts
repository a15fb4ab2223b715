/** Whether a chain makes blocks faster than passes come, by the blocks that passes found. */

/** Blocks of a quick chain come faster than that, and faster than passes. */
export const QUICK_MS = 500;
/** One that was quick stays so a little longer, or each late answer would cost it two slow passes. */
const STILL_QUICK_MS = 750;

export class Pace {
  readonly #now: () => number;
  #isQuick = false;
  #cameAt = -Infinity;

  /** @param now milliseconds, of any clock that only goes on */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** A quick chain is known by several blocks in one pass, and no more where one took long. */
  found(blocks: number): void {
    if (blocks < 1) return;
    const now = this.#now();
    const eachMs = (now - this.#cameAt) / blocks;
    this.#cameAt = now;
    this.#isQuick = this.#isQuick ? eachMs < STILL_QUICK_MS : blocks > 1 && eachMs < QUICK_MS;
  }

  isQuick(): boolean {
    return this.#isQuick && this.#now() - this.#cameAt < STILL_QUICK_MS;
  }
}
