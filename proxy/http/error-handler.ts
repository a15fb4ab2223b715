/**
 * Turns every refusal into an RFC 9457 problem document. Only ApiError reaches a caller with its own
 * words; everything else becomes one fixed answer, and its cause goes to the log under the request id.
 */
import type { Middleware } from "koa";
import { ERRORS, type Problem } from "../../shared/api/errors.ts";
import type { Logger } from "../logging.ts";
import type { Metrics } from "../observe/metrics.ts";
import { ApiError } from "./errors.ts";
import type { RequestState } from "./state.ts";

const PROBLEM_TYPE = "application/problem+json";
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
      if (error.code === "INTERNAL" || error.cause !== undefined) {
        const { requestId } = ctx.state;
        const cause: unknown = error.cause ?? thrown;
        logger[error.code === "INTERNAL" ? "error" : "warn"](
          { request_id: requestId, code: error.code, err: cause },
          "refused",
        );
      }
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
  const { status, retryable, title } = ERRORS[error.code];
  return {
    type: `urn:cloister:error:${error.code}`,
    title,
    status,
    detail: error.message,
    code: error.code,
    retryable,
    request_id: requestId,
    ...(error.fields === undefined ? {} : { errors: [...error.fields] }),
    ...(error.policy === undefined ? {} : { policy: error.policy }),
  };
}

function asApiError(thrown: unknown): ApiError {
  if (thrown instanceof ApiError) return thrown;
  // store/ stands below http/ and cannot throw an ApiError; it marks the one fault that a caller may be told.
  if (thrown instanceof Error && "code" in thrown && thrown.code === "STORE_UNAVAILABLE") {
    return new ApiError("STORE_UNAVAILABLE", "The store cannot do this at the moment", {
      retryAfterSecs: 5,
      cause: thrown,
    });
  }
  return new ApiError("INTERNAL", "Something failed on our side; the request id tells us what", {
    cause: thrown,
  });
}
