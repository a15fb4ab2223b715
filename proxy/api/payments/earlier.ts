/** What a statement has when it is posted: a ticket, an execution, or neither. However often it is posted, it has one ticket. */
import type { Statement } from "../../../shared/protocol/statements.ts";
import { ApiError } from "../../base/http/errors.ts";
import type { Owner } from "../../base/http/state.ts";
import type { ChainDataStore } from "../../base/store/chain-data.ts";
import type { TicketStore } from "../../base/store/ticket-store.ts";
import { isInVain, isSameOwner } from "../../base/store/ticket-states.ts";
import type { Outcome, TicketRecord } from "../../base/store/tickets.ts";

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

export type Earlier = ReturnType<typeof createEarlier>;

/** @param execution as far as the index has read */
export function createEarlier(
  store: Pick<TicketStore, "byStatement">,
  execution: ChainDataStore["execution"],
) {
  /** Before anything is asked of a statement. Throws NULLIFIER_PENDING when its ticket is another's. */
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

  return {
    lookUp,
    /**
     * After a step refused it, where that is more than it had `before`: twenty copies of a request sent at once are one
     * ticket and twenty equal answers, and a retry never learns "pending" of its own payment. Throws the refusal where
     * nothing has changed, or what has changed does not explain it.
     */
    async lookUpAfter(refusal: unknown, before: Known, owner: Owner, statement: Statement): Promise<Known> {
      const after = await lookUp(owner, statement).catch(() => before);
      const isMore =
        after.ticket !== undefined || (after.outcome !== undefined && before.outcome === undefined);
      if (!isMore) throw refusal;
      return after;
    },
  };
}

export function pending(): ApiError {
  return new ApiError("NULLIFIER_PENDING", "a transaction under way uses a note of this one, or is this one");
}
