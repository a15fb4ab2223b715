// What the request path is compared with: Koa, its router and nothing else, answering JSON of the same size.

import type { AddressInfo } from "node:net";
import { createServer } from "node:http";
import Router from "@koa/router";
import Koa from "koa";
import { answer } from "../answering.ts";

/** The JSON to answer with; answered with the port. */
answer(async (body: Record<string, unknown>): Promise<number> => {
  const app = new Koa();
  const router = new Router();
  router.get("/merkle/root", (ctx) => {
    // Made again for each request, as ours is.
    ctx.body = { ...body };
  });
  app.use(router.routes());
  const handle = app.callback();
  const server = createServer((request, response) => void handle(request, response));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return (server.address() as AddressInfo).port;
});
