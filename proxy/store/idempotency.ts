/**
 * Answers kept for repeated requests. A claim is made before the work and filled after it, so that two equal requests
 * do not run at a time. A claim is good as long as its holder lives and works on it. Whoever lost one without noticing
 * (a process that was held still) may do the work again: it writes nothing over another's answer, since each claim has
 * a token of its own, and it makes nothing twice, since a statement has one ticket (`TicketStore.accept`).
 */

export interface StoredAnswer {
  readonly status: number;
  /** JSON text. */
  readonly body: string;
  readonly type: string;
  readonly location: string | undefined;
  /** As the first answer said it; records of before this was kept have none. */
  readonly retryAfter?: string | undefined;
}

export type Claim =
  /** `token` is this claim's own: whoever lost it no longer has a say. */
  | { readonly kind: "claimed"; readonly token: string }
  /** In so many milliseconds it is free if its holder is dead. */
  | { readonly kind: "running"; readonly retryAfterMs: number }
  | { readonly kind: "other-body" }
  | { readonly kind: "answered"; readonly answer: StoredAnswer };

export interface IdempotencyStore {
  /**
   * Takes `scope` for a request whose body has this fingerprint. It stays taken until `answer` or `release` have
   * ended, well or not, or this process is dead; then the same body may have it, and no other for `KEEP_MS`: what was
   * begun may have had its effect. `now` in milliseconds.
   */
  claim(scope: string, fingerprint: string, now: number): Promise<Claim>;
  /** Kept for `KEEP_MS`. Does nothing when the claim is no longer `token`'s; the same holds for `release`. */
  answer(scope: string, token: string, answer: StoredAnswer, now: number): Promise<void>;
  /** Gives the claim back: the request may be tried again, also with another body. */
  release(scope: string, token: string): Promise<void>;
}

export const KEEP_MS = 24 * 3_600_000;
