/** Attests a statement without submitting it: the same checks as `/sequence`, and nothing is reserved. */
import type { SignedBy } from "../../shared/protocol/attestation.ts";
import { compressProof } from "../../shared/protocol/proof.ts";
import type { Statement } from "../../shared/protocol/statements.ts";
import type { Pool } from "../chain/pool.ts";
import { orUnavailable } from "../chain/unavailable.ts";
import type { Attestor } from "../enclave-link/attestor.ts";
import type { Admission, Admitted } from "./admission.ts";
import type { Submission } from "./body.ts";

export interface Attested {
  readonly stated: Admitted;
  readonly attestations: readonly SignedBy[];
}

/** What anyone may send to the chain. */
export interface SendableStatement {
  readonly statement: Statement;
  readonly attestations: readonly SignedBy[];
  readonly calldata: string;
}

export interface Attest {
  /** Cheap checks, fees by the rules of this developer among them, then the enclave. */
  attest(developerId: string, submission: Submission): Promise<SendableStatement>;
  /** The enclave, for a statement that was admitted; its fee notes are kept before anybody has the attestation. */
  verify(stated: Admitted): Promise<Attested>;
}

export function createAttest(admission: Admission, attestor: Attestor, pool: Pool): Attest {
  async function verify(stated: Admitted): Promise<Attested> {
    const attestations = await orUnavailable(attestor.attest(stated.statement, stated.proof));
    await admission.keepFees(stated);
    return { stated, attestations };
  }

  return {
    verify,
    async attest(developerId, submission) {
      const stated = await admission.admit(admission.state(submission), developerId);
      const { attestations } = await verify(stated);
      const { statement, proof, authorization } = stated;
      const member = {
        statement: statement.hash,
        kind: statement.kind,
        deadline: statement.deadline,
        signals: statement.signals,
        ext: statement.extBytes,
        proof: compressProof(proof),
        authorization,
        attestations,
      };
      return { statement, attestations, calldata: pool.encodeExecute([member]) };
    },
  };
}
