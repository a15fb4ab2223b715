/**
 * The suite's own source of choices: SplitMix64, a counter and two multiplications (Steele, Lea, Flood 2014). It is
 * here so that a seed draws the same plan on every machine and with every Node.
 */
const MASK = (1n << 64n) - 1n;
const GOLDEN = 0x9e3779b97f4a7c15n;

export class Random {
  #state: bigint;

  /** `stream` keeps the draws of several scenarios of one seed apart. */
  constructor(seed: number, stream = 0) {
    this.#state = ((BigInt(seed) << 32n) ^ BigInt(stream)) & MASK;
    this.#next();
  }

  #next(): bigint {
    this.#state = (this.#state + GOLDEN) & MASK;
    let z = this.#state;
    z = ((z ^ (z >> 30n)) * 0xbf58476d1ce4e5b9n) & MASK;
    z = ((z ^ (z >> 27n)) * 0x94d049bb133111ebn) & MASK;
    return z ^ (z >> 31n);
  }

  /** An integer from `least` to `most`, both included. */
  between(least: number, most: number): number {
    return least + Number(this.#next() % BigInt(most - least + 1));
  }

  /** True in `percent` of a hundred draws. */
  chance(percent: number): boolean {
    return this.between(1, 100) <= percent;
  }

  pick<T>(from: readonly [T, ...T[]]): T {
    return from[this.between(0, from.length - 1)] as T;
  }

  /** So many of them, none twice, in a drawn order. */
  some<T>(from: readonly T[], count: number): T[] {
    const rest = [...from];
    const taken: T[] = [];
    while (taken.length < count && rest.length > 0)
      taken.push(...rest.splice(this.between(0, rest.length - 1), 1));
    return taken;
  }
}
