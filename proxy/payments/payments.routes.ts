/** POST /sequence/<kind>, /attest/<kind> and /relay, and GET /sequence/ticket/:ticket_id, which takes a statement hash as well. */
import { checksumAddress } from "../../shared/api/checksum.ts";
import { relayBody, ticketPath, type AttestResponse } from "../../shared/api/transactions.ts";
import { toHex } from "../../shared/protocol/bytes.ts";
import type { Kind } from "../../shared/protocol/statements.ts";
import { parse } from "../http/parse.ts";
import type { Handler, Handlers } from "../http/routes.ts";
import { ownerOf } from "../http/state.ts";
import type { TicketRecord } from "../store/tickets.ts";
import { answerTicket } from "./answer.ts";
import type { Attest, SendableStatement } from "./attest.service.ts";
import { toAttest, toSequence } from "./body.ts";
import type { Relay } from "./relay.service.ts";
import type { Sequence } from "./sequence.service.ts";
import type { Tickets } from "./tickets.ts";

export type PaymentEndpoint =
  | `sequence${"Deposit" | "Spend" | "Spend9" | "Swap"}`
  | `attest${"Deposit" | "Spend" | "Spend9" | "Swap"}`
  | "relay"
  | "ticket";

export function paymentRoutes(
  sequence: Sequence,
  attest: Attest,
  relay: Relay,
  tickets: Tickets,
): Handlers<PaymentEndpoint> {
  async function answer(ctx: Parameters<Handler>[0], ticket: TicketRecord): Promise<void> {
    const { status, headers, ticket: body } = await answerTicket(tickets, ticket, ctx.get("Prefer"));
    ctx.status = status;
    ctx.set(headers);
    ctx.body = body;
  }
  const sequenceOf =
    (kind: Kind): Handler =>
    async (ctx) => {
      const { principal, json, requestId } = ctx.state;
      await answer(ctx, await sequence.accept(ownerOf(principal), toSequence(kind, json), requestId));
    };
  const attestOf =
    (kind: Kind): Handler =>
    async (ctx) => {
      const { developerId } = ctx.state.principal;
      ctx.body = toResponse(await attest.attest(developerId, toAttest(kind, ctx.state.json)));
    };

  return {
    sequenceDeposit: sequenceOf("deposit-shield"),
    sequenceSpend: sequenceOf("spend"),
    sequenceSpend9: sequenceOf("spend9"),
    sequenceSwap: sequenceOf("private-swap"),
    attestDeposit: attestOf("deposit-shield"),
    attestSpend: attestOf("spend"),
    attestSpend9: attestOf("spend9"),
    attestSwap: attestOf("private-swap"),
    async relay(ctx) {
      const { principal, json, requestId } = ctx.state;
      const body = parse(relayBody, json, "body");
      await answer(ctx, await relay.relay(ownerOf(principal), body, requestId));
    },
    async ticket(ctx) {
      const { ticket_id: named } = parse(ticketPath, ctx.params, "path");
      ctx.set("Cache-Control", "no-store");
      ctx.body = await tickets.view(await tickets.find(ownerOf(ctx.state.principal), named));
    },
  };
}

function toResponse({ statement, attestations, calldata }: SendableStatement): AttestResponse {
  return {
    kind: statement.kind,
    statement: statement.hash,
    deadline: Number(statement.deadline),
    attestations: attestations.map(({ signer, signature }) => ({
      signer: checksumAddress(signer),
      signature: toHex(signature),
    })),
    transaction: {
      to: checksumAddress(statement.home.pool),
      data: calldata,
      chain_id: Number(statement.home.chainId),
    },
  };
}
