/** What every request to the dashboard passes first: an id, a line in the log, headers that bind the page, refusals as problem documents. */
import { randomUUID } from "node:crypto";
import type { Middleware } from "koa";
import type { Logger } from "../base/logging.ts";
import { logRefusal, PROBLEM_TYPE } from "../base/http/problems.ts";
import { asDashboardError, dashboardProblem } from "./errors.ts";
import type { DashboardState } from "./state.ts";

const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "font-src 'self'",
  "connect-src 'self'",
  "manifest-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  // Text of a developer's making (names, origins) can become no markup and no script, whatever a component does with it.
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join("; ");

const HEADERS = Object.entries({
  "Content-Security-Policy": POLICY,
  "Cross-Origin-Opener-Policy": "same-origin",
  "Cross-Origin-Resource-Policy": "same-origin",
  "Referrer-Policy": "no-referrer",
  "Permissions-Policy":
    "publickey-credentials-get=(self), publickey-credentials-create=(self), camera=(), microphone=(), geolocation=()",
  "X-Content-Type-Options": "nosniff",
  "X-Frame-Options": "DENY",
  // Overwritten for files whose name is a hash of what is in them.
  "Cache-Control": "no-store",
});
/** Two years, for https origins: nothing of ours is ever there over http. */
const STRICT_TRANSPORT = "max-age=63072000";

export function headers(origin: string): Middleware<DashboardState> {
  const isSecure = origin.startsWith("https:");
  return (ctx, next) => {
    ctx.state.requestId = randomUUID();
    ctx.res.setHeader("X-Request-Id", ctx.state.requestId);
    for (const [name, value] of HEADERS) ctx.res.setHeader(name, value);
    if (isSecure) ctx.res.setHeader("Strict-Transport-Security", STRICT_TRANSPORT);
    return next();
  };
}

/** Neither bodies, headers nor queries: a cookie is in them, and what people search for. */
export function log(logger: Logger): Middleware<DashboardState> {
  return async (ctx, next) => {
    const startedAt = performance.now();
    await next();
    const { signedIn, requestId } = ctx.state as Partial<DashboardState>;
    logger.info(
      {
        ...{ request_id: requestId, method: ctx.method, path: ctx.path.slice(0, 200), status: ctx.status },
        ms: Math.round((performance.now() - startedAt) * 10) / 10,
        ...(signedIn === undefined ? {} : { account: signedIn.account.id, role: signedIn.account.role }),
      },
      "request",
    );
  };
}

export function refusals(logger: Logger): Middleware<DashboardState> {
  return async (ctx, next) => {
    try {
      await next();
    } catch (thrown) {
      const error = asDashboardError(thrown);
      const { requestId } = ctx.state;
      logRefusal(logger, error, thrown, requestId);
      const problem = dashboardProblem(error, requestId);
      if (error.retryAfterSecs !== undefined) ctx.set("Retry-After", String(error.retryAfterSecs));
      ctx.set("Cache-Control", "no-store");
      ctx.status = problem.status;
      ctx.body = JSON.stringify(problem);
      ctx.type = PROBLEM_TYPE;
    }
  };
}
