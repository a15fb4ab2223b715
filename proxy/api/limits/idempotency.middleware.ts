/**
 * Idempotency-Key (IETF httpapi draft): the same key and body runs once and is answered the same for 24 h. A refusal
 * that says `retryable` is not kept: whoever does what it says would get it again.
 * Stands in limits/ because it, too, decides how often a request may count. Answers that hold a
 * credential never pass here: only endpoints whose row names the step `once` do.
 */
import { createHash } from "node:crypto";
import type { Middleware, Next, ParameterizedContext } from "koa";
import { ERRORS } from "../../../shared/api/errors.ts";
import { problemOf } from "../../base/http/error-handler.ts";
import { PROBLEM_TYPE } from "../../base/http/problems.ts";
import { ApiError } from "../../base/http/errors.ts";
import { headerValues } from "../../base/http/header-values.ts";
import type { RequestState } from "../../base/http/state.ts";
import type { Limits } from "../../base/limits/limits.ts";
import type { IdempotencyStore, StoredAnswer } from "../../base/store/idempotency.ts";

const KEY = /^[\x20-\x7e]{1,255}$/;

export function idempotency(
  store: IdempotencyStore,
  limits: Pick<Limits, "keepAnswer">,
  now: () => number,
  onFault: (error: unknown) => void,
): Middleware<RequestState> {
  return (ctx, next) => {
    const [key, second] = headerValues(ctx.req, "idempotency-key");
    return key === undefined ? next() : once(ctx, next, key, second);
  };

  async function once(
    ctx: ParameterizedContext<RequestState>,
    next: Next,
    key: string,
    second: string | undefined,
  ): Promise<void> {
    if (second !== undefined || !KEY.test(key)) {
      throw new ApiError(
        "INVALID_REQUEST",
        "Idempotency-Key must be one value of 1 to 255 printable ASCII characters",
      );
    }
    const scope = scopeOf(ctx, key);
    const claim = await store.claim(scope, digest(canonical(ctx.state.json)), now());
    switch (claim.kind) {
      case "running":
        throw new ApiError("IDEMPOTENCY_IN_PROGRESS", "The first request with this key is still running", {
          retryAfterSecs: Math.ceil(claim.retryAfterMs / 1000),
        });
      case "other-body":
        throw new ApiError(
          "IDEMPOTENCY_MISMATCH",
          "This key was used with another body; a corrected request needs a key of its own",
        );
      case "answered":
        replay(ctx, claim.answer);
        return;
      case "claimed":
        return run(claim.token);
    }

    async function run(token: string): Promise<void> {
      try {
        // Not before the claim: who asks for an answer that is kept already must always get it.
        await limits.keepAnswer(ctx.state.principal, ctx.state.limitOverrides);
        await next();
      } catch (error) {
        await keep(token, isForGood(error) ? refusalOf(error, ctx.state.requestId) : undefined);
        throw error;
      }
      await keep(token, answerOf(ctx));
    }

    /** The work is done either way; when only its record fails, the caller still gets the answer. */
    async function keep(token: string, answer: StoredAnswer | undefined): Promise<void> {
      try {
        if (answer !== undefined) await store.answer(scope, token, answer, now());
        else await store.release(scope, token);
      } catch (error) {
        onFault(error);
      }
    }
  }
}

/** What the same request would be told again. Everything else, our own faults among it, is left to another try. */
function isForGood(error: unknown): error is ApiError {
  return error instanceof ApiError && !ERRORS[error.code].retryable;
}

/** Lengths are fixed by the hash, so no choice of `sub` or key can spell another caller's scope. */
function scopeOf(ctx: ParameterizedContext<RequestState>, key: string): string {
  const { principal } = ctx.state;
  const sub = principal.kind === "session" ? ["session", principal.sub] : ["api-key"];
  return digest(JSON.stringify([principal.developerId, sub, ctx.method, ctx.path, key]));
}

function replay(ctx: ParameterizedContext, answer: StoredAnswer): void {
  ctx.status = answer.status;
  ctx.body = answer.body;
  ctx.type = answer.type;
  if (answer.location !== undefined) ctx.set("Location", answer.location);
  if (answer.retryAfter !== undefined) ctx.set("Retry-After", answer.retryAfter);
}

function answerOf(ctx: ParameterizedContext): StoredAnswer {
  const headerOf = (name: string): string | undefined => {
    // Koa's types promise a text here; without the header there is none, or an empty one.
    const value = ctx.response.get(name) as string | undefined;
    return value === "" ? undefined : value;
  };
  return {
    status: ctx.status,
    body: typeof ctx.body === "string" ? ctx.body : JSON.stringify(ctx.body),
    type: "application/json",
    location: headerOf("Location"),
    retryAfter: headerOf("Retry-After"),
  };
}

/** Kept word for word, the first request's id included: that is the request which was refused. */
function refusalOf(error: ApiError, requestId: string): StoredAnswer {
  const body = JSON.stringify(problemOf(error, requestId));
  return {
    status: ERRORS[error.code].status,
    body,
    type: PROBLEM_TYPE,
    location: undefined,
    retryAfter: error.retryAfterSecs === undefined ? undefined : String(error.retryAfterSecs),
  };
}

/** The same for two texts that say the same: a client that writes its body anew may order its fields in another way. */
function canonical(json: unknown): string {
  const sorted = (value: object): object =>
    Object.fromEntries(Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1)));
  return JSON.stringify(json, (_name, value: unknown) =>
    typeof value === "object" && value !== null && !Array.isArray(value) ? sorted(value) : value,
  );
}

function digest(text: string): string {
  return createHash("sha256").update(text).digest("base64url");
}
