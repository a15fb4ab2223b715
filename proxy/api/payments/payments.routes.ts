/** POST /sequence/<kind>, /attest/<kind> and /relay, and GET /sequence/ticket/:ticket_id, which takes a statement hash as well. */
import { checksumAddress } from "../../../shared/api/checksum.ts";
import { ticketPath, type AttestResponse, type RelayBody } from "../../../shared/api/transactions.ts";
import { toHex } from "../../../shared/protocol/bytes.ts";
import type { Kind } from "../../../shared/protocol/statements.ts";
import { parse } from "../../base/http/parse.ts";
import type { Handler, Handlers } from "../../base/http/routes.ts";
import { ownerOf } from "../../base/http/state.ts";
import { isExecuted } from "../../base/store/ticket-states.ts";
import { readAttestBody, readRelayBody, readSequenceBody, type Body } from "./body.ts";
import type { Payments } from "./payments.service.ts";
import type { Tickets } from "./tickets.ts";

export type PaymentEndpoint =
  | `sequence${"Deposit" | "Spend" | "Spend9" | "Swap"}`
  | `attest${"Deposit" | "Spend" | "Spend9" | "Swap"}`
  | "relay"
  | "ticket";

const MAX_WAIT_SECS = 30;

export function paymentRoutes(payments: Payments, tickets: Tickets): Handlers<PaymentEndpoint> {
  /** 202 at once, or after `Prefer: wait=N` 200 if it was executed in time. */
  async function accept(ctx: Parameters<Handler>[0], body: Body | RelayBody): Promise<void> {
    const { principal, requestId } = ctx.state;
    const accepted = await payments.accept(ownerOf(principal), body, requestId);
    const wait = preferredWait(ctx.get("Prefer"));
    const ticket =
      wait === undefined || wait === 0 ? accepted : await tickets.settled(accepted.id, wait * 1000);
    const shown = await tickets.view(ticket);
    ctx.status = wait !== undefined && isExecuted(ticket.status) ? 200 : 202;
    ctx.set("Location", `/sequence/ticket/${ticket.id}`);
    if (wait !== undefined) ctx.set("Preference-Applied", `wait=${String(wait)}`);
    ctx.body = shown;
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

/**
 * Seconds of `wait` in a Prefer header (RFC 7240, section 4.3), at most 30; undefined when it asks for none. A preference
 * that makes no sense is ignored, as that RFC says.
 */
export function preferredWait(prefer: string): number | undefined {
  for (const preference of prefer.split(",")) {
    const match = /^\s*wait\s*=\s*"?([0-9]{1,9})"?\s*(;.*)?$/i.exec(preference);
    if (match?.[1] !== undefined) return Math.min(Number(match[1]), MAX_WAIT_SECS);
  }
  return undefined;
}

type Sendable = Awaited<ReturnType<Payments["attest"]>>;

function toResponse({ statement, attestations, calldata }: Sendable): AttestResponse {
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
