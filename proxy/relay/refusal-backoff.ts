/**
 * Steps that were refused, and questions, wait a growing number of blocks of their chain before they are tried again: 1, 2, 4 …
 * up to 1,024. In memory only: what is forgotten by a restart costs one question to the node.
 */
const MOST_BLOCKS = 1_024;
/** Refusals of so many steps are kept; the oldest go first. */
const MOST_HELD = 20_000;

interface Refused {
  readonly refusals: number;
  readonly untilBlock: number;
}

export class RefusalBackoff {
  readonly #held = new Map<string, Refused>();

  get size(): number {
    return this.#held.size;
  }

  /** On the block `tip` of its chain. */
  refused(key: string, tip: number): void {
    const refusals = (this.#held.get(key)?.refusals ?? 0) + 1;
    this.#held.delete(key);
    const wait = Math.min(2 ** (refusals - 1), MOST_BLOCKS);
    this.#held.set(key, { refusals, untilBlock: tip + wait - 1 });
    const [oldest] = this.#held.keys();
    if (this.#held.size > MOST_HELD && oldest !== undefined) this.#held.delete(oldest);
  }

  isHeld(key: string, tip: number): boolean {
    return (this.#held.get(key)?.untilBlock ?? -1) >= tip;
  }

  /** It was done, or is to be tried at once. */
  release(key: string): void {
    this.#held.delete(key);
  }
}
