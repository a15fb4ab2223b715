// Verifiers for tests that are not about the processes they run in.
import type { Verifier } from "../../../../enclave/verifier-pool.ts";
import { buildGroth16 } from "../../../../enclave/verify.ts";
import { CONFIGURATION } from "./key-life.ts";

/** Where no proof may be looked at. */
export const NO_VERIFIER: Verifier = {
  verify: async () => {
    throw new Error("nobody should have asked for a verification");
  },
};

/** The same equations as in a verifier's process, in this one. */
export async function verifierHere(): Promise<Verifier> {
  const groth16 = await buildGroth16(CONFIGURATION.verificationKeys);
  return {
    verify: async (kind, proof, signals) => {
      const [verdict] = groth16.verdicts([{ kind, proof, signals }]);
      return verdict === "PROOF_HOLDS" ? undefined : verdict;
    },
  };
}
