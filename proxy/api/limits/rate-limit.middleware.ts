/** Charges each request, to its caller or to its address, and says how the caller stands (IETF draft-ietf-httpapi-ratelimit-headers). */
import type { Middleware, ParameterizedContext } from "koa";
import type { RequestState } from "../../base/http/state.ts";
import type { Counted, Limits } from "../../base/limits/limits.ts";

export function rateLimit(
  limits: Limits,
  addressOf: (ctx: ParameterizedContext) => string,
): Middleware<RequestState> {
  return async (ctx, next) => {
    // Without a credential (POST /session/exchange) there is only the address to go by.
    const { principal, limitOverrides = {} } = ctx.state as Partial<RequestState>;
    const counted: Counted = principal ?? { kind: "address", address: addressOf(ctx) };
    const { refusal, standings } = await limits.take(counted, limitOverrides);
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
