/**
 * One timer for everything that is due some time: ten thousand streams with a timer each would cost more than
 * what they say. Exact to one tick, never early.
 */

export class TimerWheel<T> {
  readonly #tickMs: number;
  readonly #now: () => number;
  readonly #due: (item: T) => void;
  /** By number of the tick at which they are due. */
  readonly #slots = new Map<number, T[]>();
  #turned: number;
  #timer: NodeJS.Timeout | undefined;

  constructor(tickMs: number, now: () => number, due: (item: T) => void) {
    this.#tickMs = tickMs;
    this.#now = now;
    this.#due = due;
    this.#turned = this.#tickOf(now());
  }

  /** `due` is called with it at or soon after a time in milliseconds. There is no taking back: whoever is called looks whether it still matters. */
  at(ms: number, item: T): void {
    if (this.#timer === undefined) {
      this.#turned = this.#tickOf(this.#now());
      this.#timer = setInterval(() => this.turn(), this.#tickMs);
      this.#timer.unref();
    }
    const tick = Math.max(Math.ceil(ms / this.#tickMs), this.#turned + 1);
    const slot = this.#slots.get(tick);
    if (slot === undefined) this.#slots.set(tick, [item]);
    else slot.push(item);
  }

  /** Tells everything that is due by now. */
  turn(): void {
    const now = this.#tickOf(this.#now());
    // A clock that was set back shows nothing new; one that jumped ahead makes all in between due at once.
    const due = [...this.#slots.keys()].filter((tick) => tick <= now).sort((a, b) => a - b);
    this.#turned = Math.max(this.#turned, now);
    for (const tick of due) {
      const slot = this.#slots.get(tick) ?? [];
      this.#slots.delete(tick);
      for (const item of slot) this.#due(item);
    }
    if (this.#slots.size === 0) this.stop();
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #tickOf(ms: number): number {
    return Math.floor(ms / this.#tickMs);
  }
}
