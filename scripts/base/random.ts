/**
 * A small generator of choices (Mulberry32): the same seed draws the same on every machine and with every Node. For tests and
 * stand-ins; never for a secret.
 */
const GOLDEN = 0x9e3779b9;

export class Random {
  #state: number;

  /** `stream` keeps the draws of several that have one seed apart. */
  constructor(seed: number, stream = 0) {
    this.#state = (seed ^ Math.imul(stream, GOLDEN)) >>> 0;
  }

  /** An integer from 0 to `below` − 1. */
  below(below: number): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = this.#state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * below);
  }

  /** An integer from `least` to `most`, both included. */
  between(least: number, most: number): number {
    return least + this.below(most - least + 1);
  }

  /** True in `percent` of a hundred draws. */
  chance(percent: number): boolean {
    return this.below(100) < percent;
  }

  /** Of at least one. */
  pick<T>(from: readonly T[]): T {
    return from[this.below(from.length)]!;
  }

  /** So many of them, none twice, in a drawn order. */
  some<T>(from: readonly T[], count: number): T[] {
    const rest = [...from];
    const taken: T[] = [];
    while (taken.length < count && rest.length > 0) taken.push(...rest.splice(this.below(rest.length), 1));
    return taken;
  }

  bytes(length: number): Uint8Array {
    return Uint8Array.from({ length }, () => this.below(256));
  }
}
