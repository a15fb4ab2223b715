/**
 * Looks in turn at what the open addresses hold. A node may leave out a log, as a replica does that lags behind its balancer:
 * money that nobody heard of would never be moved on. An address that holds something else than was seen to come and go is
 * looked for again as if it were new.
 */
import type { Logger } from "../../base/logging.ts";
import { RefusalBackoff } from "../refusal-backoff.ts";
import { gainOf, type Key } from "./events.ts";
import type { Ledger } from "./ledger.ts";
import type { Newcomers, Watched, Where } from "./watched.ts";

export interface Holding {
  readonly account: Key;
  readonly token: string;
  readonly amount: bigint;
}

export interface HoldingsParts {
  readonly where: Where;
  readonly watched: Watched;
  readonly ledger: Ledger;
  readonly newcomers: Newcomers;
  /** Names the chain. */
  readonly logger: Logger;
}

/** No key is like it. */
const ALL = "all";

export class Holdings {
  readonly #parts: HoldingsParts;
  readonly #backoff = new RefusalBackoff();
  #left: readonly Key[] = [];

  constructor(parts: HoldingsParts) {
    this.#parts = parts;
  }

  /** About the next addresses. Undefined where it is not answered: that holds up nothing, and is asked again after more and more blocks. */
  async ask<Answer>(
    most: number,
    ask: (keys: readonly Key[]) => Promise<Answer>,
  ): Promise<Answer | undefined> {
    const { watched, where, ledger, logger } = this.#parts;
    const tip = ledger.tip()?.number ?? 0;
    if (this.#backoff.isHeld(ALL, tip)) return undefined;
    if (this.#left.length === 0) this.#left = [...watched.addresses(where)];
    const keys = this.#left.slice(0, most);
    this.#left = this.#left.slice(most);
    try {
      const answer = await ask(keys);
      this.#backoff.release(ALL);
      return answer;
    } catch (err) {
      this.#backoff.refused(ALL, tip);
      logger.warn({ err }, "the node does not tell what addresses hold; what it leaves out is not noticed");
      return undefined;
    }
  }

  /** `number`: of the block of which the answer is. Everything up to it has been read. */
  compare(holdings: readonly Holding[], number: number): void {
    const odd = new Set(holdings.flatMap((one) => (this.#fits(one, number) ? [] : [one.account])));
    for (const { account } of holdings) if (!odd.has(account)) this.#backoff.release(account);
    const again = [...odd].filter((key) => !this.#backoff.isHeld(key, number) && this.#isKnown(key));
    if (again.length === 0) return;
    for (const key of again) {
      this.#backoff.refused(key, number);
      this.#parts.newcomers.again(key);
    }
    this.#parts.logger.warn(
      { addresses: again.length },
      "the node left out what moved: addresses hold something else than was seen; they are looked for again",
    );
  }

  #fits({ account, token, amount }: Holding, number: number): boolean {
    const entries = this.#parts.ledger.entriesOf(account);
    return (
      amount ===
      entries.reduce((sum, { block, event }) => {
        const isPart = block.number <= number && event.kind === "moved" && event.token === token;
        return isPart ? sum + gainOf(account, event) : sum;
      }, 0n)
    );
  }

  /** Not new and not gone: of another one nothing is known yet, or any more. */
  #isKnown(key: Key): boolean {
    const owners = this.#parts.watched.ownersOf(key);
    return owners.length > 0 && !owners.some((id) => this.#parts.newcomers.isWaiting(id));
  }
}
