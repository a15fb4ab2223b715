/**
 * Takes a lease when it is free and keeps it while this process runs. What is said here may be out of
 * date a moment later; the fence at each write is what keeps two holders apart.
 */
import { randomUUID } from "node:crypto";
import type { Fence, Lease } from "./store/lease.ts";

export interface LeaseKeeperOptions {
  /** How long the lease outlives a holder that has died or is cut off. */
  readonly leaseMs: number;
  readonly onChange: (fence: Fence | undefined) => void;
  readonly onFault: (error: unknown) => void;
}

/** Tries in one lease, so that one that is lost does not lose the lease. */
const TRIES = 3;

export type LeaseKeeper = ReturnType<typeof createLeaseKeeper>;

export function createLeaseKeeper(
  lease: Pick<Lease, "take" | "giveBack">,
  { leaseMs, onChange, onFault }: LeaseKeeperOptions,
) {
  const holder = randomUUID();
  let fence: Fence | undefined;
  /** By the monotonic clock, which goes on while a process is stopped. */
  let until = 0;
  let announced: Fence | undefined;
  let timer: NodeJS.Timeout | undefined;
  let trying: Promise<void> | undefined;
  let isStopped = false;
  let isInvalid = false;
  let isSteppingDown = false;
  let waitMs = leaseMs / TRIES;

  const current = (): Fence | undefined => (!isInvalid && performance.now() < until ? fence : undefined);

  async function attempt(): Promise<void> {
    if (isSteppingDown) {
      isSteppingDown = false;
      waitMs = leaseMs;
      until = 0;
      await lease.giveBack(holder).catch(onFault);
      announce();
      return;
    }
    waitMs = leaseMs / TRIES;
    const askedAt = performance.now();
    const wantsNewFence = isInvalid;
    try {
      fence = await lease.take(holder, leaseMs, wantsNewFence);
      until = askedAt + leaseMs;
      if (wantsNewFence) isInvalid = false;
    } catch (error) {
      // Not known whether it was kept: it counts until its time is over.
      onFault(error);
    }
    announce();
  }

  function announce(): void {
    const has = current();
    if (has === announced) return;
    announced = has;
    onChange(has);
  }

  function keepOn(): void {
    trying = attempt().finally(() => {
      trying = undefined;
      if (!isStopped) timer = setTimeout(keepOn, waitMs);
    });
  }

  /** At once, unless it is being asked for: then in its turn. */
  function keepSoon(): void {
    if (trying !== undefined || isStopped) return;
    clearTimeout(timer);
    keepOn();
  }

  return {
    start: keepOn,
    /** The fence while this process has the lease, by its own clock. */
    current,
    /**
     * A write under the lease got no answer. It may still arrive, from a network that was slow or a system that goes on
     * sending it, and would then write over what was written since: there is no fence until there is a new one.
     */
    invalidate(): void {
      if (isInvalid) return;
      isInvalid = true;
      keepSoon();
    },
    /** Gives the lease back, and asks for it again when the others have had time to. */
    stepDown(): void {
      isSteppingDown = true;
      keepSoon();
    },
    /** Gives the lease back. Call it when nothing is written any more. */
    async stop(): Promise<void> {
      isStopped = true;
      clearTimeout(timer);
      await trying;
      until = 0;
      await lease.giveBack(holder).catch(onFault);
    },
  };
}
