/** One id per request, for the caller, the log and the problem document. The caller's own is taken when it is a sane token. */
import { randomUUID } from "node:crypto";
import type { Middleware } from "koa";
import type { RequestState } from "./state.ts";

const SANE = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;
/** A credential put here by mistake would go to the log under a harmless name. */
const CREDENTIAL = /(ck|sst)_/;

export function requestId(): Middleware<RequestState> {
  return (ctx, next) => {
    const given = ctx.get("X-Request-Id");
    const isTaken = given !== "" && SANE.test(given) && !CREDENTIAL.test(given);
    ctx.state.requestId = isTaken ? given : randomUUID();
    ctx.res.setHeader("X-Request-Id", ctx.state.requestId);
    return next();
  };
}
