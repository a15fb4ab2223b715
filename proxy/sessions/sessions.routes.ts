/** POST /session, for which the guard has made sure of an API key, and POST /session/exchange, which has no credential yet. */
import Router from "@koa/router";
import type { ParameterizedContext } from "koa";
import { exchangeRequest, sessionRequest } from "../../shared/api/credentials.ts";
import { parse } from "../http/parse.ts";
import type { RequestState } from "../http/state.ts";
import type { Exchange } from "./exchange.service.ts";
import type { Sessions } from "./sessions.service.ts";

export function sessionRoutes(
  sessions: Sessions,
  exchange: Exchange,
  addressOf: (ctx: ParameterizedContext) => string,
): Router<RequestState> {
  const router = new Router<RequestState>();

  router.post("/session", async (ctx) => {
    const { sub, perms, ttl_secs: ttlSecs } = parse(sessionRequest, ctx.state.json, "body");
    ctx.status = 201;
    ctx.body = await sessions.mint(ctx.state.principal.developerId, { sub, perms, ttlSecs });
  });

  router.post("/session/exchange", async (ctx) => {
    const origin = ctx.get("Origin");
    const request = parse(exchangeRequest, ctx.state.json, "body");
    ctx.body = await exchange.exchange(request, {
      address: addressOf(ctx),
      origin: origin === "" ? undefined : origin,
    });
    ctx.status = 201;
  });

  return router;
}
