/**
 * Exact sliding windows in memory: a request is admitted when fewer than `quota` were admitted in the
 * `windowMs` before it, so nobody gets double at an edge. Lost with the process, which is allowed.
 */
import type { WindowState } from "../store/windows.ts";

/** Admission times of one key, oldest first; the part before `head` has left the window. */
interface Times {
  list: number[];
  head: number;
}

export class SlidingWindows {
  readonly #windowMs: number;
  readonly #maxKeys: number;
  readonly #now: () => number;
  /** Least recently admitted first, because every admission moves its key to the end. */
  readonly #keys = new Map<string, Times>();

  /** At most `maxKeys` keys are remembered; beyond that the one idle for longest starts afresh. */
  constructor(windowMs: number, maxKeys: number, now: () => number) {
    this.#windowMs = windowMs;
    this.#maxKeys = maxKeys;
    this.#now = now;
  }

  get size(): number {
    return this.#keys.size;
  }

  peek(key: string): WindowState {
    const times = this.#keys.get(key);
    if (times === undefined) return { used: 0, oldestLeavesInMs: 0 };
    return this.#stateOf(times, this.#now());
  }

  /** Counts one admission. Refused requests are not counted: a client that retries must recover. */
  admit(key: string, at?: number): WindowState {
    const now = this.#now();
    const times = this.#keys.get(key) ?? { list: [], head: 0 };
    times.list.push(at ?? now);
    this.#keys.delete(key);
    this.#keys.set(key, times);
    this.#forgetIdle(now);
    return this.#stateOf(times, now);
  }

  #stateOf(times: Times, now: number): WindowState {
    this.#prune(times, now);
    const oldest = times.list[times.head];
    if (oldest === undefined) return { used: 0, oldestLeavesInMs: 0 };
    return { used: times.list.length - times.head, oldestLeavesInMs: oldest + this.#windowMs - now };
  }

  #prune(times: Times, now: number): void {
    const from = now - this.#windowMs;
    while (times.head < times.list.length && times.list[times.head]! <= from) times.head++;
    // Copying only when half is dead keeps each admission cheap on average.
    if (times.head * 2 > times.list.length) {
      times.list = times.list.slice(times.head);
      times.head = 0;
    }
  }

  #forgetIdle(now: number): void {
    for (const [key, times] of this.#keys) {
      this.#prune(times, now);
      if (times.list.length > 0 && this.#keys.size <= this.#maxKeys) return;
      this.#keys.delete(key);
    }
  }
}
