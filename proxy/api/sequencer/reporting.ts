/**
 * What the operator sees of a ticket's way: how long each step took, and one line in the log at either end, so
 * that a request's id leads to the transaction that carried it. Acceptance is logged by the proxy that accepted, every
 * later step by the one that has the lease, so the figures of several proxies may be added up. Decides nothing.
 */
import type { Logger } from "../../base/logging.ts";
import type { Metrics } from "../../base/observe/metrics.ts";
import { isExecuted } from "../../base/store/ticket-states.ts";
import type { TicketRecord } from "../../base/store/tickets.ts";
import type { StepListener } from "./queue.ts";

/** What a line of the log says of a ticket: whose request it was can be found by its id, if it was accepted with one. */
export function traceOf({ id, requestId }: Pick<TicketRecord, "id" | "requestId">) {
  return { ticket: id, ...(requestId === undefined ? {} : { request_id: requestId }) };
}

export function logAccepted(
  metrics: Pick<Metrics, "accepted">,
  logger: Logger,
): (ticket: TicketRecord) => void {
  return (ticket) => {
    const { kind } = ticket.transaction;
    metrics.accepted(kind);
    logger.info({ ...traceOf(ticket), kind }, "a ticket is accepted");
  };
}

export function logSteps(
  metrics: Pick<Metrics, "left" | "confirmed" | "ended">,
  logger: Logger,
): StepListener {
  return (ticket, from, status, at) => {
    metrics.left(from, secsBetween(ticket.since, at));
    // Once, also when a reorganisation takes it back.
    if (isExecuted(status) && !ticket.wasExecuted) metrics.confirmed(secsBetween(ticket.createdAt, at));
    switch (status.state) {
      case "queued":
      case "submitted":
      case "confirmed":
        return;
      case "finalized": {
        const { txHash: tx, block } = status.outcome;
        metrics.ended(status.state, undefined);
        logger.info({ ...traceOf(ticket), state: status.state, tx, block }, "a ticket has ended");
        return;
      }
      case "failed":
      case "expired": {
        const { code } = status.error;
        metrics.ended(status.state, code);
        logger.info({ ...traceOf(ticket), state: status.state, code }, "a ticket has ended");
      }
    }
  };
}

/** Never below zero: a ticket may come from a proxy whose clock is ahead. */
const secsBetween = (from: number, to: number): number => Math.max(0, (to - from) / 1000);
