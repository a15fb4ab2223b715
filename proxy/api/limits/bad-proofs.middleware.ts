/** Counts proofs that do not verify, by user, and puts the user off who sends too many. It touches nobody else. */
import type { Middleware } from "koa";
import { ApiError } from "../../base/http/errors.ts";
import type { RequestState } from "../../base/http/state.ts";
import type { Limits } from "../../base/limits/limits.ts";

/** Stands before the body is read. An answer repeated for its Idempotency-Key asks no enclave and does not count. */
export function badProofs(limits: Limits): Middleware<RequestState> {
  return async (ctx, next) => {
    const attempt = await limits.beginProof(ctx.state.principal);
    try {
      await next();
    } catch (error) {
      if (error instanceof ApiError && error.code === "PROOF_INVALID") await attempt.bad();
      throw error;
    } finally {
      attempt.end();
    }
  };
}
