/**
 * Tickets that the pool refuses wait a growing number of blocks before they are tried again. One that was
 * mined and refused although a simulation had passed has cost gas (somebody may move a market between the
 * two, on purpose), so it waits 1, 2, 4 … up to 1,024 blocks; one that a simulation refuses has cost a
 * question to our node, and waits up to 8. Forgotten by a restart, which only costs a try.
 */
const MAX_BLOCKS = { mined: 1_024, simulated: 8 } as const;

type Refusal = keyof typeof MAX_BLOCKS;

interface Entry {
  readonly mined: number;
  readonly simulated: number;
  readonly untilBlock: number;
}

const NONE: Entry = { mined: 0, simulated: 0, untilBlock: -1 };

export class Backoff {
  readonly #entries = new Map<string, Entry>();

  /** The pool refused it in a mined call; `tip` is the newest block. */
  refused(ticketId: string, tip: number): void {
    this.#count(ticketId, tip, "mined");
  }

  /** The pool would refuse it now. */
  wouldBeRefused(ticketId: string, tip: number): void {
    this.#count(ticketId, tip, "simulated");
  }

  isWaiting(ticketId: string, tip: number): boolean {
    return (this.#entries.get(ticketId) ?? NONE).untilBlock >= tip;
  }

  #count(ticketId: string, tip: number, refusal: Refusal): void {
    const entry = this.#entries.get(ticketId) ?? NONE;
    const refusals = entry[refusal] + 1;
    const wait = Math.min(2 ** (refusals - 1), MAX_BLOCKS[refusal]);
    this.#entries.set(ticketId, {
      ...entry,
      [refusal]: refusals,
      untilBlock: Math.max(entry.untilBlock, tip + wait - 1),
    });
  }
}
