// The edge with routes of the money path that read and refuse as the service's own do; then its stage ends.
import Router from "@koa/router";
import { eventsRoutes } from "../../../proxy/events/events.routes.ts";
import { parse } from "../../../proxy/http/parse.ts";
import type { RequestState } from "../../../proxy/http/state.ts";
import { toAttest, toSequence } from "../../../proxy/payments/body.ts";
import { swapRoutes } from "../../../proxy/swap/swap.routes.ts";
import { merkleTreeQuery } from "../../../shared/api/data.ts";
import { relayBody, ticketPath } from "../../../shared/api/transactions.ts";
import { KIND_NAMES } from "../../../shared/protocol/statements.ts";
import { absent, startEdge, type Edge, type EdgeOptions } from "./edge.ts";

/** Refused credentials and exchanges are not slowed down: these tests send nothing else. */
export function startReadingEdge(options: EdgeOptions): Promise<Edge> {
  const limits = { failuresPerMinute: 1_000_000_000, exchangesPerMinute: 1_000_000_000 };
  return startEdge({ ...options, routers: readingRouters(), limits });
}

/** As the service's own routes read a request; then the stage ends. */
function readingRouters(): NonNullable<EdgeOptions["routers"]> {
  const sequence = new Router<RequestState>();
  const attest = new Router<RequestState>();
  for (const kind of KIND_NAMES) {
    sequence.post(`/sequence/${kind}`, (ctx) => absent(toSequence(kind, ctx.state.json)));
    attest.post(`/attest/${kind}`, (ctx) => absent(toAttest(kind, ctx.state.json)));
  }
  sequence.get("/sequence/ticket/:ticket_id", (ctx) => absent(parse(ticketPath, ctx.params, "path")));
  return {
    sequence,
    attest,
    relay: new Router<RequestState>().post("/relay", (ctx) =>
      absent(parse(relayBody, ctx.state.json, "body")),
    ),
    swap: swapRoutes({ quote: async () => absent() }),
    merkle: new Router<RequestState>()
      .get("/merkle/root", () => absent())
      .get("/merkle/tree", (ctx) => absent(parse(merkleTreeQuery, ctx.query, "query"))),
    events: eventsRoutes({ read: () => absent(), close: () => undefined }, { openStream: () => absent() }),
  };
}
