/**
 * Finds the one credential of a request and names its owner. Everything a caller can send wrong here has
 * its own answer, and none of them repeats what was sent.
 */
import type { Middleware, ParameterizedContext } from "koa";
import { ENDPOINTS, type Endpoint } from "../../../shared/api/endpoints.ts";
import { ApiError } from "../../base/http/errors.ts";
import { headerValues } from "../../base/http/header-values.ts";
import type { RequestState } from "../../base/http/state.ts";
import type { Auth, Caller, Refusal } from "./auth.ts";
import { letsIn } from "../../base/auth/browser-origins.ts";

/** Counts refused credentials by address. It never stands in the way of a good one. */
export interface FailureCount {
  /** True when this address has failed too often in the last minute. */
  failed(address: string): Promise<boolean>;
}

const STREAM_PATH = "/events/stream";
/** Paths of endpoints that take no credential, whatever the method. */
const OPEN_PATHS: ReadonlySet<string> = new Set(
  Object.values<Endpoint>(ENDPOINTS)
    .filter(({ access }) => access === "none")
    .map(({ path }) => path),
);

type Credential = { readonly kind: "api-key" | "session"; readonly text: string };

export function credential(
  auth: Auth,
  failures: FailureCount,
  addressOf: (ctx: ParameterizedContext) => string,
): Middleware<RequestState> {
  return async (ctx, next) => {
    const found = findCredential(ctx);
    const origin = ctx.get("Origin");
    if (found === undefined) {
      // An open path: nobody in particular asks. What the endpoint wants instead, it finds in the body.
      await next();
      return;
    }
    if (found.kind === "api-key" && (origin !== "" || ctx.get("Sec-Fetch-Site") !== "")) {
      throw new ApiError("FORBIDDEN", "An API key must not be used from a browser; mint a session token");
    }
    if (OPEN_PATHS.has(ctx.path)) {
      throw new ApiError("INVALID_REQUEST", "This endpoint takes no credential; send none");
    }
    const caller = await (found.kind === "api-key" ? auth.apiKey(found.text) : auth.session(found.text));
    if (typeof caller === "string") throw await refusal(caller, ctx, failures, addressOf);
    if (origin !== "" && !letsIn(caller.developer, origin)) {
      throw new ApiError("FORBIDDEN", "This origin is not registered for the developer");
    }
    accept(ctx.state, caller);
    await next();
  };
}

function accept(state: RequestState, { principal, developer, stillGood }: Caller): void {
  state.principal = principal;
  state.limitOverrides = developer.limits;
  state.stillGood = stillGood;
}

async function refusal(
  reason: Refusal,
  ctx: ParameterizedContext,
  failures: FailureCount,
  addressOf: (ctx: ParameterizedContext) => string,
): Promise<ApiError> {
  if (reason === "SESSION_EXPIRED") {
    ctx.set("WWW-Authenticate", 'Bearer realm="cloister", error="invalid_token"');
    return new ApiError(reason, "The session token has expired; mint a new one and retry once");
  }
  // Guessing is slowed down per address. A genuine but expired token is no guess and is not counted.
  if (await failures.failed(addressOf(ctx))) {
    return new ApiError("RATE_LIMITED", "Too many refused credentials from this address", {
      retryAfterSecs: 60,
      policy: "failed-credentials",
    });
  }
  ctx.set("WWW-Authenticate", 'Bearer realm="cloister", error="invalid_token"');
  return new ApiError(reason, "The credential is not valid");
}

/** Undefined only on an open path. */
function findCredential(ctx: ParameterizedContext): Credential | undefined {
  const found: Credential[] = headerValues(ctx.req, "x-api-key").map((text) => ({ kind: "api-key", text }));
  for (const value of headerValues(ctx.req, "authorization")) {
    // RFC 6750: the scheme's name in any case, one space. Another scheme is a credential we cannot know.
    const bearer = /^bearer +(.*)$/i.exec(value.trim());
    found.push({ kind: "session", text: bearer?.[1] ?? "" });
  }
  if (ctx.path === STREAM_PATH) {
    const { session } = ctx.query;
    for (const text of session === undefined ? [] : [session].flat()) found.push({ kind: "session", text });
  }
  const [only, second] = found;
  if (second !== undefined) {
    throw new ApiError("INVALID_REQUEST", "The request carries more than one credential; send exactly one");
  }
  if (only === undefined && !OPEN_PATHS.has(ctx.path)) {
    ctx.set("WWW-Authenticate", 'Bearer realm="cloister"');
    throw new ApiError(
      "MISSING_CREDENTIAL",
      "Send an API key in X-API-Key or a session token in Authorization: Bearer",
    );
  }
  return only;
}
