/**
 * Work that came while the disk was busy goes to it together: one transaction and one wait for the disk, however many
 * callers. Each of them still has its work whole or absent, and learns of it when the disk has it.
 */

import { yieldToEventLoop } from "../../event-loop.ts";
import { StoreUnavailable } from "../unavailable.ts";

export interface Demand {
  /** Most bytes that it writes, pages that are copied included, where that may be more than a megabyte. */
  readonly bytes?: number;
  /** It brings to its end what was accepted, so it may use the room that is kept for that. */
  readonly thoughFull?: boolean;
}

/** The two things that a group needs of a database. */
export interface Committing {
  /** Runs `work` in one transaction; a throw undoes it and is passed on. StoreUnavailable: nothing was begun. */
  run(work: () => void, demand: Demand): void;
  /** Resolves when everything that was run is on disk. */
  flushed(): Promise<unknown>;
}

interface Waiting {
  readonly work: () => unknown;
  readonly demand: Demand;
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/** A group holds up the event loop; this many take some milliseconds. */
const MAX_GROUP = 32;
/** Of each in a group that does not say more; one of them may write the megabyte that nobody has to tell. */
const BYTES_OF_ONE = 64 << 10;
const BYTES_BY_DEFAULT = 1 << 20;

/** A throw of the caller's work, as distinct from one of the database. */
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
   * Throws what `work` throws, or StoreUnavailable. `work` may run more than once, and counts only the last time:
   * where a neighbour throws, everybody begins again.
   */
  do<T>(work: () => T, demand: Demand = {}): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ work, demand, resolve: resolve as (result: unknown) => void, reject });
      this.#running ??= this.#run();
    });
  }

  /** Resolves when nothing waits any more. */
  async idle(): Promise<void> {
    while (this.#running !== undefined) await this.#running;
  }

  async #run(): Promise<void> {
    // Whoever comes in the same turn of the event loop is in the first group.
    await yieldToEventLoop();
    while (this.#waiting.length > 0) await this.#commit(this.#waiting.splice(0, MAX_GROUP));
    // In the same turn as the look above: nobody may come in between and be forgotten.
    this.#running = undefined;
  }

  async #commit(group: readonly Waiting[]): Promise<void> {
    const results: unknown[] = [];
    try {
      this.#database.run(() => {
        results.length = 0; // it may run again
        for (const { work } of group) results.push(attempt(work));
      }, demandOf(group));
      await this.#database.flushed();
    } catch (error) {
      // One that fails alone is undone alone, and what is too much together may fit alone.
      if (group.length > 1 && (error instanceof Thrown || error instanceof StoreUnavailable)) {
        for (const each of group) await this.#commit([each]);
        return;
      }
      for (const { reject } of group) reject(reasonOf(error));
      return;
    }
    group.forEach(({ resolve }, i) => resolve(results[i]));
  }
}

function demandOf(group: readonly Waiting[]): Demand {
  const [only] = group;
  if (only !== undefined && group.length === 1) return only.demand;
  return {
    bytes: group.reduce(
      (sum, { demand }) => sum + Math.max(demand.bytes ?? 0, BYTES_OF_ONE),
      BYTES_BY_DEFAULT,
    ),
    thoughFull: group.every(({ demand }) => demand.thoughFull === true),
  };
}

function reasonOf(error: unknown): unknown {
  if (error instanceof Thrown) return error.error;
  return error instanceof StoreUnavailable ? error : new StoreUnavailable(error);
}

function attempt(work: () => unknown): unknown {
  try {
    return work();
  } catch (error) {
    throw new Thrown(error);
  }
}
