/**
 * Whether this process is the one that submits. Keeps the lease while it runs and takes it when it is free. What is
 * said here may be out of date a moment later; the fence at each write is what keeps two holders apart.
 */
import { randomUUID } from "node:crypto";
import type { Fence, SubmissionLease } from "../store/tickets.ts";

export interface Leadership {
  start(): void;
  /** The fence while this process has the lease, by its own clock. */
  current(): Fence | undefined;
  /**
   * A write under the lease got no answer. It may still arrive, from a network that was slow or a system that goes on
   * sending it, and would then write over what was written since: there is no fence until there is a new one.
   */
  doubt(): void;
  /** Gives the lease back, and asks for it again when the others have had time to. */
  standAside(): void;
  /** Gives the lease back. Call it when nothing is written any more. */
  stop(): Promise<void>;
}

export interface LeadershipOptions {
  /** How long the lease outlives a holder that has died or is cut off. */
  readonly leaseMs?: number;
  readonly onChange: (fence: Fence | undefined) => void;
  readonly onFault: (error: unknown) => void;
}

const LEASE_MS = 5_000;
/** Tries in one lease, so that one that is lost does not lose the lease. */
const TRIES = 3;

export function createLeadership(
  lease: Pick<SubmissionLease, "take" | "giveBack">,
  { leaseMs = LEASE_MS, onChange, onFault }: LeadershipOptions,
): Leadership {
  const holder = randomUUID();
  let fence: Fence | undefined;
  /** By the monotonic clock, which goes on while a process is stopped. */
  let until = 0;
  let told: Fence | undefined;
  let timer: NodeJS.Timeout | undefined;
  let trying: Promise<void> | undefined;
  let isStopped = false;
  let isDoubtful = false;
  let isAside = false;
  let waitMs = leaseMs / TRIES;

  const current = (): Fence | undefined => (!isDoubtful && performance.now() < until ? fence : undefined);

  async function attempt(): Promise<void> {
    if (isAside) {
      isAside = false;
      waitMs = leaseMs;
      until = 0;
      await lease.giveBack(holder).catch(onFault);
      tell();
      return;
    }
    waitMs = leaseMs / TRIES;
    const askedAt = performance.now();
    const isAnew = isDoubtful;
    try {
      fence = await lease.take(holder, leaseMs, isAnew);
      until = askedAt + leaseMs;
      if (isAnew) isDoubtful = false;
    } catch (error) {
      // Not known whether it was kept: it counts until its time is over.
      onFault(error);
    }
    tell();
  }

  function tell(): void {
    const has = current();
    if (has === told) return;
    told = has;
    onChange(has);
  }

  function again(): void {
    trying = attempt().finally(() => {
      trying = undefined;
      if (!isStopped) timer = setTimeout(again, waitMs);
    });
  }

  /** At once, unless it is being asked for: then in its turn. */
  function soon(): void {
    if (trying !== undefined || isStopped) return;
    clearTimeout(timer);
    again();
  }

  return {
    start: again,
    current,
    doubt() {
      if (isDoubtful) return;
      isDoubtful = true;
      soon();
    },
    standAside() {
      isAside = true;
      soon();
    },
    async stop() {
      isStopped = true;
      clearTimeout(timer);
      await trying;
      until = 0;
      await lease.giveBack(holder).catch(onFault);
    },
  };
}
