/** Accepts a statement for submission: cheap checks, the enclave, then a durable ticket in the pool's order. */
import type { Owner } from "../http/state.ts";
import type { Attest } from "./attest.service.ts";
import type { TicketRecord, TicketTransaction } from "../store/tickets.ts";
import { ticketTransaction, type Admission } from "./admission.ts";
import type { Submission } from "./body.ts";
import type { Tickets } from "./tickets.ts";

export interface Sequence {
  /** The ticket, on disk; the earlier one when this statement has one of the same owner. A refusal leaves nothing behind. */
  accept(owner: Owner, submission: Submission, requestId?: string): Promise<TicketRecord>;
}

export function createSequence(admission: Admission, attest: Attest, tickets: Tickets): Sequence {
  return {
    async accept(owner, submission, requestId) {
      const stated = admission.state(submission);
      const prepare = async (isExecuted: boolean): Promise<TicketTransaction> => {
        const admitted = await admission.admit(stated, owner.developerId, isExecuted);
        const { attestations } = await attest.verify(admitted);
        return ticketTransaction(stated, attestations);
      };
      return tickets.accept(owner, stated.statement, prepare, requestId);
    },
  };
}
