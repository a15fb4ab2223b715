/**
 * The requests for which something may be to do. Kept up to date by the book's news, so that what lies still, or is long
 * over, costs a pass nothing, however many requests are open.
 */
import { burnsOf, vaultsOf, type BridgeFacts } from "../fold/facts.ts";
import type { WorkBook } from "./snapshot.ts";

export class Live {
  readonly #book: WorkBook;
  readonly #ids = new Set<string>();
  readonly #changed = new Set<string>();

  constructor(book: WorkBook) {
    this.#book = book;
  }

  changed(bridgeId: string): void {
    this.#changed.add(bridgeId);
  }

  /** Oldest first: identifiers begin with their time. */
  ids(): readonly string[] {
    for (const id of this.#changed) {
      const facts = this.#book.factsOf(id);
      if (facts !== undefined && isLive(facts)) this.#ids.add(id);
      else this.#ids.delete(id);
    }
    this.#changed.clear();
    return [...this.#ids].sort();
  }
}

function isLive(facts: BridgeFacts): boolean {
  const isUnderWay = burnsOf(facts).some(({ delivery }) => delivery === undefined);
  return isUnderWay || vaultsOf(facts).some(({ balance }) => balance > 0n);
}
