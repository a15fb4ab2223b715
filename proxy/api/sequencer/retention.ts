/**
 * Removes what is past its time: tickets that are over, and sums of usage. Only the holder of the sequencer's lease does,
 * a little at a time, each step whole or absent; what is left over is found again by the next one, so it may be stopped
 * or killed anywhere. A reservation of a note is never touched: a ticket that is over has none.
 */
import { setTimeout as delay } from "node:timers/promises";
import type { Logger } from "../../base/logging.ts";
import { KEEP_MS } from "../../base/store/idempotency.ts";
import { LeaseLost, type Fence } from "../../base/store/lease.ts";
import type { TicketStore } from "../../base/store/ticket-store.ts";
import { DAY_MS, dayOf, type UsageStore } from "../../base/store/usage.ts";

/**
 * However short tickets are to be kept: until the answer that names one has left the idempotency records, and no
 * reorganisation is to be expected any more that would open it again.
 */
export const LEAST_MS = KEEP_MS + 3_600_000;
const LOOK_MS = 10_000;
/** Tickets of one step, some milliseconds of work, and steps of one look: more a second than an instance can accept. */
const MOST = 50;
const STEPS = 40;
const PAUSE_MS = 20;

export interface RetentionParts {
  readonly tickets: Pick<TicketStore, "underLease">;
  readonly usage: Pick<UsageStore, "removeOne">;
  /** Undefined while another proxy has the lease. */
  readonly fence: () => Fence | undefined;
  readonly endedTicketsDays: number;
  readonly usageDays: number;
  readonly logger: Pick<Logger, "info" | "warn">;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

export function createRetention(parts: RetentionParts) {
  const { tickets, usage, endedTicketsDays, usageDays, logger, now } = parts;
  const keepMs = Math.max(endedTicketsDays * DAY_MS, LEAST_MS);
  let timer: NodeJS.Timeout | undefined;
  let running: Promise<void> | undefined;
  let isStopped = false;
  let isFailing = false;

  /** Undefined when there is nothing to do any more, or not by us. */
  const turn = async (): Promise<Fence | undefined> => {
    await delay(PAUSE_MS);
    return isStopped ? undefined : parts.fence();
  };

  async function removeTickets(): Promise<number> {
    let removed = 0;
    for (let [step, skip] = [0, 0]; step < STEPS; step++) {
      const fence = await turn();
      if (fence === undefined) break;
      const { gone, stay } = await tickets.underLease(fence).removeEnded(now() - keepMs, MOST, skip);
      if (gone + stay === 0) break;
      removed += gone;
      skip += stay;
    }
    return removed;
  }

  async function removeUsage(): Promise<number> {
    let removed = 0;
    for (let step = 0; step < STEPS; step++) {
      const fence = await turn();
      if (fence === undefined || !(await usage.removeOne(fence, dayOf(now()) - usageDays + 1))) break;
      removed++;
    }
    return removed;
  }

  async function look(): Promise<void> {
    try {
      const [gone, sums] = [await removeTickets(), await removeUsage()];
      if (gone + sums > 0)
        logger.info({ tickets: gone, days_of_usage: sums }, "what is past its time was removed");
      isFailing = false;
    } catch (error) {
      // Another proxy goes on with it.
      if (error instanceof LeaseLost) return;
      if (!isFailing)
        logger.warn({ err: error }, "what is past its time could not be removed; it is tried again");
      isFailing = true;
    }
  }

  /** Every step that is due now, up to a bound. */
  const run = (): Promise<void> => (running ??= look().finally(() => (running = undefined)));

  return {
    run,
    start(): void {
      timer = setInterval(() => void run(), LOOK_MS);
    },
    /** Ends with the step that is under way. */
    async stop(): Promise<void> {
      isStopped = true;
      clearInterval(timer);
      await running;
    },
  };
}
