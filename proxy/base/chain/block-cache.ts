/**
 * Answers that several callers may share, because they are of one block: asked once, also by those who come while
 * the question is under way. Bounded; the oldest go first, and a failure is not kept.
 */
export class BlockCache {
  readonly #most: number;
  readonly #answers = new Map<string, Promise<unknown>>();

  constructor(most: number) {
    this.#most = most;
  }

  get size(): number {
    return this.#answers.size;
  }

  /** `key` must name the block and everything else that the answer depends on, its type included. */
  get<T>(key: string, question: () => Promise<T>): Promise<T> {
    const known = this.#answers.get(key);
    if (known !== undefined) return known as Promise<T>;
    const [oldest] = this.#answers.keys();
    if (oldest !== undefined && this.#answers.size >= this.#most) this.#answers.delete(oldest);
    const answer = question();
    this.#answers.set(key, answer);
    answer.catch(() => {
      if (this.#answers.get(key) === answer) this.#answers.delete(key);
    });
    return answer;
  }
}

/** Answers of the newest block, and of a few before it. */
const MAX_ANSWERS = 64;

/**
 * Asks once a block. `freshTip` names the chain's newest block; while nobody knows it, the question is asked each time.
 * The result's `key` must name what the answer depends on besides the block.
 */
export function oncePerBlock(freshTip: () => string | undefined) {
  const answers = new BlockCache(MAX_ANSWERS);
  return <T>(key: string, question: () => Promise<T>): Promise<T> => {
    const tip = freshTip();
    return tip === undefined ? question() : answers.get(`${tip} ${key}`, question);
  };
}
