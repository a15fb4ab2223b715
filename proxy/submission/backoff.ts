/**
 * A ticket that the pool keeps refusing although a simulation passes waits 1, 2, 4 … blocks, so that it
 * cannot burn gas in every block. Forgotten by a restart, which only costs a try.
 */
const MAX_BLOCKS = 64;

export class Backoff {
  readonly #entries = new Map<string, { readonly refusals: number; readonly untilBlock: number }>();

  /** The pool refused it; `tip` is the newest block. */
  refused(ticketId: string, tip: number): void {
    const refusals = (this.#entries.get(ticketId)?.refusals ?? 0) + 1;
    const wait = Math.min(2 ** (refusals - 1), MAX_BLOCKS);
    this.#entries.set(ticketId, { refusals, untilBlock: tip + wait - 1 });
  }

  isWaiting(ticketId: string, tip: number): boolean {
    return (this.#entries.get(ticketId)?.untilBlock ?? -1) >= tip;
  }
}
