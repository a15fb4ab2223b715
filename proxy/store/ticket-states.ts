/** What every store of tickets has to tell apart. */
import { createHash } from "node:crypto";
import type { TicketOwner, TicketStatus } from "./tickets.ts";

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

/** A user as part of a key: of fixed length whatever the `sub` is, and empty for tickets of an API key. */
export function userKey(sub: string | undefined): string {
  return sub === undefined ? "" : createHash("sha256").update(sub, "utf8").digest("base64url");
}
