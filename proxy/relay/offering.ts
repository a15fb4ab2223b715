/**
 * Offers the steps on the pool's chain to whoever submits for the pool, one call at a time, through the store: the gas
 * wallet's line of nonces is theirs. What is offered is planned again with every block, and what became of it is read from
 * the chain, so a relay that dies, hangs or loses its lease leaves nothing behind but an offer that grows old.
 */
import type { Errand, Errands } from "../base/chain/errands.ts";
import type { Logger } from "../base/logging.ts";
import { LeaseLost, type Fence } from "../base/store/lease.ts";
import type { RelayStore } from "../base/store/relay.ts";

export interface OfferingParts {
  readonly line: Errands;
  readonly store: Pick<RelayStore, "outcome" | "underLease">;
  readonly fence: () => Fence | undefined;
  /** The newest block of the pool's chain that was looked at; undefined while its node is away. */
  readonly tip: () => { readonly number: number } | undefined;
  readonly logger: Logger;
}

interface Offered {
  readonly id: string;
  readonly errand: Errand;
  readonly asOf: number;
}

export class Offering {
  readonly #parts: OfferingParts;
  #offered: Offered | undefined;
  /** The lease under which it was offered. */
  #fence: Fence | undefined;
  #made = 0;
  #running: Promise<void> | undefined;
  #isWanted = false;

  constructor(parts: OfferingParts) {
    this.#parts = parts;
  }

  /** Something may be to offer; returns at once. */
  wake(): void {
    this.#isWanted = true;
    this.#running ??= this.#run().finally(() => (this.#running = undefined));
  }

  async idle(): Promise<void> {
    await this.#running;
  }

  async #run(): Promise<void> {
    while (this.#isWanted) {
      this.#isWanted = false;
      try {
        await this.#pass();
      } catch (error) {
        if (error instanceof LeaseLost) this.#fence = undefined;
        else this.#parts.logger.error({ err: error }, "a step on the pool's chain could not be offered");
      }
    }
  }

  async #pass(): Promise<void> {
    const { line, store, fence: held, tip } = this.#parts;
    const [fence, block] = [held(), tip()];
    if (fence === undefined || block === undefined) return;
    if (fence !== this.#fence) this.#offered = undefined;
    await this.#learn();
    const errand = await line.next(block);
    const before = this.#offered;
    const isSame = before !== undefined && errand !== undefined && isLike(before.errand, errand);
    const id = isSame ? before.id : `${String(fence)}.${String((this.#made += 1))}`;
    this.#offered = errand && { id, errand, asOf: block.number };
    const isTold = isSame ? before.asOf === block.number : errand === before;
    if (isTold && fence === this.#fence) return;
    await store.underLease(fence).offer(errand && { id, asOf: block.number, ...errand });
    this.#fence = fence;
  }

  /** What whoever submits has made of it. */
  async #learn(): Promise<void> {
    const { line, store } = this.#parts;
    if (this.#offered === undefined) return;
    const { id, errand } = this.#offered;
    const outcome = await store.outcome();
    if (outcome?.id !== id) return;
    this.#offered = undefined;
    if (outcome.what === "sent") line.sent(errand);
    else line.refused(errand, { number: outcome.at });
  }
}

const isLike = (one: Errand, other: Errand): boolean => one.to === other.to && one.data === other.data;
