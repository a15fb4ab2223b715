/** What each endpoint for payments does, step by step. A refusal at any step leaves nothing behind. */
import type { RelayBody } from "../../shared/api/transactions.ts";
import type { SignedBy } from "../../shared/protocol/attestation.ts";
import { compressProof } from "../../shared/protocol/proof.ts";
import type { Statement } from "../../shared/protocol/statements.ts";
import type { Pool } from "../chain/pool.ts";
import type { FeeNotes } from "../fees/fee-notes.ts";
import type { Owner } from "../http/state.ts";
import type { TicketRecord } from "../store/tickets.ts";
import type { Admission } from "./admission.ts";
import type { Attestations } from "./attestations.ts";
import type { Body } from "./body.ts";
import type { Tickets } from "./tickets.ts";
import { toStored, toTransaction } from "./transaction.ts";

/** What anyone may send to the chain. */
export interface SendableStatement {
  readonly statement: Statement;
  readonly attestations: readonly SignedBy[];
  readonly calldata: string;
}

export interface Payments {
  /**
   * The ticket, durable; the owner's earlier one when the statement has one. A relayed body brings its attestations,
   * any other is attested here. `requestId` goes with the ticket into the log.
   */
  accept(owner: Owner, body: Body | RelayBody, requestId?: string): Promise<TicketRecord>;
  /** The same checks, and nothing is reserved. */
  attest(developerId: string, body: Body): Promise<SendableStatement>;
}

export interface PaymentsParts {
  readonly pool: Pick<Pool, "home" | "threshold" | "encodeExecute">;
  readonly admission: Admission;
  readonly attestations: Attestations;
  readonly feeNotes: FeeNotes;
  readonly tickets: Pick<Tickets, "lookUp" | "lookUpAfter" | "enqueue">;
}

export function createPayments(parts: PaymentsParts): Payments {
  const { pool, admission, attestations, feeNotes, tickets } = parts;

  return {
    async accept(owner, body, requestId) {
      const transaction = toTransaction(body, pool.home);
      const { statement } = transaction;
      let known = await tickets.lookUp(owner, statement);
      while (known.ticket === undefined) {
        const { outcome } = known;
        try {
          const admitted = await admission.admit(transaction, owner.developerId, outcome !== undefined);
          const signed = await ("attestations" in body
            ? attestations.check(transaction, body.attestations)
            : attestations.request(transaction));
          await feeNotes.keep(admitted.feeNotes);
          return await tickets.enqueue(owner, statement, toStored(transaction, signed), outcome, requestId);
        } catch (refusal) {
          // Another copy of the request, or the execution itself, may have come meanwhile and be what refused it.
          known = await tickets.lookUpAfter(refusal, known, owner, statement);
        }
      }
      return known.ticket;
    },

    async attest(developerId, body) {
      const transaction = toTransaction(body, pool.home);
      const { statement, proof, authorization } = transaction;
      const admitted = await admission.admit(transaction, developerId, false);
      const signed = await attestations.request(transaction);
      await feeNotes.keep(admitted.feeNotes);
      const member = {
        statement: statement.hash,
        kind: statement.kind,
        deadline: statement.deadline,
        signals: statement.signals,
        ext: statement.extBytes,
        proof: compressProof(proof),
        authorization,
        attestations: signed,
      };
      return { statement, attestations: signed, calldata: pool.encodeExecute([member]) };
    },
  };
}
