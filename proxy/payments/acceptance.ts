/**
 * One statement, one ticket of its owner, however often it is posted: looked up first, then, where there is none, the
 * steps that a new one takes, and its place in the order of acceptance.
 */
import { v7 as uuid } from "uuid";
import type { SignedBy } from "../../shared/protocol/attestation.ts";
import { encodeProof } from "../../shared/protocol/host/proofs.ts";
import type { Statement } from "../../shared/protocol/statements.ts";
import { ApiError } from "../http/errors.ts";
import type { Owner } from "../http/state.ts";
import type { ChainDataStore } from "../store/chain-data.ts";
import type { TicketStore } from "../store/ticket-store.ts";
import type { Outcome, TicketRecord } from "../store/tickets.ts";
import { isInVain, isSameOwner } from "../store/ticket-states.ts";
import type { Transaction } from "./transaction.ts";

/** What a statement has when it is posted: a ticket, or an execution, or neither. */
interface Known {
  /** The owner's, unless it ended in vain. */
  readonly ticket?: TicketRecord;
  /**
   * The chain has executed the statement and it has no ticket: it was accepted after the copy from which the store was
   * restored, or somebody else carried it. The first who asks gets an executed ticket, since a sent statement is
   * nobody's secret and all that the ticket says stands on the chain.
   */
  readonly outcome?: Outcome;
}

export interface AcceptanceOptions {
  /** Tickets that are neither executed nor over; beyond it QUEUE_FULL. */
  readonly maxWaiting: number;
  /** As far as the index has read. */
  readonly execution: ChainDataStore["execution"];
  /** Called with each that is accepted here. */
  readonly onAccepted?: (ticket: TicketRecord) => void;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

export type Acceptance = ReturnType<typeof createAcceptance>;

export function createAcceptance(
  store: Pick<TicketStore, "byStatement" | "accept">,
  { maxWaiting, execution, onAccepted, now }: AcceptanceOptions,
) {
  const pending = (): ApiError =>
    new ApiError("NULLIFIER_PENDING", "a transaction under way uses a note of this one, or is this one");

  async function lookUp(owner: Owner, { hash }: Statement): Promise<Known> {
    const ticket = await store.byStatement(hash);
    const isFree = ticket === undefined || isInVain(ticket.status);
    if (!isFree && isSameOwner(owner, ticket.owner)) return { ticket };
    if (isFree) {
      const outcome = execution(hash);
      return outcome === undefined ? {} : { outcome };
    }
    // Another's, and final: the chain's own record refuses it, with the better name.
    if (ticket.status.state === "finalized") return {};
    throw pending();
  }

  /**
   * Durable, in its place in the order, notes reserved, in one atomic write; the owner's earlier ticket where a copy of
   * the request was faster. With an outcome the ticket begins as executed.
   */
  async function enqueue(
    owner: Owner,
    { statement, proof, authorization }: Transaction,
    attestations: readonly SignedBy[],
    outcome: Outcome | undefined,
    requestId: string | undefined,
  ): Promise<TicketRecord> {
    const { kind, deadline, signals, extBytes: ext } = statement;
    const accepted = await store.accept(
      {
        id: uuid(),
        owner: { developerId: owner.developerId, sub: owner.sub },
        ...(requestId === undefined ? {} : { requestId }),
        statement: statement.hash,
        nullifiers: statement.facts.nullifiers,
        transaction: { kind, deadline, signals, ext, proof: encodeProof(proof), authorization, attestations },
        ...(outcome === undefined ? {} : { outcome }),
        createdAt: now(),
      },
      maxWaiting,
    );
    switch (accepted.kind) {
      case "accepted":
        onAccepted?.(accepted.ticket);
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
    /**
     * The ticket, durable. `attested` takes the steps of a statement that has none, and gives its attestations. Throws
     * what refuses it there, NULLIFIER_PENDING (also when the statement has another's ticket) or QUEUE_FULL.
     */
    async accept(
      owner: Owner,
      transaction: Transaction,
      requestId: string | undefined,
      attested: (isExecuted: boolean) => Promise<readonly SignedBy[]>,
    ): Promise<TicketRecord> {
      const { statement } = transaction;
      let known = await lookUp(owner, statement);
      while (known.ticket === undefined) {
        const before = known;
        const { outcome } = before;
        try {
          const attestations = await attested(outcome !== undefined);
          return await enqueue(owner, transaction, attestations, outcome, requestId);
        } catch (refusal) {
          // Another copy of the request, or the execution itself, may have come meanwhile and be what refused it: twenty
          // copies sent at once are one ticket and twenty equal answers, and a retry never learns "pending" of its own
          // payment.
          known = await lookUp(owner, statement).catch(() => before);
          const isMore = known.ticket !== undefined || (known.outcome !== undefined && outcome === undefined);
          if (!isMore) throw refusal;
        }
      }
      return known.ticket;
    },
  };
}
