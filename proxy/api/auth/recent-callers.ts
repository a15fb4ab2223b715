/**
 * Credentials that were found good a moment ago, so that a busy caller's is not looked up and verified for each of
 * its requests. For a second at most: a revocation is felt after it, and no longer does this process remember what
 * it was shown. Found by the whole text under a hash that is seeded for each process, so that the time of a
 * lookup tells nothing about how a good one begins.
 */

/** How long after a revocation a credential may still be taken. `npm run operator` waits for it. */
export const REMEMBERED_MS = 1_000;

export class RecentCallers<Caller> {
  readonly #most: number;
  readonly #now: () => number;
  readonly #callers = new Map<string, { readonly caller: Caller; readonly until: number }>();
  #forgetting: NodeJS.Timeout | undefined;

  /** Beyond `most` at once, more are not remembered. `now` in milliseconds. */
  constructor(most: number, now: () => number) {
    this.#most = most;
    this.#now = now;
  }

  get(credential: string): Caller | undefined {
    const known = this.#callers.get(credential);
    return known !== undefined && this.#now() < known.until ? known.caller : undefined;
  }

  /**
   * `askedAt` is from before the store was asked, or a revocation that came while it was would be felt later than is
   * promised. Not past `exp` either. Both in milliseconds.
   */
  add(credential: string, caller: Caller, askedAt: number, exp = Infinity): void {
    if (this.#callers.size >= this.#most) return;
    this.#callers.set(credential, { caller, until: Math.min(askedAt + REMEMBERED_MS, exp) });
    // All at once, the latest a second after the first: none is held in memory by nobody asking any more.
    this.#forgetting ??= setTimeout(() => {
      this.#callers.clear();
      this.#forgetting = undefined;
    }, REMEMBERED_MS).unref();
  }
}
