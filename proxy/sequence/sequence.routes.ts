/** POST /sequence/deposit-shield, POST /sequence/spend and GET /sequence/ticket/:ticket_id. */
import Router from "@koa/router";
import { depositBody, spendBody, ticketPath } from "../../shared/api/transactions.ts";
import { parse } from "../http/parse.ts";
import { ownerOf, type RequestState } from "../http/state.ts";
import { answerTicket, type TicketAnswer } from "../submission/answer.ts";
import type { Submission } from "../submission/admission.ts";
import type { Tickets } from "../submission/tickets.ts";
import type { Sequence } from "./sequence.service.ts";

export function sequenceRoutes(sequence: Sequence, tickets: Tickets): Router<RequestState> {
  const router = new Router<RequestState>();

  async function accept(state: RequestState, submission: Submission, prefer: string): Promise<TicketAnswer> {
    const ticket = await sequence.accept(ownerOf(state.principal), submission);
    return answerTicket(tickets, ticket, prefer);
  }

  router.post("/sequence/deposit-shield", async (ctx) => {
    const body = parse(depositBody, ctx.state.json, "body");
    const answer = await accept(ctx.state, { kind: "deposit-shield", body }, ctx.get("Prefer"));
    ctx.status = answer.status;
    ctx.set(answer.headers);
    ctx.body = answer.ticket;
  });

  router.post("/sequence/spend", async (ctx) => {
    const body = parse(spendBody, ctx.state.json, "body");
    const answer = await accept(ctx.state, { kind: "spend", body }, ctx.get("Prefer"));
    ctx.status = answer.status;
    ctx.set(answer.headers);
    ctx.body = answer.ticket;
  });

  router.get("/sequence/ticket/:ticket_id", async (ctx) => {
    const { ticket_id: id } = parse(ticketPath, ctx.params, "path");
    ctx.set("Cache-Control", "no-store");
    ctx.body = await tickets.view(await tickets.find(ownerOf(ctx.state.principal), id));
  });

  return router;
}
