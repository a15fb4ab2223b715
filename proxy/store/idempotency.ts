/** Answers kept for repeated requests. A claim is made before the work and filled after it, so that two equal requests never both run. */

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
  /** `token` is this claim's own: a request that outlived its lease no longer has a say. */
  | { readonly kind: "claimed"; readonly token: string }
  | { readonly kind: "running" }
  | { readonly kind: "other-body" }
  | { readonly kind: "answered"; readonly answer: StoredAnswer };

export interface IdempotencyStore {
  /**
   * Takes `scope` for a request whose body has this fingerprint. A claim left by a crash ends after
   * `leaseMs`; an answer is kept for `keepMs`. `now` in milliseconds.
   */
  claim(scope: string, fingerprint: string, now: number): Promise<Claim>;
  /** Does nothing when the claim is no longer `token`'s; the same holds for `release`. */
  answer(scope: string, token: string, answer: StoredAnswer, now: number): Promise<void>;
  /** Gives the claim back: the request may be tried again. */
  release(scope: string, token: string): Promise<void>;
}

export const KEEP_MS = 24 * 3_600_000;
/** Longer than any request of ours can run (30 s of waiting and an enclave's deadline). */
export const LEASE_MS = 120_000;
