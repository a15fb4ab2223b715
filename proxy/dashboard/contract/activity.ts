/** What happened: usage by day, tickets open and ended, the audit log. */
import * as z from "../../../shared/api/zod.ts";
import { feeOperation } from "../../../shared/api/credentials.ts";
import { ticketState } from "../../../shared/api/transactions.ts";
import { amount, ticketId, timestamp } from "../../../shared/api/values.ts";
import { limitStanding } from "./developer.ts";
import { maybeTime, nextCursor, pageQuery } from "./values.ts";

const day = z.iso.date();
/** Days in UTC, both ends included; at most 366. Default: the last 30. */
export const usageQuery = z.strictObject({ from: day.optional(), to: day.optional() });
export const usageDay = z.object({
  /** `2026-11-25`, UTC. */
  day,
  /** By operation: the name of the API's endpoint, such as `relay`; `none` where the path was unknown. */
  requests: z.array(z.object({ operation: z.string(), count: z.int() })),
  refusals: z.array(z.object({ operation: z.string(), code: z.string(), count: z.int() })),
  /** Accepted on this day and over by now. */
  payments: z.array(
    z.object({
      operation: feeOperation,
      state: z.enum(["finalized", "failed", "expired"]),
      count: z.int(),
    }),
  ),
  /** Finalized ones; a transfer's amount is known to nobody here. */
  amounts: z.array(z.object({ operation: feeOperation, asset: z.string(), amount })),
});
export type UsageDayView = z.infer<typeof usageDay>;
/** Every day of the range is there, also where nothing happened. */
export const usage = z.object({ days: z.array(usageDay), limits: z.array(limitStanding) });
export type UsageView = z.infer<typeof usage>;

/** `is_open`: those under way, newest first; otherwise ended ones, last ended first, by the other filters. */
export const ticketQuery = pageQuery.extend({
  is_open: z.enum(["yes", "no"]).default("no"),
  /** Of this user. */
  sub: z.string().min(1).max(512).optional(),
  /** Ended in this state; with `is_open` one of queued, submitted, confirmed. */
  state: ticketState.optional(),
  /** Ended in this range (RFC 3339), `before` not included. */
  from: timestamp.optional(),
  before: timestamp.optional(),
});
export const ticketRow = z.object({
  ticket_id: ticketId,
  kind: z.string(),
  operation: feeOperation,
  state: ticketState,
  /** Null: accepted with an API key. */
  sub: z.string().nullable(),
  /** Public amount and asset; null for a transfer, which hides both. */
  amount: amount.nullable(),
  asset: z.string().nullable(),
  created_at: timestamp,
  updated_at: timestamp,
  tx_hash: z.string().nullable(),
  error_code: z.string().nullable(),
});
export type TicketRow = z.infer<typeof ticketRow>;
export const ticketPage = z.object({ tickets: z.array(ticketRow), next: nextCursor });
export type TicketPage = z.infer<typeof ticketPage>;

export const ticketLife = ticketRow.extend({
  statement: z.string(),
  deadline: timestamp,
  block_number: z.int().nullable(),
  leaf_index: z.array(z.int()),
  nullifiers: z.array(z.string()),
  /** Number of the request that made it, as the proxy's log has it. */
  request_id: z.string().nullable(),
  error: z.object({ code: z.string(), detail: z.string(), retryable: z.boolean() }).nullable(),
  /** Where it is in its life, in order; `at` is null where no time was kept. */
  steps: z.array(
    z.object({
      state: ticketState,
      is_reached: z.boolean(),
      at: maybeTime,
    }),
  ),
  /** The transaction's page of the operator's explorer; null without a transaction or a setting. */
  explorer_url: z.string().nullable(),
});
export type TicketLife = z.infer<typeof ticketLife>;

export const auditEntry = z.object({
  id: z.string(),
  at: timestamp,
  by: z.object({
    kind: z.string(),
    id: z.string(),
    /** Of an account of the dashboard that is still known. */ name: z.string().nullable(),
  }),
  /** Thing and act: `key.revoke`, `fee.set`, `developer.limits`. */
  verb: z.string(),
  target: z.object({ kind: z.string(), id: z.string() }),
  developer_id: z.string().nullable(),
  /** Facts that changed; null where there was, or is, no record. */
  before: z.record(z.string(), z.json()).nullable(),
  after: z.record(z.string(), z.json()).nullable(),
});
export type AuditEntryView = z.infer<typeof auditEntry>;
export const auditPage = z.object({ entries: z.array(auditEntry), next: nextCursor });
export type AuditPageView = z.infer<typeof auditPage>;
