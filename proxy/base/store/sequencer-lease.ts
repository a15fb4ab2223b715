/**
 * Who submits for a pool. A holder that was paused past its time learns from the fence, at its next write, that another
 * has gone on without it.
 */

/** One holder's time with the lease; every change of hands makes it greater. */
export type Fence = number;

/** A write under a lease that has changed hands since. Nothing of it was done. */
export class LeaseLost extends Error {
  constructor() {
    super("another process has the pool's sequencer lease");
    this.name = "LeaseLost";
  }
}

/** Each engine has its own: Redis has a clock for many, LMDB is one process. */
export interface SequencerLease {
  /** Whether there can be another proxy that takes it. */
  readonly isShared: boolean;
  /**
   * Takes the lease, or keeps it, for so long from now on. Undefined while another has it. `underNewFence`: with another
   * fence also for who keeps it, so that a write of its own that got no answer, and may still be on its way, is refused.
   */
  take(holder: string, forMs: number, underNewFence?: boolean): Promise<Fence | undefined>;
  /** So that the next one need not wait. */
  giveBack(holder: string): Promise<void>;
  /** What a holder last reported of itself; empty when none has. */
  report(): Promise<string>;
}

/** Its table, the field of the fence, and that of what its holder says of itself. */
export const LEASE = "sequencer-lease";
export const FENCE = "fence";
export const REPORT = "report";
