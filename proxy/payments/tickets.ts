/**
 * Tickets as their owners see them: acceptance, lookup, waiting, and news of every change. Other services
 * reach the store of tickets only through here.
 */
import { v7 as uuid } from "uuid";
import type { Ticket } from "../../shared/api/transactions.ts";
import { asBytes32, type Field } from "../../shared/protocol/brands.ts";
import { toHex, word } from "../../shared/protocol/bytes.ts";
import type { Kind, Statement } from "../../shared/protocol/statements.ts";
import { ApiError } from "../http/errors.ts";
import type { Owner } from "../http/state.ts";
import type { ChainDataStore } from "../store/chain-data.ts";
import type { Outcome, TicketRecord, TicketStore, TicketTransaction } from "../store/tickets.ts";
import { isInVain, isOver, isSameOwner } from "../store/ticket-states.ts";

export interface Tickets {
  /**
   * Durable, in its place in the order, notes reserved. Throws NULLIFIER_PENDING or QUEUE_FULL, and what
   * `prepare` (checks, attestation) throws. The owner's earlier ticket of this statement is the answer
   * instead, unless it is over in vain, also when it came while `prepare` was running: twenty copies of a
   * request sent at once are one ticket and twenty equal answers, and a retry never learns "pending" of its
   * own payment. `requestId` goes with the ticket into the log.
   *
   * A statement that the chain has executed and that has no ticket (it was accepted after the copy from which the
   * store was restored, or somebody else carried it) gets one that is executed: `prepare` is told so, and looks at
   * nothing that its execution has changed. The first who asks has it, since a sent statement is nobody's secret;
   * all that it says stands on the chain.
   */
  accept(
    owner: Owner,
    statement: Statement,
    prepare: (isExecuted: boolean) => Promise<TicketTransaction>,
    requestId?: string,
  ): Promise<TicketRecord>;
  /** By its id or its statement. Throws TICKET_UNKNOWN, also for a ticket of somebody else. */
  find(owner: Owner, idOrStatement: string): Promise<TicketRecord>;
  isReserved(nullifier: Field): Promise<boolean>;
  /** Resolves when the ticket is executed or over, or with its state when the time is up or `close` is called. */
  settled(id: string, withinMs: number): Promise<TicketRecord>;
  /** Open tickets that a principal may see, in order of acceptance. */
  openOf(owner: Owner): Promise<TicketRecord[]>;
  view(ticket: TicketRecord): Promise<Ticket>;
  /** Whoever changed it; on a store that several proxies share also another proxy. */
  onChange(listener: (ticket: TicketRecord) => void): () => void;
  /** Ends every wait, so that a stop does not take as long as a caller was ready to wait. */
  close(): void;
}

