/**
 * What a database must do for the features that are kept in it (features/): records, orders, and one kind of write in
 * the shape of etcd's `Txn`: checks first, then everything or nothing. A record is text under a table and a key. An
 * order holds members by number: a place, a deadline. Every method throws StoreUnavailable when the database cannot
 * answer; a commit is then made whole or not at all, and which of the two is not known.
 */
import { StoreUnavailable } from "./unavailable.ts";

export type Check =
  /** The record still is this text, or there still is none. */
  | readonly [check: "is", table: string, key: string, text: string | undefined]
  /** A count is less than this. */
  | readonly [check: "below", table: string, key: string, limit: number];

export type Write =
  /** `put-new` leaves a record that is there; `put-numbered` writes the step's number and a space before the text. */
  | readonly [write: "put" | "put-new" | "put-numbered", table: string, key: string, text: string]
  /** Into a table of EXPIRING: the record goes by itself, not before this time has passed. */
  | readonly [write: "put-for", table: string, key: string, text: string, lifeMs: number]
  | readonly [write: "drop", table: string, key: string]
  | readonly [write: "add", table: string, key: string, by: number]
  /** `number` is the step's. A member that is at this place already stays there. */
  | readonly [write: "rank", order: string, at: number | "number", member: string]
  | readonly [write: "unrank", order: string, at: number, member: string]
  /** Names a member to those who follow, here and in other processes. */
  | readonly [write: "announce", member: string];

export interface Step {
  readonly checks?: readonly Check[];
  /** No record is written twice. */
  readonly writes: readonly Write[];
  /** The count that the step's number is drawn from: one more than the last. */
  readonly number?: readonly [table: string, key: string];
  /** It ends or revokes something, so it may use the room that is kept for that. */
  readonly thoughFull?: boolean;
}

/** What a change of a record brings with it into its step: writes of another feature, whole or not at all with it. */
export type Carried = Pick<Step, "writes" | "number">;

export type Committed =
  | { readonly done: true; readonly number: number | undefined }
  /** Place of the first check that failed, and what is there. Nothing was written. */
  | { readonly done: false; readonly failed: number; readonly found: string | undefined };

export interface Range {
  readonly from?: number;
  readonly before?: number;
  readonly skip?: number;
  readonly limit?: number;
  /** From the greatest number down, and of one number the last name first; `skip` and `limit` count from there. */
  readonly isBackward?: boolean;
}

/** Neither of the two may wait for a commit: a commit may wait for them. */
export interface Follower {
  /** In order of the writes, once they are durable. A member may come again. */
  named(members: readonly string[]): Promise<void>;
  /** More went by than is kept: anything may have changed. */
  missed(): Promise<void>;
}

export interface Engine {
  /** In the order asked; undefined where there is none. */
  get(table: string, keys: readonly string[]): Promise<readonly (string | undefined)[]>;
  /** Every record of a small table, in order of key. */
  all(table: string): Promise<ReadonlyMap<string, string>>;
  /** By number, then by name. */
  members(order: string, range?: Range): Promise<readonly string[]>;
  countBefore(order: string, at: number): Promise<number>;
  /**
   * Resolves when it is durable. It is never sent twice by the engine: whoever got no answer may send a step again
   * whose checks the first one makes fail.
   */
  commit(step: Step): Promise<Committed>;
  /** What is read of this engine after this call, and what is told, leave nothing out between them. The result ends it. */
  follow(follower: Follower): () => void;
  /** Reports a record that cannot be read. It stays as it is, and everything else goes on. */
  setAside(table: string, key: string): void;
}

/** Tables whose records end. */
export const EXPIRING: ReadonlySet<string> = new Set([
  ...["idempotency", "idempotency:live", "usage:poured"],
  "dashboard-challenges",
]);
/** Orders in which `countBefore` is asked for each request, so that a long one must not make it slower. */
export const COUNTED: ReadonlySet<string> = new Set(["tickets:queued"]);

/** A record that loses as often is written by more others than there can be. */
const MOST_ATTEMPTS = 200;

/**
 * Reads, works out a step, and commits it; begins again when somebody else changed what was read. The step checks all
 * that it depends on. Without a step the result stands as it is.
 */
export async function retrying<T>(
  engine: Engine,
  plan: () => Promise<{ readonly step?: Step; readonly result: T }>,
): Promise<T> {
  for (let attempt = 0; attempt < MOST_ATTEMPTS; attempt++) {
    const { step, result } = await plan();
    if (step === undefined || (await engine.commit(step)).done) return result;
  }
  throw new StoreUnavailable(new Error("a record changes too often"));
}
