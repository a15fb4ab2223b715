/**
 * Who alone may do a work of an instance: submit for the pool, or relay for its bridges. A holder that was paused past its
 * time learns from the fence, at its next write, that another has gone on without it.
 */
import type { Check, Engine, Write } from "./engine.ts";

/** One holder's time with the lease; every change of hands makes it greater. */
export type Fence = number;

/** A write under a lease that has changed hands since. Nothing of it was done. */
export class LeaseLost extends Error {
  constructor() {
    super("another process has the lease");
    this.name = "LeaseLost";
  }
}

/** Each engine has its own: Redis has a clock for many, in LMDB there is one process for each work. */
export interface Lease {
  /** Whether there can be another process that takes it. */
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

/** Of who submits, and of who relays: a table each. */
export const LEASE = "sequencer-lease";
export const RELAY_LEASE = "relay:lease";
export type LeaseName = typeof LEASE | typeof RELAY_LEASE;
/** The field of the fence, and that of what its holder says of itself. */
export const FENCE = "fence";
export const REPORT = "report";

/** `checks` come after the lease's. Whether they hold; nothing was written when not. Throws LeaseLost. */
export async function writeUnder(
  { engine, lease, fence }: { readonly engine: Engine; readonly lease: LeaseName; readonly fence: Fence },
  writes: readonly Write[],
  checks: readonly Check[] = [],
): Promise<boolean> {
  const fenced: Check[] = [["is", lease, FENCE, String(fence)], ...checks];
  const committed = await engine.commit({ checks: fenced, writes, thoughFull: true });
  if (!committed.done && committed.failed === 0) throw new LeaseLost();
  return committed.done;
}
