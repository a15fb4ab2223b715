/**
 * The attestations of a transaction: by an enclave of ours, or those that a caller brings. A caller's are its word
 * until each is recovered over the digest that we compute and its signer asked for at the pool.
 */
import type { RelayBody } from "../../../shared/api/transactions.ts";
import type { SignedBy } from "../../../shared/protocol/host/signed-by.ts";
import { asAddress } from "../../../shared/protocol/host/text.ts";
import { mustFromHex } from "../../../shared/protocol/bytes.ts";
import { proofHashOf } from "../../../shared/protocol/proof.ts";
import { orUnavailable } from "../../base/chain/unavailable.ts";
import type { Attestor } from "../enclave-link/attestor.ts";
import { ApiError } from "../../base/http/errors.ts";
import type { Transaction } from "./transaction.ts";

export type Attestations = ReturnType<typeof createAttestations>;

export function createAttestations(attestor: Pick<Attestor, "attest" | "accepted">) {
  return {
    /** Of a proof that the enclave has verified. Throws PROOF_INVALID or ENCLAVE_UNAVAILABLE. */
    request: ({ statement, proof }: Transaction) => orUnavailable(attestor.attest(statement, proof)),

    /** As many of the caller's as the pool needs. Throws ATTESTATION_INVALID. */
    async check(
      { statement, proof }: Transaction,
      given: RelayBody["attestations"],
    ): Promise<readonly SignedBy[]> {
      const signed = given.flatMap(({ signer, signature }): SignedBy[] => {
        const address = asAddress(signer);
        return address === undefined ? [] : [{ signer: address, signature: mustFromHex(signature) }];
      });
      const accepted = await orUnavailable(attestor.accepted(statement, proofHashOf(proof), signed));
      if (!("needed" in accepted)) return accepted;
      const { signers, kinds, needed } = accepted;
      throw new ApiError(
        "ATTESTATION_INVALID",
        signers < needed.signers
          ? `${signers} of the attestations are by distinct signers that the pool accepts, ${needed.signers} are needed`
          : `the attestations are by ${kinds} kind of verifier, ${needed.kinds} are needed`,
      );
    },
  };
}
