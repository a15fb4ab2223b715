/** What each endpoint for payments does, step by step. A refusal at any step leaves nothing behind. */
import { v7 as uuid } from "uuid";
import type { RelayBody } from "../../../shared/api/transactions.ts";
import type { SignedBy } from "../../../shared/protocol/host/signed-by.ts";
import { encodeProof } from "../../../shared/protocol/host/proofs.ts";
import { compressProof } from "../../../shared/protocol/proof.ts";
import type { Pool } from "../../base/chain/pool.ts";
import type { FeeNotes } from "../fees/fee-notes.ts";
import { ApiError } from "../../base/http/errors.ts";
import type { Owner } from "../../base/http/state.ts";
import type { TicketStore } from "../../base/store/ticket-store.ts";
import type { Outcome, TicketRecord } from "../../base/store/tickets.ts";
import type { Admission } from "./admission.ts";
import type { Attestations } from "./attestations.ts";
import type { Body } from "./body.ts";
import { pending, type Earlier } from "./earlier.ts";
import { withEarlier } from "./coming-again.ts";
import { toTransaction, type Transaction } from "./transaction.ts";

export interface QueueParts {
  readonly store: Pick<TicketStore, "accept">;
  /** Tickets that are neither executed nor over; beyond it, and for one developer beyond half of it, QUEUE_FULL. */
  readonly maxWaiting: number;
  /** Called with each that is accepted here. */
  readonly onAccepted?: (ticket: TicketRecord) => void;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

export interface PaymentsParts extends QueueParts {
  readonly pool: Pick<Pool, "home" | "encodeExecute">;
  readonly data: Parameters<typeof withEarlier>[0];
  readonly earlier: Earlier;
  readonly admission: Pick<Admission, "admit">;
  readonly attestations: Attestations;
  readonly feeNotes: FeeNotes;
}

export type Payments = ReturnType<typeof createPayments>;

export function createPayments(parts: PaymentsParts) {
  const { pool, data, earlier, admission, attestations, feeNotes } = parts;

  return {
    /**
     * The ticket, durable; the owner's earlier one when the statement has one. A relayed body brings its attestations,
     * any other is attested here. `requestId` goes with the ticket into the log.
     */
    async accept(owner: Owner, body: Body | RelayBody, requestId?: string): Promise<TicketRecord> {
      const given = toTransaction(body, pool.home);
      const { statement } = given;
      let known = await earlier.lookUp(owner, statement);
      while (known.ticket === undefined) {
        const { outcome } = known;
        try {
          const transaction = outcome === undefined ? withEarlier(data, given) : given;
          const admitted = await admission.admit(transaction, owner.developerId, outcome !== undefined);
          const signed = await ("attestations" in body
            ? attestations.check(transaction, body.attestations)
            : attestations.request(transaction));
          await feeNotes.keep(admitted.feeNotes);
          return await enqueue(parts, owner, transaction, signed, outcome, requestId);
        } catch (refusal) {
          // Another copy of the request, or the execution itself, may have come meanwhile and be what refused it.
          known = await earlier.lookUpAfter(refusal, known, owner, statement);
        }
      }
      return known.ticket;
    },

    /** The same checks, and nothing is reserved: what anyone may send to the chain. */
    async attest(developerId: string, body: Body) {
      const transaction = withEarlier(data, toTransaction(body, pool.home));
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

/**
 * Durable, in its place in the order, notes reserved, in one atomic write; the owner's earlier ticket where a copy of
 * the request was faster. With an outcome the ticket begins as executed.
 */
export async function enqueue(
  { store, maxWaiting, onAccepted, now }: QueueParts,
  owner: Owner,
  { statement, proof, authorization, earlier }: Transaction,
  signed: readonly SignedBy[],
  outcome: Outcome | undefined,
  requestId: string | undefined,
): Promise<TicketRecord> {
  const { kind, deadline, signals, extBytes: ext } = statement;
  const draft = {
    id: uuid(),
    owner: { developerId: owner.developerId, sub: owner.sub },
    ...(requestId === undefined ? {} : { requestId }),
    statement: statement.hash,
    nullifiers: statement.facts.nullifiers,
    ...(earlier === undefined ? {} : { confirms: earlier.statement }),
    transaction: {
      kind,
      deadline,
      signals,
      ext,
      proof: encodeProof(proof),
      authorization,
      attestations: signed,
    },
    ...(outcome === undefined ? {} : { outcome }),
    createdAt: now(),
  };
  const accepted = await store.accept(draft, maxWaiting);
  switch (accepted.kind) {
    case "accepted":
      onAccepted?.(accepted.ticket);
      return accepted.ticket;
    case "same":
      return accepted.ticket;
    case "reserved":
      throw pending();
    case "full":
      throw new ApiError(
        "QUEUE_FULL",
        `too many transactions${accepted.of === "developer" ? " of this developer" : ""} wait to be sent`,
        { retryAfterSecs: 15 },
      );
  }
}
