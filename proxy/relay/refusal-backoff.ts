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
  /** Why, as far as it is known. */
  readonly words: string | undefined;
}

export class RefusalBackoff {
  readonly #held = new Map<string, Refused>();

  get size(): number {
    return this.#held.size;
  }

  /** On the block `tip` of its chain, and why. */
  refused(key: string, tip: number, words?: string): void {
    const refusals = (this.#held.get(key)?.refusals ?? 0) + 1;
    this.#held.delete(key);
    const wait = Math.min(2 ** (refusals - 1), MOST_BLOCKS);
    this.#held.set(key, { refusals, untilBlock: tip + wait - 1, words });
    const [oldest] = this.#held.keys();
    if (this.#held.size > MOST_HELD && oldest !== undefined) this.#held.delete(oldest);
  }

  isHeld(key: string, tip: number): boolean {
    return (this.#held.get(key)?.untilBlock ?? -1) >= tip;
  }

  /** What was found out about it later. */
  explained(key: string, words: string | undefined): void {
    const held = this.#held.get(key);
    if (held !== undefined && words !== undefined) this.#held.set(key, { ...held, words });
  }

  wordsOf(key: string): string | undefined {
    return this.#held.get(key)?.words;
  }

  /** It was done, or is to be tried at once. */
  release(key: string): void {
    this.#held.delete(key);
  }
}
