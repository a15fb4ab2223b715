/** One piece of work for all who wait for it. It ends when the last of them gives up, not before. */
import { orAborted } from "./aborting.ts";

export interface WaitingOptions<Progress> {
  readonly signal?: AbortSignal | undefined;
  readonly progress?: ((at: Progress) => void) | undefined;
}

export class SharedWork<Progress> {
  /** Settles with the work; whoever waits uses `wait`. */
  readonly done: Promise<void>;
  readonly #abort = new AbortController();
  readonly #listeners = new Set<(at: Progress) => void>();
  #waiting = 0;
  #isDone = false;

  constructor(work: (signal: AbortSignal, progress: (at: Progress) => void) => Promise<void>) {
    const report = (at: Progress): void => {
      for (const listener of this.#listeners) listener(at);
    };
    // Its beginning is reported to whoever asked for it, too.
    this.done = Promise.resolve()
      .then(() => work(this.#abort.signal, report))
      .finally(() => {
        this.#isDone = true;
      });
  }

  /** Everybody has given up: it will be aborted, if it is not yet. */
  get isAbandoned(): boolean {
    return this.#abort.signal.aborted;
  }

  /** Rejects with the signal's reason as soon as it is aborted. */
  async wait({ signal, progress }: WaitingOptions<Progress>): Promise<void> {
    // A function may be given twice; each wait has one of its own.
    const listener = (at: Progress): void => progress?.(at);
    this.#waiting++;
    this.#listeners.add(listener);
    try {
      await orAborted(this.done, signal);
    } finally {
      this.#listeners.delete(listener);
      if (--this.#waiting === 0 && !this.#isDone) this.#abort.abort(signal?.reason);
    }
  }
}
