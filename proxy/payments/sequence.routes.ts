/** POST /sequence/<kind> for every kind, and GET /sequence/ticket/:ticket_id, which takes a statement hash as well. */
import Router from "@koa/router";
import { ticketPath } from "../../shared/api/transactions.ts";
import { KIND_NAMES } from "../../shared/protocol/statements.ts";
import { parse } from "../http/parse.ts";
import { ownerOf, type RequestState } from "../http/state.ts";
import { answerTicket } from "./answer.ts";
import { toSequence } from "./body.ts";
import type { Tickets } from "./tickets.ts";
import type { Sequence } from "./sequence.service.ts";

export function sequenceRoutes(sequence: Sequence, tickets: Tickets): Router<RequestState> {
  const router = new Router<RequestState>();

  for (const kind of KIND_NAMES) {
    router.post(`/sequence/${kind}`, async (ctx) => {
      const { principal, json, requestId } = ctx.state;
      const ticket = await sequence.accept(ownerOf(principal), toSequence(kind, json), requestId);
      const answer = await answerTicket(tickets, ticket, ctx.get("Prefer"));
      ctx.status = answer.status;
      ctx.set(answer.headers);
      ctx.body = answer.ticket;
    });
  }

  router.get("/sequence/ticket/:ticket_id", async (ctx) => {
    const { ticket_id: named } = parse(ticketPath, ctx.params, "path");
    ctx.set("Cache-Control", "no-store");
    ctx.body = await tickets.view(await tickets.find(ownerOf(ctx.state.principal), named));
  });

  return router;
}
