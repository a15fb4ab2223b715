/** Attests a statement without submitting it: the same checks as `/sequence`, and nothing is reserved. */
import type { SignedBy } from "../../shared/protocol/attestation.ts";
import { compressProof } from "../../shared/protocol/proof.ts";
import type { Statement } from "../../shared/protocol/statements.ts";
import type { Pool } from "../chain/pool.ts";
import { orUnavailable } from "../chain/unavailable.ts";
import type { Attestor } from "../enclave-link/attestor.ts";
import type { Admission, Stated } from "../submission/admission.ts";
import type { Submission } from "../submission/submission.ts";

export interface Attested {
  readonly stated: Stated;
  readonly attestations: readonly SignedBy[];
}

/** What anyone may send to the chain. */
export interface SendableStatement {
  readonly statement: Statement;
  readonly attestations: readonly SignedBy[];
  readonly calldata: string;
}

export interface Attest {
  /** Cheap checks, then the enclave. */
  attest(submission: Submission): Promise<SendableStatement>;
  /** The enclave alone, for a statement that was admitted. */
  verify(stated: Stated): Promise<Attested>;
}

export function createAttest(admission: Admission, attestor: Attestor, pool: Pool): Attest {
  async function verify(stated: Stated): Promise<Attested> {
    return { stated, attestations: await orUnavailable(attestor.attest(stated.statement, stated.proof)) };
  }

  return {
    verify,
    async attest(submission) {
      const stated = admission.state(submission);
      await admission.admit(stated);
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
