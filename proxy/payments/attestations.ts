/**
 * The attestations of a transaction: by an enclave of ours, or those that a caller brings. A caller's are its word
 * until each is recovered over the digest that we compute and its signer asked for at the pool.
 */
import type { RelayBody } from "../../shared/api/transactions.ts";
import type { SignedBy } from "../../shared/protocol/attestation.ts";
import { asAddress } from "../../shared/protocol/brands.ts";
import { mustFromHex } from "../../shared/protocol/bytes.ts";
import { proofHashOf } from "../../shared/protocol/proof.ts";
import type { Pool } from "../chain/pool.ts";
import { orUnavailable } from "../chain/unavailable.ts";
import type { Attestor } from "../enclave-link/attestor.ts";
import { ApiError } from "../http/errors.ts";
import type { Transaction } from "./transaction.ts";

type GivenAttestations = RelayBody["attestations"];

export interface Attestations {
  /** Of a proof that the enclave has verified. Throws PROOF_INVALID or ENCLAVE_UNAVAILABLE. */
  request(transaction: Transaction): Promise<readonly SignedBy[]>;
  /** As many of the caller's as the pool needs. Throws ATTESTATION_INVALID. */
  check(transaction: Transaction, given: GivenAttestations): Promise<readonly SignedBy[]>;
}

export function createAttestations(
  attestor: Pick<Attestor, "attest" | "accepted">,
  pool: Pick<Pool, "threshold">,
): Attestations {
  return {
    request: ({ statement, proof }) => orUnavailable(attestor.attest(statement, proof)),

    async check({ statement, proof }, given) {
      const signed = given.flatMap(({ signer, signature }): SignedBy[] => {
        const address = asAddress(signer);
        return address === undefined ? [] : [{ signer: address, signature: mustFromHex(signature) }];
      });
      const [counted, needed] = await orUnavailable(
        Promise.all([attestor.accepted(statement, proofHashOf(proof), signed), pool.threshold()]),
      );
      if (counted.length < needed) {
        throw new ApiError(
          "ATTESTATION_INVALID",
          `${counted.length} of the attestations are by distinct signers that the pool accepts, ${needed} are needed`,
        );
      }
      return counted.slice(0, needed);
    },
  };
}
