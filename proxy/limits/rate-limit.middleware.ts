/** Charges each authenticated request and says how the caller stands (IETF draft-ietf-httpapi-ratelimit-headers). */
import type { Middleware } from "koa";
import type { RequestState } from "../http/state.ts";
import type { Limits } from "./limits.ts";

export function rateLimit(limits: Limits): Middleware<RequestState> {
  return async (ctx, next) => {
    const { principal, limitOverrides } = ctx.state;
    const refusal = limits.take(principal, limitOverrides);
    const standings = limits.standings(principal, limitOverrides);
    ctx.res.setHeader(
      "RateLimit-Policy",
      standings.map((s) => `"${s.policy}";q=${s.quota};w=${s.windowSecs}`).join(", "),
    );
    ctx.res.setHeader(
      "RateLimit",
      standings.map((s) => `"${s.policy}";r=${s.remaining};t=${s.resetSecs}`).join(", "),
    );
    if (refusal !== undefined) throw refusal;
    await next();
  };
}