export interface TicketsOptions {
  /** Tickets that are neither executed nor over; beyond it QUEUE_FULL. */
  readonly maxWaiting: number;
  /** Number of the last indexed block. */
  readonly tipNumber: () => number | undefined;
  /** As far as the index has read. */
  readonly execution: ChainDataStore["execution"];
  /** What holds every waiting ticket of a kind and the operator can mend. */
  readonly blockedBy: (kind: Kind) => string | undefined;
  /** Told of each that is accepted here. */
  readonly onAccepted?: (ticket: TicketRecord) => void;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

export function maySee(owner: Owner, ticket: TicketRecord): boolean {
  if (ticket.owner.developerId !== owner.developerId) return false;
  return owner.sub === undefined || ticket.owner.sub === owner.sub;
}

export function createTickets(store: TicketStore, options: TicketsOptions): Tickets {
  const waiting = new Set<() => void>();
  let isClosed = false;

  const pending = (): ApiError =>
    new ApiError("NULLIFIER_PENDING", "a transaction under way uses a note of this one, or is this one");

  type Place = TicketRecord | "free" | "final-of-another";
  /** What this statement has: a ticket of `owner` that is not over in vain, or none. Throws NULLIFIER_PENDING when it is another's. */
  async function placeOf(owner: Owner, { hash }: Statement): Promise<Place> {
    const ticket = await store.byStatement(hash);
    if (ticket === undefined || isInVain(ticket.status)) return "free";
    if (isSameOwner(owner, ticket.owner)) return ticket;
    if (ticket.status.state === "finalized") return "final-of-another";
    throw pending();
  }

  async function keep(
    owner: Owner,
    statement: Statement,
    transaction: TicketTransaction,
    outcome: Outcome | undefined,
    requestId: string | undefined,
  ): Promise<TicketRecord> {
    const accepted = await store.accept(
      {
        id: uuid(),
        owner: { developerId: owner.developerId, sub: owner.sub },
        ...(requestId === undefined ? {} : { requestId }),
        statement: statement.hash,
        nullifiers: statement.facts.nullifiers,
        transaction,
        ...(outcome === undefined ? {} : { outcome }),
        createdAt: options.now(),
      },
      options.maxWaiting,
    );
    switch (accepted.kind) {
      case "accepted":
        options.onAccepted?.(accepted.ticket);
        return accepted.ticket;
      case "same":
        return accepted.ticket;
      case "reserved":
        throw pending();
      case "full":
        throw new ApiError("QUEUE_FULL", "too many transactions wait to be sent", { retryAfterSecs: 15 });
    }
  }

  return {
    async accept(owner, statement, prepare, requestId) {
      for (let wasExecuted = false; ;) {
        const place = await placeOf(owner, statement);
        if (typeof place !== "string") return place;
        // Another's, and final: the chain's own record refuses it, with the better name.
        const outcome = place === "free" ? options.execution(statement.hash) : undefined;
        try {
          const transaction = await prepare(outcome !== undefined);
          return await keep(owner, statement, transaction, outcome, requestId);
        } catch (error) {
          const now = await placeOf(owner, statement).catch(() => undefined);
          if (now !== undefined && typeof now !== "string") return now;
          // Executed while it was looked at: what refused it may have been its own execution.
          const isExecuted = now === "free" && options.execution(statement.hash) !== undefined;
          if (wasExecuted || outcome !== undefined || !isExecuted) throw error;
          wasExecuted = true;
        }
      }
    },

    async find(owner, idOrStatement) {
      const statement = asBytes32(idOrStatement);
      const ticket = await (statement === undefined
        ? store.get(idOrStatement)
        : store.byStatement(statement));
      if (ticket === undefined || !maySee(owner, ticket)) {
        throw new ApiError("TICKET_UNKNOWN", "no ticket of yours has this id or statement");
      }
      return ticket;
    },

    isReserved: async (nullifier) => (await store.reservedBy(nullifier)) !== undefined,

    async settled(id, withinMs) {
      const isSettled = (ticket: TicketRecord): boolean =>
        ticket.status.state === "confirmed" || isOver(ticket.status);
      return new Promise<TicketRecord>((resolve, reject) => {
        const finish = (): void => {
          clearTimeout(timer);
          waiting.delete(finish);
          stop();
          store
            .get(id)
            .then(
              (ticket) => (ticket === undefined ? reject(new RangeError("no such ticket")) : resolve(ticket)),
              reject,
            );
        };
        const timer = setTimeout(finish, isClosed ? 0 : withinMs);
        waiting.add(finish);
        // Listening begins before the first look, so a change in between is not missed.
        const stop = store.follow((ticket) => {
          if (ticket.id === id && isSettled(ticket)) finish();
        });
        store.get(id).then(
          (ticket) => {
            if (ticket === undefined || isSettled(ticket)) finish();
          },
          (error: unknown) => {
            clearTimeout(timer);
            waiting.delete(finish);
            stop();
            reject(error instanceof Error ? error : new Error("the store did not answer", { cause: error }));
          },
        );
      });
    },

    openOf: (owner) => store.openOf(owner.developerId, owner.sub),

    async view(ticket) {
      const { status, transaction } = ticket;
      const outcome = "outcome" in status ? status.outcome : undefined;
      const error = "error" in status ? status.error : undefined;
      const tip = options.tipNumber();
      const blockedBy =
        status.state === "queued" || status.state === "submitted"
          ? options.blockedBy(transaction.kind)
          : undefined;
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

    onChange: (listener) => store.follow(listener),
    close() {
      isClosed = true;
      for (const finish of waiting) finish();
    },
  };
}
