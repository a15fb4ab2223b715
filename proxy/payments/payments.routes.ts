/** POST /sequence/<kind>, /attest/<kind> and /relay, and GET /sequence/ticket/:ticket_id, which takes a statement hash as well. */
import { checksumAddress } from "../../shared/api/checksum.ts";
import { ticketPath, type AttestResponse, type RelayBody } from "../../shared/api/transactions.ts";
import { toHex } from "../../shared/protocol/bytes.ts";
import type { Kind } from "../../shared/protocol/statements.ts";
import { parse } from "../http/parse.ts";
import type { Handler, Handlers } from "../http/routes.ts";
import { ownerOf } from "../http/state.ts";
import { answerTicket } from "./answer.ts";
import { readAttestBody, readRelayBody, readSequenceBody, type Body } from "./body.ts";
import type { Payments, SendableStatement } from "./payments.service.ts";
import type { Tickets } from "./tickets.ts";

export type PaymentEndpoint =
  | `sequence${"Deposit" | "Spend" | "Spend9" | "Swap"}`
  | `attest${"Deposit" | "Spend" | "Spend9" | "Swap"}`
  | "relay"
  | "ticket";

export function paymentRoutes(payments: Payments, tickets: Tickets): Handlers<PaymentEndpoint> {
  async function accept(ctx: Parameters<Handler>[0], body: Body | RelayBody): Promise<void> {
    const { principal, requestId } = ctx.state;
    const ticket = await payments.accept(ownerOf(principal), body, requestId);
    const answer = await answerTicket(tickets, ticket, ctx.get("Prefer"));
    ctx.status = answer.status;
    ctx.set(answer.headers);
    ctx.body = answer.ticket;
  }
  const sequence =
    (kind: Kind): Handler =>
    (ctx) =>
      accept(ctx, readSequenceBody(kind, ctx.state.json));
  const attest =
    (kind: Kind): Handler =>
    async (ctx) => {
      const { principal, json } = ctx.state;
      ctx.body = toResponse(await payments.attest(principal.developerId, readAttestBody(kind, json)));
    };

  return {
    sequenceDeposit: sequence("deposit-shield"),
    sequenceSpend: sequence("spend"),
    sequenceSpend9: sequence("spend9"),
    sequenceSwap: sequence("private-swap"),
    attestDeposit: attest("deposit-shield"),
    attestSpend: attest("spend"),
    attestSpend9: attest("spend9"),
    attestSwap: attest("private-swap"),
    relay: (ctx) => accept(ctx, readRelayBody(ctx.state.json)),
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
