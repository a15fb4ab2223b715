/** What holds waiting tickets and the operator can fix; each part of the sequencer reports what it meets. */
import type { Kind } from "../../../shared/protocol/statements.ts";

const BLOCKED = ["chain", "enclave", "gas", "pause"] as const;
const NO_EXECUTOR = "executor";

/** Holds every waiting ticket. `pause`: the pool's attested path is closed, by its guardian or after a refutation. */
export type Blocked = (typeof BLOCKED)[number];

export class Blockage {
  #by: Blocked | undefined;
  #hasNoExecutor = false;

  get by(): Blocked | undefined {
    return this.#by;
  }

  /** What holds tickets of this kind. Without an executor all but swaps go on, and the service is in good health. */
  of(kind: Kind): Blocked | "executor" | undefined {
    if (this.#by !== undefined) return this.#by;
    return kind === "private-swap" && this.#hasNoExecutor ? NO_EXECUTOR : undefined;
  }

  report(by: Blocked): void {
    this.#by = by;
  }

  reportExecutor(isThere: boolean): void {
    this.#hasNoExecutor = !isThere;
  }

  /** For the proxies that do not submit. */
  toString(): string {
    return [this.#by, this.#hasNoExecutor ? NO_EXECUTOR : undefined]
      .filter((word) => word !== undefined)
      .join(" ");
  }

  /** What the one that submits says of itself; words that we do not know are left out. */
  adopt(text: string): void {
    const words = text.split(" ");
    this.#by = BLOCKED.find((word) => words.includes(word));
    this.#hasNoExecutor = words.includes(NO_EXECUTOR);
  }

  /** All that holds everything, or only if it is what is named. */
  clear(only?: Blocked): void {
    if (only === undefined || this.#by === only) this.#by = undefined;
  }
}
