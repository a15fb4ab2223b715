/**
 * Turns every refusal into an RFC 9457 problem document. Only ApiError reaches a caller with its own
 * words; everything else becomes one fixed answer, and its cause goes to the log under the request id.
 */
import type { Middleware } from "koa";
import { ERRORS, type Problem } from "../../../shared/api/errors.ts";
import type { Logger } from "../logging.ts";
import type { Metrics } from "../observe/metrics.ts";
import { ApiError } from "./errors.ts";
import { faultOf, logRefusal, problemDocument, PROBLEM_TYPE } from "./problems.ts";
import type { RequestState } from "./state.ts";

/** Set by a route for the answer it then did not give. */
const ANSWER_HEADERS = [
  "ETag",
  "Location",
  "Last-Modified",
  "Content-Encoding",
  "Content-Length",
  "Preference-Applied",
];

export function errorHandler(logger: Logger, metrics: Pick<Metrics, "refused">): Middleware<RequestState> {
  return async (ctx, next) => {
    try {
      await next();
      if (ctx.respond !== false && ctx.status === 404 && ctx.body === undefined) {
        // The guard lets nothing through that no route serves.
        throw new Error("a matched endpoint gave no answer");
      }
    } catch (thrown) {
      const error = asApiError(thrown);
      metrics.refused(error.code, error.policy);
      ctx.state.refusal = error.code;
      logRefusal(logger, error, thrown, ctx.state.requestId);
      if (ctx.headerSent) {
        // A stream broke off: the status is gone already, a cut connection is all that can be said.
        ctx.res.destroy();
        return;
      }
      for (const name of ANSWER_HEADERS) ctx.remove(name);
      ctx.set("Cache-Control", "no-store");
      if (error.retryAfterSecs !== undefined) ctx.set("Retry-After", String(error.retryAfterSecs));
      const problem = problemOf(error, ctx.state.requestId);
      // Every 401 names a scheme (RFC 9110, section 11.6.1); the credential's own answers say more.
      if (problem.status === 401 && !ctx.res.hasHeader("WWW-Authenticate")) {
        ctx.set("WWW-Authenticate", 'Bearer realm="cloister", error="invalid_token"');
      }
      ctx.respond = true;
      ctx.status = problem.status;
      ctx.body = JSON.stringify(problem);
      ctx.type = PROBLEM_TYPE;
    }
  };
}

export function problemOf(error: ApiError, requestId: string): Problem {
  return {
    ...problemDocument("error", error, ERRORS[error.code], requestId),
    ...(error.policy === undefined ? {} : { policy: error.policy }),
  };
}

function asApiError(thrown: unknown): ApiError {
  if (thrown instanceof ApiError) return thrown;
  const { code, message, retryAfterSecs } = faultOf(thrown);
  return new ApiError(code, message, { retryAfterSecs, cause: thrown });
}
