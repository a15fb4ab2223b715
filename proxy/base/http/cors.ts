/**
 * Manners towards browsers. A preflight carries no credential, so it is answered for the union of
 * registered origins; the request itself is then held to its own developer's list (credential.middleware).
 * X-API-Key is never an allowed header: a page must not be able to use a key.
 */
import type { Middleware, Next, ParameterizedContext } from "koa";
import { ApiError } from "./errors.ts";

const EXPOSED = "Retry-After, RateLimit, RateLimit-Policy, Location, ETag, X-Request-Id, API-Version";
/**
 * What this service reads, and what client libraries of event streams send to any: a name that is missing here costs a
 * browser the whole request.
 */
const ALLOWED = [
  ...["Authorization", "Content-Type", "Idempotency-Key", "Prefer", "API-Version"],
  ...["If-Match", "If-None-Match", "Last-Event-ID", "X-Request-Id", "Cache-Control", "Pragma"],
].join(", ");

export function cors(registeredOrigins: () => Promise<ReadonlySet<string>>): Middleware {
  return (ctx, next) => {
    const origin = ctx.get("Origin");
    return origin === "" ? next() : answerPage(ctx, next, origin);
  };

  async function answerPage(ctx: ParameterizedContext, next: Next, origin: string): Promise<void> {
    const isRegistered = (await registeredOrigins()).has(origin);
    if (isRegistered) {
      ctx.set({
        "Access-Control-Allow-Origin": origin,
        "Access-Control-Expose-Headers": EXPOSED,
        "Cross-Origin-Resource-Policy": "cross-origin",
      });
    }
    const isPreflight = ctx.method === "OPTIONS" && ctx.get("Access-Control-Request-Method") !== "";
    if (!isPreflight) {
      await next();
      return;
    }
    if (!isRegistered) throw new ApiError("FORBIDDEN", "This origin is not registered");
    ctx.set({
      "Access-Control-Allow-Methods": "GET, POST",
      "Access-Control-Allow-Headers": ALLOWED,
      "Access-Control-Max-Age": "600",
    });
    ctx.status = 204;
  }
}
