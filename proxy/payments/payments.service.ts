/** What each endpoint for payments does, step by step. A refusal at any step leaves nothing behind. */
import type { RelayBody } from "../../shared/api/transactions.ts";
import { compressProof } from "../../shared/protocol/proof.ts";
import type { Pool } from "../chain/pool.ts";
import type { FeeNotes } from "../fees/fee-notes.ts";
import type { Owner } from "../http/state.ts";
import type { TicketRecord } from "../store/tickets.ts";
import type { Acceptance } from "./acceptance.ts";
import type { Admission } from "./admission.ts";
import type { Attestations } from "./attestations.ts";
import type { Body } from "./body.ts";
import { toTransaction } from "./transaction.ts";

export interface PaymentsParts {
  readonly pool: Pick<Pool, "home" | "encodeExecute">;
  readonly acceptance: Acceptance;
  readonly admission: Admission;
  readonly attestations: Attestations;
  readonly feeNotes: FeeNotes;
}

export type Payments = ReturnType<typeof createPayments>;

export function createPayments({ pool, acceptance, admission, attestations, feeNotes }: PaymentsParts) {
  return {
    /**
     * The ticket, durable; the owner's earlier one when the statement has one. A relayed body brings its attestations,
     * any other is attested here. `requestId` goes with the ticket into the log.
     */
    async accept(owner: Owner, body: Body | RelayBody, requestId?: string): Promise<TicketRecord> {
      const transaction = toTransaction(body, pool.home);
      return acceptance.accept(owner, transaction, requestId, async (isExecuted) => {
        const { feeNotes: paid } = await admission.admit(transaction, owner.developerId, isExecuted);
        const signed = await ("attestations" in body
          ? attestations.check(transaction, body.attestations)
          : attestations.request(transaction));
        await feeNotes.keep(paid);
        return signed;
      });
    },

    /** The same checks, and nothing is reserved: what anyone may send to the chain. */
    async attest(developerId: string, body: Body) {
      const transaction = toTransaction(body, pool.home);
      const { statement, proof, authorization } = transaction;
      const { feeNotes: paid } = await admission.admit(transaction, developerId, false);
      const signed = await attestations.request(transaction);
      await feeNotes.keep(paid);
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
