/** What holds waiting tickets and the operator can mend; each part of the submitter reports what it meets. */
import type { Kind } from "../../shared/protocol/statements.ts";

/** Holds every waiting ticket. */
export type Blocked = "chain" | "enclave" | "gas";

export class Blockage {
  #by: Blocked | undefined;
  #hasNoExecutor = false;

  get by(): Blocked | undefined {
    return this.#by;
  }

  /** What holds tickets of this kind. Without an executor all but swaps go on, and the service is in good health. */
  of(kind: Kind): Blocked | "executor" | undefined {
    if (this.#by !== undefined) return this.#by;
    return kind === "private-swap" && this.#hasNoExecutor ? "executor" : undefined;
  }

  report(by: Blocked): void {
    this.#by = by;
  }

  reportExecutor(isThere: boolean): void {
    this.#hasNoExecutor = !isThere;
  }

  /** All that holds everything, or only if it is what is named. */
  clear(only?: Blocked): void {
    if (only === undefined || this.#by === only) this.#by = undefined;
  }
}
