/** POST /relay. */
import Router from "@koa/router";
import { relayBody } from "../../shared/api/transactions.ts";
import { parse } from "../http/parse.ts";
import { ownerOf, type RequestState } from "../http/state.ts";
import { answerTicket } from "./answer.ts";
import type { Tickets } from "./tickets.ts";
import type { Relay } from "./relay.service.ts";

export function relayRoutes(relay: Relay, tickets: Tickets): Router<RequestState> {
  return new Router<RequestState>().post("/relay", async (ctx) => {
    const { principal, json, requestId } = ctx.state;
    const body = parse(relayBody, json, "body");
    const ticket = await relay.relay(ownerOf(principal), body, requestId);
    const answer = await answerTicket(tickets, ticket, ctx.get("Prefer"));
    ctx.status = answer.status;
    ctx.set(answer.headers);
    ctx.body = answer.ticket;
  });
}
