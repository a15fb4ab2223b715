/**
 * Follows every ticket from its acceptance to its end, for the operator: how many stand where, how long each step took,
 * and one line in the log at either end, so that a request's id leads to the transaction that carried it. Decides
 * nothing; it keeps a few numbers for each ticket that is not at its end, and forgets it there.
 */
import type { Logger } from "../logging.ts";
import type { Metrics, OpenState } from "../observe/metrics.ts";
import type { TicketRecord } from "../store/tickets.ts";
import type { Tickets } from "./tickets.ts";

export interface TicketStepsParts {
  readonly tickets: Pick<Tickets, "open" | "onChange">;
  readonly metrics: Pick<Metrics, "accepted" | "left" | "confirmed" | "ended">;
  readonly logger: Logger;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

export interface TicketSteps {
  standing(): {
    readonly tickets: Readonly<Record<OpenState, number>>;
    /** Of those that are not executed. */
    readonly oldestWaitingSecs: number;
  };
}

interface Followed {
  state: OpenState;
  /** Milliseconds since 1970. After a restart the last change stands for it. */
  since: number;
  updatedAt: number;
  readonly createdAt: number;
  wasConfirmed: boolean;
}

/** What a line of the log says of a ticket: whose request it was can be found by its id. */
export interface Trace {
  readonly ticket: string;
  /** Absent for a ticket that was accepted before ids were kept. */
  readonly request_id?: string;
}

export function traceOf({ id, requestId }: Pick<TicketRecord, "id" | "requestId">): Trace {
  return { ticket: id, ...(requestId === undefined ? {} : { request_id: requestId }) };
}

/** Resolves when the tickets of earlier runs are known. */
export async function followTickets(parts: TicketStepsParts): Promise<TicketSteps> {
  const { tickets, metrics, logger, now } = parts;
  /** In order of acceptance. */
  const open = new Map<string, Followed>();

  function begin(ticket: TicketRecord, state: OpenState): void {
    const { id, createdAt, updatedAt } = ticket;
    open.set(id, { state, since: updatedAt, updatedAt, createdAt, wasConfirmed: state === "confirmed" });
  }

  function follow(ticket: TicketRecord): void {
    const { id, status, updatedAt, createdAt } = ticket;
    const followed = open.get(id);
    const { state } = status;
    if (followed === undefined) {
      // Never seen and new; anything else that is not known here has ended before.
      if (state !== "queued") return;
      begin(ticket, state);
      metrics.accepted(ticket.transaction.kind);
      logger.info({ ...traceOf(ticket), kind: ticket.transaction.kind }, "a ticket is accepted");
      return;
    }
    // The news of its acceptance may come behind that of its sending.
    if (state === followed.state || updatedAt < followed.updatedAt) return;
    metrics.left(followed.state, (updatedAt - followed.since) / 1000);
    const isExecuted = state === "confirmed" || state === "finalized";
    if (isExecuted && !followed.wasConfirmed) {
      metrics.confirmed((updatedAt - createdAt) / 1000);
      followed.wasConfirmed = true;
    }
    switch (state) {
      case "queued":
      case "submitted":
      case "confirmed":
        followed.state = state;
        followed.since = updatedAt;
        followed.updatedAt = updatedAt;
        return;
      case "finalized":
      case "failed":
      case "expired": {
        open.delete(id);
        const code = "error" in status ? status.error.code : undefined;
        metrics.ended(state, code);
        const outcome = "outcome" in status ? status.outcome : undefined;
        logger.info(
          {
            ...traceOf(ticket),
            state,
            ...(code === undefined ? {} : { code }),
            ...(outcome === undefined ? {} : { tx: outcome.txHash, block: outcome.block }),
          },
          "a ticket has ended",
        );
      }
    }
  }

  // First the earlier ones: nothing is accepted and nothing is sent before this has resolved.
  for (const ticket of await tickets.open()) {
    const { state } = ticket.status;
    if (state === "queued" || state === "submitted" || state === "confirmed") begin(ticket, state);
  }
  tickets.onChange(follow);

  return {
    standing() {
      const counts: Record<OpenState, number> = { queued: 0, submitted: 0, confirmed: 0 };
      let oldest: number | undefined;
      for (const { state, createdAt } of open.values()) {
        counts[state] += 1;
        if (state !== "confirmed") oldest = Math.min(oldest ?? createdAt, createdAt);
      }
      const oldestWaitingSecs = oldest === undefined ? 0 : Math.max(0, (now() - oldest) / 1000);
      return { tickets: counts, oldestWaitingSecs };
    },
  };
}
