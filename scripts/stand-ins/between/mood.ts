/** Of a party that lies by chance, from a seed: so many of a hundred answers. */
import type { Random } from "../../base/random.ts";

export class Mood {
  readonly random: Random;
  readonly #percent: number;

  constructor(random: Random, percent: number) {
    this.random = random;
    this.#percent = percent;
  }

  /** Undefined: an honest answer. */
  draw<Fault>(faults: readonly Fault[]): Fault | undefined {
    const [first, ...others] = faults;
    return first !== undefined && this.random.chance(this.#percent)
      ? this.random.pick([first, ...others])
      : undefined;
  }
}
