/** Waiting for a transaction: by the stream, and by asking where the stream may have said nothing. */
import type { Ticket, TicketState } from "../../api/transactions.ts";
import type { Client } from "./client.ts";
import { ApiProblem, ClientError, hasCode, isNo, isNotTaken } from "../base/errors.ts";
import type { Feed } from "./feed.ts";
import type { Delivery } from "./http.ts";

/** The transaction ended `failed` or `expired`; its notes are free again, under the rules of ../state/exposure.ts. */
export class TicketFailed extends ClientError {
  readonly ticket: Ticket;
  constructor(ticket: Ticket) {
    super("TICKET_FAILED", ticket.error === null ? ticket.state : `${ticket.state}: ${ticket.error.code}`);
    this.ticket = ticket;
  }
}

/** The stream may go quiet without closing; after this long we ask. */
const POLL_MS = 15_000;
const RANK: Readonly<Record<TicketState, number>> = {
  queued: 0,
  submitted: 1,
  confirmed: 2,
  finalized: 3,
  failed: -1,
  expired: -1,
};

/** Resolves in `until` or a later state; throws TicketFailed when it can never get there. `onTicket` is called at first and with each change. */
export async function waitForTicket(
  client: Client,
  feed: Feed,
  ticketId: string,
  until: TicketState,
  signal: AbortSignal,
  onTicket: (ticket: Ticket) => void,
): Promise<Ticket> {
  let failure: { readonly error: unknown } | undefined;
  const release = feed.hold((error) => (failure = { error }));
  if (!feed.tickets.has(ticketId)) feed.tickets.set(ticketId, undefined);
  try {
    await feed.opened({ signal });
    // After `ready` the stream sends every change; a ticket that ended before it is seen by asking once.
    let ticket = feed.tickets.get(ticketId) ?? (await client.ticket(ticketId, { signal }));
    for (;;) {
      onTicket(ticket);
      if (reached(ticket, until)) return ticket;
      if (RANK[ticket.state] < 0) throw new TicketFailed(ticket);
      if (failure !== undefined) throw failure.error;
      ticket = await changed(client, feed, ticket, signal);
    }
  } finally {
    feed.tickets.delete(ticketId);
    release();
  }
}

async function changed(client: Client, feed: Feed, ticket: Ticket, signal: AbortSignal): Promise<Ticket> {
  const differs = (): boolean => {
    const seen = feed.tickets.get(ticket.ticket_id);
    return seen !== undefined && (seen.state !== ticket.state || seen.updated_at !== ticket.updated_at);
  };
  try {
    await feed.until(differs, { signal, timeoutMs: POLL_MS });
    return feed.tickets.get(ticket.ticket_id) ?? ticket;
  } catch (error) {
    if (!hasCode(error, "TIMED_OUT")) throw error;
    return client.ticket(ticket.ticket_id, { signal });
  }
}

function reached(ticket: Ticket, until: TicketState): boolean {
  return RANK[until] < 0 ? ticket.state === until : RANK[ticket.state] >= RANK[until];
}

/**
 * By its own word the service has not taken the payment. That an enclave is away, or that it is busy, answers one try: it may
 * have taken another, which got no answer. An application's own `Client` does not say what became of its tries.
 */
export function isRefusal(error: unknown, { sent, isOpen }: Delivery): boolean {
  if (error instanceof ApiProblem)
    return isNo(error) || (isNotTaken(error) && sent === true && isOpen === false);
  return error instanceof ClientError && error.code !== "NETWORK" && error.code !== "UNEXPECTED_ANSWER";
}

/** What a caller gets when the payment may or may not have been taken. */
export function unknownOutcome(cause: unknown): unknown {
  const code = cause instanceof ApiProblem || cause instanceof ClientError ? cause.code : undefined;
  return code === undefined ? cause : new ClientError("OUTCOME_UNKNOWN", code, { cause });
}
