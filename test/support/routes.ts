/** Handlers on a real HTTP server behind the real error handler, for one caller with an API key. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import Koa from "koa";
import Router from "@koa/router";
import { pino } from "pino";
import { errorHandler } from "../../proxy/base/http/error-handler.ts";
import { routePath, type Handlers } from "../../proxy/base/http/routes.ts";
import type { RequestState } from "../../proxy/base/http/state.ts";
import { createMetrics } from "../../proxy/base/observe/metrics.ts";
import { ENDPOINTS, type EndpointName } from "../../shared/api/endpoints.ts";

export interface Served {
  readonly url: string;
  /** `code` of a refusal. */
  codeOf(path: string, headers?: Record<string, string>): Promise<string | undefined>;
  close(): Promise<void>;
}

export async function serveRoutes(handlers: Partial<Handlers>): Promise<Served> {
  const app = new Koa<RequestState>();
  app.on("error", () => undefined);
  app.use(errorHandler(pino({ level: "silent" }), createMetrics()));
  app.use(async (ctx, next) => {
    ctx.state.requestId = "test";
    ctx.state.principal = { kind: "api-key", developerId: "d", developerName: "D", keyId: "k" };
    ctx.state.stillGood = () => Promise.resolve(true);
    await next();
  });
  const router = new Router<RequestState>();
  for (const [name, handler] of Object.entries(handlers)) {
    const { method, path } = ENDPOINTS[name as EndpointName];
    router.register(routePath(path), [method], handler);
  }
  app.use(router.routes());
  const handle = app.callback();
  const server = createServer((request, response) => void handle(request, response));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`;
  return {
    url,
    async codeOf(path, headers = {}) {
      const body = (await (await fetch(url + path, { headers })).json()) as { code?: string };
      return body.code;
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
