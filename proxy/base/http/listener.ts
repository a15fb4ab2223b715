/**
 * Koa's middleware as what answers Node's requests. In the place of `app.callback()`, which hangs listeners on every
 * response and its connection: they take a part of each short answer's time, and keep the whole context of a stream in
 * memory for as long as it is open. What they listen for, a broken connection, ends the request in `server.ts` as well.
 */
import type { RequestListener } from "node:http";
import type Koa from "koa";
import compose from "koa-compose";
import type { RequestState } from "./state.ts";

/** Statuses without a body. */
const EMPTY: ReadonlySet<number> = new Set([204, 205, 304]);

/** The middleware leaves text or bytes as the body, or answers by itself. */
export function listenerOf(app: Koa<RequestState>): RequestListener {
  const run = compose(app.middleware);
  return (request, response) => {
    const ctx = app.createContext<RequestState>(request, response);
    // As Koa has it: what nobody decides about is not found.
    response.statusCode = 404;
    run(ctx)
      .then(() => answer(ctx))
      .catch((error: unknown) => ctx.onerror(error as Error));
  };
}

function answer(ctx: Koa.ParameterizedContext<RequestState>): void {
  const { res, status, method } = ctx;
  if (ctx.respond === false) return;
  // Nobody is there to read it, or it broke off.
  if (!ctx.writable) return void res.end();
  const body: unknown = EMPTY.has(status) ? (ctx.body = null) : ctx.body;
  // The length of what GET is answered with is in its headers.
  if (body === null || body === undefined || method === "HEAD") res.end();
  else if (typeof body === "string" || Buffer.isBuffer(body)) res.end(body);
  else throw new TypeError("a body that is neither text nor bytes");
}
