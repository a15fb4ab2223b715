/**
 * Work that came while the disk was busy goes to it together: one transaction and one wait for the disk, however many
 * callers. Each of them still has its work whole or absent, and hears of it when the disk has it.
 */

import { StoreUnavailable } from "../unavailable.ts";

/** The two things that a group needs of a database. */
export interface Committing {
  /** Runs `work` in one transaction; a throw undoes it and is passed on. */
  run(work: () => void): void;
  /** Resolves when everything that was run is on disk. */
  flushed(): Promise<unknown>;
}

interface Waiting {
  readonly work: () => unknown;
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/** A group holds up the event loop; this many take some milliseconds. */
const MAX_GROUP = 128;

/** A throw of the caller's work, told apart from one of the database. */
class Thrown extends Error {
  readonly error: unknown;

  constructor(error: unknown) {
    super("the work of one caller");
    this.error = error;
  }
}

export class GroupCommit {
  readonly #database: Committing;
  #waiting: Waiting[] = [];
  #running: Promise<void> | undefined;

  constructor(database: Committing) {
    this.#database = database;
  }

  /**
   * Throws what `work` throws, or StoreUnavailable. `work` may run more than once, and counts only the last time: where a neighbour throws, everybody
   * begins anew.
   */
  do<T>(work: () => T): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ work, resolve: resolve as (result: unknown) => void, reject });
      this.#running ??= this.#run();
    });
  }

  /** Resolves when nothing waits any more. */
  async idle(): Promise<void> {
    while (this.#running !== undefined) await this.#running;
  }

  async #run(): Promise<void> {
    // Whoever comes in the same turn of the event loop is in the first group.
    await new Promise((resolve) => setImmediate(resolve));
    while (this.#waiting.length > 0) await this.#commit(this.#waiting.splice(0, MAX_GROUP));
    // In the same breath as the look above: nobody may come in between and be forgotten.
    this.#running = undefined;
  }

  async #commit(group: readonly Waiting[]): Promise<void> {
    const results: unknown[] = [];
    try {
      this.#database.run(() => {
        results.length = 0;
        for (const { work } of group) results.push(attempt(work));
      });
      await this.#database.flushed();
    } catch (error) {
      // One that fails alone is undone alone: the others are not made to fail with it.
      if (error instanceof Thrown && group.length > 1) for (const each of group) await this.#commit([each]);
      else {
        const reason = error instanceof Thrown ? error.error : new StoreUnavailable(error);
        for (const { reject } of group) reject(reason);
      }
      return;
    }
    group.forEach(({ resolve }, i) => resolve(results[i]));
  }
}

function attempt(work: () => unknown): unknown {
  try {
    return work();
  } catch (error) {
    throw new Thrown(error);
  }
}
