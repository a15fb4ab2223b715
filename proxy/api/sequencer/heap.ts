import { Sweeps } from "./sweeps.ts";

/**
 * Smallest first: what is to be looked at again, and when; or what is oldest. Values that nobody wants any more leave it
 * in time, though they never come to the top: a ticket is over in seconds, its deadline may be a day ahead.
 */
export class Heap<T> {
  #items: { readonly at: number; readonly value: T }[] = [];
  readonly #isWanted: (value: T) => boolean;
  readonly #sweeps = new Sweeps();

  /** `isWanted` is asked of values that were added before. */
  constructor(isWanted: (value: T) => boolean) {
    this.#isWanted = isWanted;
  }

  get size(): number {
    return this.#items.length;
  }

  first(): T | undefined {
    return this.#items[0]?.value;
  }

  add(at: number, value: T): void {
    if (this.#sweeps.isDue(this.#items.length)) this.#sweep();
    const items = this.#items;
    let i = items.push({ at, value }) - 1;
    while (i > 0) {
      const above = (i - 1) >> 1;
      if (items[above]!.at <= at) break;
      this.#swap(i, above);
      i = above;
    }
  }

  /** The values whose time is at or before `now`, smallest first; they are taken out. */
  *takeUpTo(now: number): Generator<T> {
    for (;;) {
      const first = this.#items[0];
      if (first === undefined || first.at > now) return;
      this.removeFirst();
      yield first.value;
    }
  }

  removeFirst(): void {
    const items = this.#items;
    const last = items.pop();
    if (last === undefined || items.length === 0) return;
    items[0] = last;
    this.#sink(0);
  }

  #sweep(): void {
    this.#items = this.#items.filter(({ value }) => this.#isWanted(value));
    for (let i = this.#items.length >> 1; i > 0; i--) this.#sink(i - 1);
    this.#sweeps.done(this.#items.length);
  }

  /** Brings one down to its place, where all below it are in theirs. */
  #sink(from: number): void {
    const items = this.#items;
    for (let i = from; ;) {
      const left = 2 * i + 1;
      let least = i;
      for (const below of [left, left + 1]) {
        if (below < items.length && items[below]!.at < items[least]!.at) least = below;
      }
      if (least === i) return;
      this.#swap(i, least);
      i = least;
    }
  }

  #swap(i: number, j: number): void {
    const items = this.#items;
    [items[i], items[j]] = [items[j]!, items[i]!];
  }
}
