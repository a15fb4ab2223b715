/**
 * Tickets that the pool refuses wait a growing number of blocks before they are tried again. One that was
 * mined and refused although a simulation had passed has cost gas (somebody may move a market between the
 * two, on purpose), so it waits 1, 2, 4 … up to 1,024 blocks, whatever becomes of them; one that a simulation refuses
 * has cost a question to our node, and waits up to 8, or until the chain goes back: what was true of blocks that are gone
 * must not let those behind it pass. Forgotten when the ticket is over, and by a restart, which only costs a try.
 */
import type { Bytes32 } from "../../../shared/protocol/brands.ts";
import type { IndexedBlock } from "../../base/store/chain-data.ts";
import { Sweeps } from "./sweeps.ts";

const MAX_BLOCKS = { mined: 1_024, simulated: 8 } as const;

type Refusal = keyof typeof MAX_BLOCKS;

interface Wait {
  readonly refusals: number;
  readonly untilBlock: number;
}
type Entry = Readonly<Partial<Record<Refusal, Wait>>>;

export class Backoff {
  readonly #entries = new Map<string, Entry>();
  readonly #isOpen: (ticketId: string) => boolean;
  readonly #sweeps = new Sweeps();
  #seen: IndexedBlock | undefined;

  constructor(isOpen: (ticketId: string) => boolean) {
    this.#isOpen = isOpen;
  }

  /** How many tickets it remembers. */
  get size(): number {
    return this.#entries.size;
  }

  /** Call it with the newest block before anything is asked of it. `hashAt`: of the block that stands at a height. */
  reach(tip: IndexedBlock, hashAt: (number: number) => Bytes32 | undefined): void {
    const seen = this.#seen;
    this.#seen = tip;
    if (seen === undefined || hashAt(seen.number) === seen.hash) return;
    for (const [id, { simulated: _gone, ...rest }] of this.#entries) this.#entries.set(id, rest);
  }

  /** The pool refused it in a mined call; `tip` is the newest block. */
  refused(ticketId: string, tip: number): void {
    this.#count(ticketId, tip, "mined");
  }

  /** The pool would refuse it now. */
  wouldBeRefused(ticketId: string, tip: number): void {
    this.#count(ticketId, tip, "simulated");
  }

  isWaiting(ticketId: string, tip: number): boolean {
    const { mined, simulated } = this.#entries.get(ticketId) ?? {};
    return (mined?.untilBlock ?? -1) >= tip || (simulated?.untilBlock ?? -1) >= tip;
  }

  #count(ticketId: string, tip: number, refusal: Refusal): void {
    if (this.#sweeps.isDue(this.#entries.size)) this.#sweep();
    const entry = this.#entries.get(ticketId) ?? {};
    const refusals = (entry[refusal]?.refusals ?? 0) + 1;
    const wait = Math.min(2 ** (refusals - 1), MAX_BLOCKS[refusal]);
    this.#entries.set(ticketId, { ...entry, [refusal]: { refusals, untilBlock: tip + wait - 1 } });
  }

  #sweep(): void {
    for (const id of this.#entries.keys()) if (!this.#isOpen(id)) this.#entries.delete(id);
    this.#sweeps.done(this.#entries.size);
  }
}
