/** One line and one count a request. The path is logged without its query, because `?session=` is a credential; bodies and headers never. */
import type { Middleware } from "koa";
import type { Logger } from "../logging.ts";
import type { Metrics } from "../observe/metrics.ts";
import type { Endpoint } from "../../../shared/api/endpoints.ts";
import type { ErrorCode } from "../../../shared/api/errors.ts";
import type { RequestState } from "./state.ts";

const MAX_PATH = 200;

/** Where the requests of each developer are counted; `code` is that of a refusal. */
interface Usage {
  count(developerId: string, endpoint: Endpoint | undefined, code: ErrorCode | undefined): void;
}

export function accessLog(
  logger: Logger,
  metrics: Pick<Metrics, "request">,
  usage: Usage,
): Middleware<RequestState> {
  // Its fields are the few below, under names that are never redacted, so they need not be searched each time.
  const log = logger.child({}, { redact: [] });
  return (ctx, next) => {
    const startedAt = performance.now();
    const { state, res, method } = ctx;
    const path = loggable(ctx.path);
    // Whatever else it says: who sends it can only be left out of the figure.
    const isHeld = /\bwait\b/i.test(ctx.get("Prefer"));
    // Comes once; `once` would keep three objects more for each open stream.
    res.on("close", () => {
      const ms = performance.now() - startedAt;
      // Absent until they are known.
      const { principal, endpoint, refusal } = state as Partial<RequestState>;
      // Koa's own 404 stands until an answer is decided: one that was never sent is a caller who left.
      const isLeft = res.statusCode === 404 && !res.headersSent;
      const status = isLeft ? undefined : res.statusCode;
      metrics.request(endpoint, status, ms / 1000, isHeld);
      if (principal !== undefined) usage.count(principal.developerId, endpoint, refusal);
      log.info(
        {
          request_id: state.requestId,
          method,
          path,
          status,
          ms: Math.round(ms * 10) / 10,
          finished: res.writableFinished,
          ...(principal === undefined
            ? {}
            : { developer: principal.developerId, credential: principal.kind }),
        },
        "request",
      );
    });
    return next();
  };
}

/** Somebody will paste a credential into a path one day. */
function loggable(path: string): string {
  const short = path.slice(0, MAX_PATH);
  return /(ck|sst)_/.test(short) ? short.replaceAll(/(ck|sst)_[^/]*/g, "$1_(not logged)") : short;
}
