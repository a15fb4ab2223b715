/** POST /session. The guard has made sure of an API key. */
import Router from "@koa/router";
import { sessionRequest } from "../../shared/api/credentials.ts";
import { parse } from "../http/parse.ts";
import type { RequestState } from "../http/state.ts";
import type { Sessions } from "./sessions.service.ts";

export function sessionRoutes(sessions: Sessions): Router<RequestState> {
  return new Router<RequestState>().post("/session", async (ctx) => {
    const { sub, perms, ttl_secs: ttlSecs } = parse(sessionRequest, ctx.state.json, "body");
    ctx.status = 201;
    ctx.body = await sessions.mint(ctx.state.principal.developerId, { sub, perms, ttlSecs });
  });
}
