/** POST /session, which only an API key reaches, and POST /session/exchange, which has no credential yet. */
import type { ParameterizedContext } from "koa";
import { exchangeRequest, sessionRequest } from "../../../shared/api/credentials.ts";
import { parse } from "../../base/http/parse.ts";
import type { Handlers } from "../../base/http/routes.ts";
import type { Exchange } from "./exchange.service.ts";
import type { Sessions } from "./sessions.service.ts";

export function sessionRoutes(
  sessions: Sessions,
  exchange: Exchange,
  addressOf: (ctx: ParameterizedContext) => string,
): Handlers<"createSession" | "sessionExchange"> {
  return {
    async createSession(ctx) {
      const { sub, perms, ttl_secs: ttlSecs } = parse(sessionRequest, ctx.state.json, "body");
      ctx.status = 201;
      ctx.body = await sessions.mint(ctx.state.principal.developerId, { sub, perms, ttlSecs });
    },

    async sessionExchange(ctx) {
      const origin = ctx.get("Origin");
      const request = parse(exchangeRequest, ctx.state.json, "body");
      ctx.body = await exchange.exchange(request, {
        address: addressOf(ctx),
        origin: origin === "" ? undefined : origin,
      });
      ctx.status = 201;
    },
  };
}
