/**
 * The HTTP surface on one page: what every request passes, in this order, and every mounted route. A
 * request is known, counted and allowed before its body is read.
 */
import Koa from "koa";
import type { Endpoint, EndpointName, Step } from "../../shared/api/endpoints.ts";
import { openApiDocument } from "../../shared/api/openapi.ts";
import type { Auth } from "./auth/auth.ts";
import { credential } from "./auth/credential.middleware.ts";
import { refuseSwaps, requireAccess, type Switches } from "./auth/require.middleware.ts";
import { balanceRoutes } from "./balances/balances.routes.ts";
import type { Balances } from "./balances/balances.service.ts";
import { accessLog } from "../base/http/access-log.ts";
import { jsonBody } from "../base/http/body.ts";
import { clientAddress } from "../base/http/client-address.ts";
import { compression } from "../base/http/compression.ts";
import { cors } from "../base/http/cors.ts";
import { errorHandler } from "../base/http/error-handler.ts";
import { requestId } from "../base/http/request-id.ts";
import { apiVersion, responseHeaders } from "../base/http/response-headers.ts";
import { mountOtherMethods, mountRoutes, nothingHere, type Handlers } from "../base/http/routes.ts";
import type { RequestState } from "../base/http/state.ts";
import { badProofs } from "./limits/bad-proofs.middleware.ts";
import { idempotency } from "./limits/idempotency.middleware.ts";
import type { Limits } from "../base/limits/limits.ts";
import { rateLimit } from "./limits/rate-limit.middleware.ts";
import type { Logger } from "../base/logging.ts";
import { createMetrics, type Metrics } from "../base/observe/metrics.ts";
import type { UsageCounter } from "./limits/usage-counter.ts";
import type { OwnHops } from "../base/own-hops.ts";
import type { Exchange } from "./sessions/exchange.service.ts";
import { sessionRoutes } from "./sessions/sessions.routes.ts";
import type { Sessions } from "./sessions/sessions.service.ts";
import { statusRoutes } from "./status/status.routes.ts";
import type { Status } from "./status/status.service.ts";
import type { IdempotencyStore } from "../base/store/idempotency.ts";

/** Those whose handlers their features make; the others are put together here. */
export type FeatureEndpoint = Exclude<
  EndpointName,
  "health" | "info" | "whoami" | "openapi" | "createSession" | "sessionExchange" | "balance"
>;

export interface AppParts {
  readonly config: Switches;
  /** Our own proxies in front of this one. */
  readonly hops: OwnHops;
  readonly logger: Logger;
  readonly auth: Auth;
  readonly limits: Limits;
  readonly idempotency: IdempotencyStore;
  readonly sessions: Sessions;
  readonly exchange: Exchange;
  readonly status: Status;
  readonly balances: Balances;
  readonly handlers: Handlers<FeatureEndpoint>;
  /** Default: counted for nobody. */
  readonly metrics?: Pick<Metrics, "request" | "refused">;
  readonly usage?: Pick<UsageCounter, "count">;
  /** Milliseconds. */
  readonly now?: () => number;
}

const UNCOUNTED = { count: () => undefined };
const GONE: ReadonlySet<string> = new Set(["ERR_STREAM_PREMATURE_CLOSE", "ECONNRESET", "EPIPE"]);

export function createApp(parts: AppParts): Koa<RequestState> {
  const { config, logger, auth, limits, metrics = createMetrics(), now = Date.now } = parts;
  const app = new Koa<RequestState>();

  // What Koa itself catches (a broken answer after the error handler): logged by us, not on stderr.
  app.on("error", (error: unknown) => {
    if (isGone(error)) logger.debug("a caller left in the middle");
    else logger.error({ err: error }, "answer failed");
  });

  app.use(requestId());
  app.use(accessLog(logger, metrics, parts.usage ?? UNCOUNTED));
  app.use(responseHeaders());
  app.use(compression());
  app.use(errorHandler(logger, metrics));
  app.use(cors(() => auth.origins()));
  app.use(apiVersion());
  const addressOf = clientAddress(parts.hops);
  app.use(credential(auth, limits, addressOf));
  app.use(rateLimit(limits, addressOf));
  const handlers: Handlers = {
    ...statusRoutes(parts.status, openApiDocument),
    ...sessionRoutes(parts.sessions, parts.exchange, addressOf),
    ...balanceRoutes(parts.balances),
    ...parts.handlers,
  };
  const proofs = badProofs(limits);
  const body = jsonBody();
  const swaps = refuseSwaps(config);
  const once = idempotency(parts.idempotency, limits, now, (error) =>
    logger.error({ err: error }, "idempotency record not kept"),
  );
  const steps: Readonly<Record<Step, (endpoint: Endpoint) => Koa.Middleware<RequestState>>> = {
    access: (endpoint) => requireAccess(endpoint, config),
    proofs: () => proofs,
    body: () => body,
    swaps: () => swaps,
    once: () => once,
  };
  app.use(mountRoutes(handlers, (endpoint) => endpoint.steps.map((step) => steps[step](endpoint))));
  app.use(mountOtherMethods());
  app.use(nothingHere);
  return app;
}

/**
 * A connection that ended in the middle of an answer (how every event stream ends) or of a body: the
 * caller's affair, which must not fill the log with errors at anybody's will.
 */
function isGone(error: unknown): boolean {
  if (!(error instanceof Error) || !("code" in error) || typeof error.code !== "string") return false;
  return GONE.has(error.code) || error.code.startsWith("HPE_");
}
