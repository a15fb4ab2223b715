/**
 * Submits a statement that was attested before, here or elsewhere. The attestations are the caller's word
 * until each is recovered over the digest that we compute and its signer asked for at the pool.
 */
import type { RelayBody } from "../../shared/api/transactions.ts";
import type { SignedBy } from "../../shared/protocol/attestation.ts";
import { asAddress } from "../../shared/protocol/brands.ts";
import { mustFromHex } from "../../shared/protocol/bytes.ts";
import { proofHashOf } from "../../shared/protocol/proof.ts";
import { orUnavailable } from "../chain/unavailable.ts";
import type { Attestor } from "../enclave-link/attestor.ts";
import { ApiError } from "../http/errors.ts";
import type { Owner } from "../http/state.ts";
import type { TicketRecord, TicketTransaction } from "../store/tickets.ts";
import { ticketTransaction, type Admission, type Stated } from "./admission.ts";
import type { Tickets } from "./tickets.ts";

export interface Relay {
  /** The ticket, durable; the earlier one when this statement has one of the same owner. */
  relay(owner: Owner, body: RelayBody, requestId?: string): Promise<TicketRecord>;
}

export function createRelay(
  admission: Admission,
  attestor: Attestor,
  tickets: Tickets,
  threshold: () => Promise<number>,
): Relay {
  async function accepted(stated: Stated, body: RelayBody): Promise<SignedBy[]> {
    const given = body.attestations.flatMap(({ signer, signature }): SignedBy[] => {
      const address = asAddress(signer);
      return address === undefined ? [] : [{ signer: address, signature: mustFromHex(signature) }];
    });
    const [counted, needed] = await orUnavailable(
      Promise.all([attestor.accepted(stated.statement, proofHashOf(stated.proof), given), threshold()]),
    );
    if (counted.length < needed) {
      throw new ApiError(
        "ATTESTATION_INVALID",
        `${counted.length} of the attestations are by distinct signers that the pool accepts, ${needed} are needed`,
      );
    }
    return counted.slice(0, needed);
  }

  return {
    async relay(owner, body, requestId) {
      const stated = admission.state(body);
      const prepare = async (isExecuted: boolean): Promise<TicketTransaction> => {
        const admitted = await admission.admit(stated, owner.developerId, isExecuted);
        const signed = await accepted(stated, body);
        await admission.keepFees(admitted);
        return ticketTransaction(stated, signed);
      };
      return tickets.accept(owner, stated.statement, prepare, requestId);
    },
  };
}
