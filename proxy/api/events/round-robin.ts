/**
 * Gives everybody who has something to do a turn, one after the other, and lets the rest of the process in
 * between: to wake ten thousand readers must not make a payment wait.
 */

/** How long the turns may hold the event loop. */
const SLICE_MS = 5;

export class RoundRobin<T> {
  readonly #work: (item: T) => boolean;
  readonly #waiting = new Set<T>();
  #isScheduled = false;

  /** `work` answers whether the item wants another turn; it gets it after all others. */
  constructor(work: (item: T) => boolean) {
    this.#work = work;
  }

  add(item: T): void {
    this.#waiting.add(item);
    this.#schedule();
  }

  delete(item: T): void {
    this.#waiting.delete(item);
  }

  #schedule(): void {
    if (this.#isScheduled || this.#waiting.size === 0) return;
    this.#isScheduled = true;
    setImmediate(() => this.#run());
  }

  #run(): void {
    this.#isScheduled = false;
    const end = performance.now() + SLICE_MS;
    // What is put back stands at the end of a set, so that one long history does not hold up the others.
    for (const item of this.#waiting) {
      this.#waiting.delete(item);
      if (this.#work(item)) this.#waiting.add(item);
      if (performance.now() >= end) break;
    }
    this.#schedule();
  }
}
