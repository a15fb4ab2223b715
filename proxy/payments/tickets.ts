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
import type { TicketStore } from "../store/ticket-store.ts";
import type { Outcome, TicketRecord, TicketTransaction } from "../store/tickets.ts";
import { isInVain, isOver, isSameOwner } from "../store/ticket-states.ts";

/** What a statement has when it is posted: a ticket, or an execution, or neither. */
export interface Known {
  /** The owner's, unless it ended in vain. */
  readonly ticket?: TicketRecord;
  /**
   * The chain has executed the statement and it has no ticket: it was accepted after the copy from which the store was
   * restored, or somebody else carried it. The first who asks gets an executed ticket, since a sent statement is
   * nobody's secret and all that the ticket says stands on the chain.
   */
  readonly outcome?: Outcome;
}

export interface Tickets {
  /** What a statement has before anything is asked of it. Throws NULLIFIER_PENDING when its ticket is another's. */
  lookUp(owner: Owner, statement: Statement): Promise<Known>;
  /**
   * What a statement has after a step refused it, where that is more than it had `before`: twenty copies of a request
   * sent at once are one ticket and twenty equal answers, and a retry never learns "pending" of its own payment.
   * Throws the refusal where nothing has changed, or what has changed does not explain it.
   */
  lookUpAfter(refusal: unknown, before: Known, owner: Owner, statement: Statement): Promise<Known>;
  /**
   * Durable, in its place in the order, notes reserved, in one atomic write; the owner's earlier ticket where a copy of
   * the request was faster. With an outcome the ticket begins as executed. Throws NULLIFIER_PENDING or QUEUE_FULL.
   */
  enqueue(
    owner: Owner,
    statement: Statement,
    transaction: TicketTransaction,
    outcome: Outcome | undefined,
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
  /** What holds every waiting ticket of a kind and the operator can fix. */
  readonly blockedBy: (kind: Kind) => string | undefined;
  /** Called with each that is accepted here. */
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

  async function lookUp(owner: Owner, { hash }: Statement): Promise<Known> {
    const ticket = await store.byStatement(hash);
    const isFree = ticket === undefined || isInVain(ticket.status);
    if (!isFree && isSameOwner(owner, ticket.owner)) return { ticket };
    if (isFree) {
      const outcome = options.execution(hash);
      return outcome === undefined ? {} : { outcome };
    }
    // Another's, and final: the chain's own record refuses it, with the better name.
    if (ticket.status.state === "finalized") return {};
    throw pending();
  }

  return {
    lookUp,

    async lookUpAfter(refusal, before, owner, statement) {
      const after = await lookUp(owner, statement).catch(() => before);
      const isMore =
        after.ticket !== undefined || (after.outcome !== undefined && before.outcome === undefined);
      if (!isMore) throw refusal;
      return after;
    },

    async enqueue(owner, statement, transaction, outcome, requestId) {
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
