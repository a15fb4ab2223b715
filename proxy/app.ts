/**
 * The HTTP surface on one page: what every request passes, in this order, and every mounted route. A
 * request is known, counted and allowed before its body is read.
 */
import type Router from "@koa/router";
import Koa from "koa";
import { ENDPOINTS, type Endpoint } from "../shared/api/endpoints.ts";
import { openApiDocument } from "../shared/api/openapi.ts";
import type { Auth } from "./auth/auth.ts";
import { credential } from "./auth/credential.middleware.ts";
import { guard, guardKind, type Switches } from "./auth/require.middleware.ts";
import { balanceRoutes } from "./balances/balances.routes.ts";
import type { Balances } from "./balances/balances.service.ts";
import { accessLog } from "./http/access-log.ts";
import { jsonBody } from "./http/body.ts";
import { clientAddress } from "./http/client-address.ts";
import { compression } from "./http/compression.ts";
import { cors } from "./http/cors.ts";
import { errorHandler } from "./http/error-handler.ts";
import { requestId } from "./http/request-id.ts";
import { apiVersion, responseHeaders } from "./http/response-headers.ts";
import type { RequestState } from "./http/state.ts";
import { badProofs } from "./limits/bad-proofs.middleware.ts";
import { idempotency } from "./limits/idempotency.middleware.ts";
import type { Limits } from "./limits/limits.ts";
import { rateLimit } from "./limits/rate-limit.middleware.ts";
import type { Logger } from "./logging.ts";
import { createMetrics, type Metrics } from "./observe/metrics.ts";
import type { OwnHops } from "./own-hops.ts";
import type { Exchange } from "./sessions/exchange.service.ts";
import { sessionRoutes } from "./sessions/sessions.routes.ts";
import type { Sessions } from "./sessions/sessions.service.ts";
import { statusRoutes } from "./status/status.routes.ts";
import type { Status } from "./status/status.service.ts";
import type { IdempotencyStore } from "./store/idempotency.ts";

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
  /** Routes of the money path, made by their features and mounted below. */
  readonly routers: {
    readonly merkle: Router<RequestState>;
    readonly events: Router<RequestState>;
    /** /sequence/<kind> and the tickets. */
    readonly sequence: Router<RequestState>;
    readonly attest: Router<RequestState>;
    readonly relay: Router<RequestState>;
    readonly swap: Router<RequestState>;
  };
  /** Default: counted for nobody. */
  readonly metrics?: Pick<Metrics, "request" | "refused">;
  /** Milliseconds. */
  readonly now?: () => number;
}

const GONE: ReadonlySet<string> = new Set(["ERR_STREAM_PREMATURE_CLOSE", "ECONNRESET", "EPIPE"]);

export function createApp(parts: AppParts): Koa<RequestState> {
  const { config, logger, auth, limits, routers, metrics = createMetrics(), now = Date.now } = parts;
  const app = new Koa<RequestState>();

  // What Koa itself catches (a broken answer after the error handler): logged by us, not on stderr.
  app.on("error", (error: unknown) => {
    if (isGone(error)) logger.debug("a caller left in the middle");
    else logger.error({ err: error }, "answer failed");
  });

  app.use(requestId());
  app.use(accessLog(logger, metrics));
  app.use(responseHeaders());
  app.use(compression());
  app.use(errorHandler(logger, metrics));
  app.use(cors(() => auth.origins()));
  app.use(apiVersion());
  const addressOf = clientAddress(parts.hops);
  app.use(credential(auth, limits, addressOf));
  app.use(rateLimit(limits, addressOf));
  app.use(guard(config));
  app.use(badProofs(limits));
  app.use(jsonBody());
  app.use(guardKind(config));
  app.use(
    idempotency(parts.idempotency, now, (error) =>
      logger.error({ err: error }, "idempotency record not kept"),
    ),
  );

  const mounted = [
    statusRoutes(parts.status, openApiDocument), //  /health /info /whoami /openapi.json
    sessionRoutes(parts.sessions, parts.exchange, addressOf), // /session /session/exchange
    balanceRoutes(parts.balances), //                /balance/usdc
    routers.merkle, //                               /merkle/root /merkle/tree
    routers.events, //                               /events/stream
    routers.sequence, //                             /sequence/…
    routers.attest, //                               /attest/…
    routers.relay, //                                /relay
    routers.swap, //                                 /swap/quote
  ];
  app.use(dispatch(mounted));
  return app;
}

/**
 * The guard has found the endpoint already, so its route is called without being looked for again. The table and
 * the routes are written in different places; a gap between them ends the start, not a request.
 */
function dispatch(routers: readonly Router<RequestState>[]): Koa.Middleware<RequestState> {
  const unused = new Set(routers.flatMap((router) => router.stack));
  const routes = new Map<Endpoint, Koa.Middleware<RequestState>>();
  const missing: string[] = [];
  for (const endpoint of Object.values<Endpoint>(ENDPOINTS)) {
    const { method } = endpoint;
    const path = routePath(endpoint.path);
    const layer = [...unused].find((one) => one.path === path && one.methods.includes(method));
    if (layer === undefined) {
      missing.push(`${method} ${path}`);
      continue;
    }
    unused.delete(layer);
    const [handler, second] = layer.stack;
    if (handler === undefined || second !== undefined)
      throw new Error(`${method} ${path} has not one handler but ${String(layer.stack.length)}`);
    const hasParams = layer.paramNames.length > 0;
    routes.set(endpoint, (ctx, next) => {
      const routed = ctx as Parameters<typeof handler>[0];
      routed.params = hasParams ? layer.params(ctx.path, layer.captures(ctx.path)) : {};
      return handler(routed, next) as Promise<void>;
    });
  }
  const surplus = [...unused].map(({ methods, path }) => `${methods.at(-1) ?? ""} ${String(path)}`);
  if (missing.length + surplus.length > 0) {
    throw new Error(
      `routes and ENDPOINTS differ: missing ${missing.join(", ") || "none"}; surplus ${surplus.join(", ") || "none"}`,
    );
  }
  return (ctx, next) => routes.get(ctx.state.endpoint)?.(ctx, next) as Promise<void> | undefined;
}

/** The table says `{ticket_id}`, the router `:ticket_id`. */
function routePath(template: string): string {
  return template.includes("{") ? template.replaceAll(/\{([a-z_]+)\}/g, ":$1") : template;
}

/**
 * A connection that ended in the middle of an answer (how every event stream ends) or of a body: the
 * caller's affair, which must not fill the log with errors at anybody's will.
 */
function isGone(error: unknown): boolean {
  if (!(error instanceof Error) || !("code" in error) || typeof error.code !== "string") return false;
  return GONE.has(error.code) || error.code.startsWith("HPE_");
}
