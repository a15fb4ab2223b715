/** How a ticket is answered to the request that made it: 202 at once, or after `Prefer: wait=N` 200 if it was executed in time. */
import type { Ticket } from "../../shared/api/transactions.ts";
import type { TicketRecord } from "../store/tickets.ts";
import type { Tickets } from "./tickets.ts";

const MAX_WAIT_SECS = 30;

export interface TicketAnswer {
  readonly status: 200 | 202;
  readonly headers: Record<string, string>;
  readonly ticket: Ticket;
}

/** Seconds of `wait` in a Prefer header (RFC 7240, section 4.3), at most 30; undefined when it asks for none. A preference that makes no sense is ignored, as that RFC says. */
export function preferredWait(prefer: string): number | undefined {
  for (const preference of prefer.split(",")) {
    const match = /^\s*wait\s*=\s*"?([0-9]{1,9})"?\s*(;.*)?$/i.exec(preference);
    if (match?.[1] !== undefined) return Math.min(Number(match[1]), MAX_WAIT_SECS);
  }
  return undefined;
}

export async function answerTicket(
  tickets: Tickets,
  accepted: TicketRecord,
  prefer: string,
): Promise<TicketAnswer> {
  const wait = preferredWait(prefer);
  const ticket =
    wait === undefined || wait === 0 ? accepted : await tickets.settled(accepted.id, wait * 1000);
  const { state } = ticket.status;
  const isExecuted = wait !== undefined && (state === "confirmed" || state === "finalized");
  return {
    status: isExecuted ? 200 : 202,
    headers: {
      Location: `/sequence/ticket/${ticket.id}`,
      ...(wait === undefined ? {} : { "Preference-Applied": `wait=${String(wait)}` }),
    },
    ticket: await tickets.view(ticket),
  };
}
