/**
 * Answers of venues, kept for a while, so that planning never waits for one: it gets the newest answer, or hears that it
 * is being asked for, or that the venue is away.
 */

export interface KeptAnswersOptions<Answer> {
  readonly ask: (key: string) => Promise<Answer>;
  /** An answer is asked for anew when it is older. */
  readonly freshMs: number;
  /** A venue that was away is asked again after so long. */
  readonly retryMs: number;
  readonly now: () => number;
  /** There is something new to plan with. */
  readonly onAnswer: () => void;
  readonly onFault: (error: unknown) => void;
}

interface Kept<Answer> {
  readonly answer: { readonly value: Answer } | undefined;
  /** Of the last time it was asked for, whatever came of it. */
  readonly askedAt: number;
  readonly isAsking: boolean;
}

/** The oldest go first. */
const MOST_KEPT = 10_000;

export class KeptAnswers<Answer> {
  readonly #kept = new Map<string, Kept<Answer>>();
  readonly #options: KeptAnswersOptions<Answer>;

  constructor(options: KeptAnswersOptions<Answer>) {
    this.#options = options;
  }

  /** `asking`: wait for it. Undefined: nobody answers. An answer that is being renewed is good until the new one is there. */
  of(key: string): { readonly value: Answer } | "asking" | undefined {
    const { now, freshMs, retryMs } = this.#options;
    const kept = this.#kept.get(key);
    if (kept?.isAsking === true) return kept.answer ?? "asking";
    const wait = kept?.answer === undefined ? retryMs : freshMs;
    if (kept !== undefined && now() - kept.askedAt < wait) return kept.answer;
    this.#put(key, { answer: kept?.answer, askedAt: now(), isAsking: true });
    void this.#ask(key);
    return kept?.answer ?? "asking";
  }

  async #ask(key: string): Promise<void> {
    const { ask, now, onAnswer, onFault } = this.#options;
    let answer: { readonly value: Answer } | undefined;
    try {
      answer = { value: await ask(key) };
    } catch (error) {
      onFault(error);
    }
    this.#put(key, { answer, askedAt: now(), isAsking: false });
    onAnswer();
  }

  #put(key: string, kept: Kept<Answer>): void {
    this.#kept.delete(key);
    this.#kept.set(key, kept);
    const [oldest] = this.#kept.keys();
    if (this.#kept.size > MOST_KEPT && oldest !== undefined) this.#kept.delete(oldest);
  }
}
