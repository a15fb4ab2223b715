/** What every store of tickets has to tell apart. */
import type { TicketDraft, TicketOwner, TicketStatus } from "./tickets.ts";

/** States of a ticket that is not over. */
export type OpenState = Exclude<TicketStatus["state"], "finalized" | "failed" | "expired">;

/** Undefined when it is over. */
export function openStateOf({ state }: TicketStatus): OpenState | undefined {
  return state === "finalized" || state === "failed" || state === "expired" ? undefined : state;
}

export function isExecuted({ state }: TicketStatus): boolean {
  return state === "confirmed" || state === "finalized";
}

/** With which a ticket begins. */
export function firstStatus({ outcome }: Pick<TicketDraft, "outcome">): TicketStatus {
  return outcome === undefined ? { state: "queued" } : { state: "confirmed", outcome };
}

/** Counts against the longest queue that is allowed. */
export function isUnderWay({ state }: TicketStatus): boolean {
  return state === "queued" || state === "submitted";
}

/** Ended without effect: its notes are free, and its statement may come again. */
export function isInVain({ state }: TicketStatus): boolean {
  return state === "failed" || state === "expired";
}

/** Nothing will change any more. */
export function isOver(status: TicketStatus): boolean {
  return status.state === "finalized" || isInVain(status);
}

export function isSameOwner(one: TicketOwner, other: TicketOwner): boolean {
  return one.developerId === other.developerId && one.sub === other.sub;
}
