/**
 * The program of one verifying process: keys come first, then batches of claims; each message is answered by
 * one. It holds no signing key, opens nothing, and is the only place where ffjavascript runs. Trusts the
 * program that started it, which is the other end of its only channel.
 */
import type { VerifyBatch, VerifyKeys } from "./claims.ts";
import { buildGroth16 } from "./verify.ts";

process.once("message", (keys: VerifyKeys) => {
  void buildGroth16(keys).then((groth16) => {
    process.on("message", ({ claims, randomness }: VerifyBatch) => {
      process.send?.(groth16.verdicts(claims, randomness));
    });
    process.send?.([]);
  });
});
// Nobody is left to answer.
process.once("disconnect", () => process.exit());
