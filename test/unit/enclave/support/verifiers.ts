// Verifiers for tests that are not about the processes they run in.
import type { Claim, Verdict } from "../../../../enclave/claims.ts";
import { firstJudge } from "../../../../enclave/first.ts";
import type { Judge } from "../../../../enclave/judge.ts";
import type { Verify } from "../../../../enclave/verifier-pool.ts";
import { buildGroth16 } from "../../../../enclave/verify.ts";
import { CONFIGURATION } from "./key-life.ts";

export type VerifyClaim = Verify<Claim, Verdict>;

/** Where no proof may be looked at. */
export const NO_VERIFIER: VerifyClaim = async () => {
  throw new Error("nobody should have asked for a verification");
};

/** Where nothing may be judged. */
export const NO_JUDGE: Judge = async () => {
  throw new Error("nobody should have asked for a judgement");
};

/** The same equations as in a verifier's process, in this one. */
export async function verifierHere(): Promise<VerifyClaim> {
  const groth16 = await buildGroth16(CONFIGURATION.verificationKeys);
  return async (claim) => groth16.verdicts([claim])[0]!;
}

/** The first program's, with such a verifier. */
export function judgeWith(verify: VerifyClaim): Judge {
  return firstJudge({ verify, verifyingKeyHashes: CONFIGURATION.verifyingKeyHashes });
}
