/** Counts proofs that do not verify, by user, and puts the user off who sends too many. It touches nobody else. */
import type { Middleware, Next, ParameterizedContext } from "koa";
import { ApiError } from "../http/errors.ts";
import type { RequestState } from "../http/state.ts";
import type { Limits } from "./limits.ts";

/** Stands before the body is read. An answer repeated for its Idempotency-Key asks no enclave and does not count. */
export function badProofs(limits: Limits): Middleware<RequestState> {
  return (ctx, next) => (ctx.state.endpoint.codes.includes("PROOF_INVALID") ? counted(ctx, next) : next());

  async function counted(ctx: ParameterizedContext<RequestState>, next: Next): Promise<void> {
    const attempt = await limits.beginProof(ctx.state.principal);
    try {
      await next();
    } catch (error) {
      if (error instanceof ApiError && error.code === "PROOF_INVALID") await attempt.bad();
      throw error;
    } finally {
      attempt.end();
    }
  }
}
