/** Tickets as their owners see them: lookup, waiting, and news of every change. */
import type { Ticket } from "../../../shared/api/transactions.ts";
import { asBytes32 } from "../../../shared/protocol/host/text.ts";
import { toHex, word } from "../../../shared/protocol/bytes.ts";
import type { Kind } from "../../../shared/protocol/statements.ts";
import { ApiError } from "../../base/http/errors.ts";
import type { Owner } from "../../base/http/state.ts";
import type { TicketStore } from "../../base/store/ticket-store.ts";
import type { TicketRecord } from "../../base/store/tickets.ts";
import { isUnderWay } from "../../base/store/ticket-states.ts";

export interface TicketsOptions {
  /** Number of the last indexed block. */
  readonly tipNumber: () => number | undefined;
  /** What holds every waiting ticket of a kind and the operator can fix. */
  readonly blockedBy: (kind: Kind) => string | undefined;
}

export type Tickets = ReturnType<typeof createTickets>;

export function maySee(owner: Owner, ticket: Pick<TicketRecord, "owner">): boolean {
  if (ticket.owner.developerId !== owner.developerId) return false;
  return owner.sub === undefined || ticket.owner.sub === owner.sub;
}

export function createTickets(store: TicketStore, options: TicketsOptions) {
  const waiting = new Set<() => void>();
  let isClosed = false;

  return {
    /** By its id or its statement. Throws TICKET_UNKNOWN, also for a ticket of somebody else. */
    async find(owner: Owner, idOrStatement: string): Promise<TicketRecord> {
      const statement = asBytes32(idOrStatement);
      const ticket = await (statement === undefined
        ? store.get(idOrStatement)
        : store.byStatement(statement));
      if (ticket === undefined || !maySee(owner, ticket)) {
        throw new ApiError("TICKET_UNKNOWN", "no ticket of yours has this id or statement");
      }
      return ticket;
    },

    /** Resolves when the ticket is executed or over, or with its state when the time is up or `close` is called. */
    async settled(id: string, withinMs: number): Promise<TicketRecord> {
      const isSettled = (ticket: TicketRecord | undefined): boolean =>
        ticket === undefined || !isUnderWay(ticket.status);
      let finish = (): void => undefined;
      const enough = new Promise<void>((resolve) => (finish = resolve));
      const timer = setTimeout(finish, isClosed ? 0 : withinMs);
      waiting.add(finish);
      // Listening begins before the first look, so a change in between is not missed.
      const stop = store.follow((ticket) => {
        if (ticket.id === id && isSettled(ticket)) finish();
      });
      try {
        if (!isSettled(await store.get(id))) await enough;
      } finally {
        clearTimeout(timer);
        waiting.delete(finish);
        stop();
      }
      const ticket = await store.get(id);
      if (ticket === undefined) throw new RangeError("no such ticket");
      return ticket;
    },

    /** Open tickets that a principal may see, in order of acceptance. */
    openOf: (owner: Owner) => store.openOf(owner.developerId, owner.sub),

    async view(ticket: TicketRecord): Promise<Ticket> {
      const { status, transaction } = ticket;
      const outcome = "outcome" in status ? status.outcome : undefined;
      const error = "error" in status ? status.error : undefined;
      const tip = options.tipNumber();
      const blockedBy = isUnderWay(status) ? options.blockedBy(transaction.kind) : undefined;
      return {
        ticket_id: ticket.id,
        kind: transaction.kind,
        state: status.state,
        statement: ticket.statement,
        ...(status.state === "queued" ? { position: await store.queuedBefore(ticket.sequence) } : {}),
        created_at: new Date(ticket.createdAt).toISOString(),
        updated_at: new Date(ticket.updatedAt).toISOString(),
        tx_hash: outcome?.txHash ?? (status.state === "submitted" ? status.txHash : null),
        block_number: outcome?.block ?? null,
        confirmations: outcome === undefined || tip === undefined ? 0 : Math.max(0, tip - outcome.block + 1),
        leaf_index: [...(outcome?.leafIndexes ?? [])],
        nullifiers: ticket.nullifiers.map((nullifier) => toHex(word(nullifier))),
        ...(blockedBy === undefined ? {} : { blocked_by: blockedBy }),
        error: error ?? null,
      };
    },

    /** Whoever changed it; on a store that several proxies share also another proxy. */
    onChange: (listener: (ticket: TicketRecord) => void): (() => void) => store.follow(listener),

    /** Ends every wait, so that a stop does not take as long as a caller was ready to wait. */
    close(): void {
      isClosed = true;
      for (const finish of waiting) finish();
    },
  };
}
