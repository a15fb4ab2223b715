/** The first program's judge: rules and digests in this process, the points and the equation in verifiers. */
import { attest, type Attesting } from "./attest.ts";
import { attestRoot } from "./attest-root.ts";
import { verifierOf } from "./claims.ts";
import type { Judge, OpenJudge } from "./judge.ts";
import { startPool } from "./verifier-pool.ts";

export const openFirst: OpenJudge = async (platform, { verificationKeys, verifyingKeyHashes }) =>
  firstJudge({ verify: await startPool(platform, verifierOf(verificationKeys)), verifyingKeyHashes });

export function firstJudge(terms: Omit<Attesting, "signer">): Judge {
  return async (signer, request) =>
    request.type === "attest" ? attest({ ...terms, signer }, request) : attestRoot(signer, request);
}
