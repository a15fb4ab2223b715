/** Why the pool would not execute a ticket, in the ticket's own terms; where the token said no, its state is asked. */
import type { PoolReason } from "../chain/pool.ts";
import type { Tokens } from "../chain/token.ts";
import type { TicketError } from "../store/tickets.ts";
import type { OpenTicket } from "./queue.ts";
import { judge, TICKET_ERRORS } from "./reasons.ts";

/** Undefined when the attestation is to blame. `tipTime`: the newest block's, Unix seconds. */
export async function explainRefusal(
  tokens: Tokens,
  { kind, statement, deposit }: Pick<OpenTicket, "kind" | "statement" | "deposit">,
  reason: PoolReason,
  tipTime: number,
): Promise<TicketError | undefined> {
  const verdict = judge(reason);
  switch (verdict.kind) {
    case "hold":
      return verdict.error;
    case "attest-again":
      return undefined;
    case "too-dear":
      return kind === "private-swap" ? TICKET_ERRORS.routeUnavailable : TICKET_ERRORS.transferRefused;
    case "ask-token": {
      if (deposit === undefined) return TICKET_ERRORS.transferRefused;
      const { token, depositor, amount, validBefore } = deposit;
      if ((await tokens.isAuthorizationUsed(token, depositor, statement)) === true)
        return TICKET_ERRORS.authorizationUsed;
      if (validBefore <= BigInt(tipTime)) return TICKET_ERRORS.authorizationExpired;
      if ((await tokens.balanceOf(token, depositor)) < amount) return TICKET_ERRORS.insufficientFunds;
      return TICKET_ERRORS.transferRefused;
    }
  }
}
