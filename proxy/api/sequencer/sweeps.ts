/** Below it nobody looks. */
const LEAST = 1_024;

/**
 * When something that grows is to be looked through for what nobody wants any more: whenever it has doubled since the
 * last time. So every entry costs two looks at most, and there are never more than twice as many as are wanted, and some.
 */
export class Sweeps {
  #at = LEAST;

  isDue(size: number): boolean {
    return size >= this.#at;
  }

  done(left: number): void {
    this.#at = Math.max(LEAST, 2 * left);
  }
}
