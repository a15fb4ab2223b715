/**
 * What became of each open ticket, read from the index and never from a receipt: the pool's events are the
 * same whoever carried the statement. The one question to the chain is whether an authorization is used up.
 */
import type { TicketErrorCode } from "../../shared/api/errors.ts";
import type { Tokens } from "../chain/token.ts";
import type { ChainDataStore, IndexedBlock } from "../store/chain-data.ts";
import type { TicketChange, TicketRecord } from "../store/tickets.ts";
import { TICKET_ERRORS } from "./reasons.ts";
import { depositOf } from "./stored-ticket.ts";
import { settle, type Findings } from "./ticket.ts";
import type { Tickets } from "./tickets.ts";

export interface OutcomesParts {
  readonly data: ChainDataStore;
  readonly tickets: Tickets;
  readonly tokens: Tokens;
}

export interface Outcomes {
  /** Gives every open ticket the state that the index demands, in one durable write. */
  settleAll(finalBlock: number): Promise<void>;
}

const MARKET_CODES: ReadonlySet<TicketErrorCode> = new Set(["SLIPPAGE_EXCEEDED", "ROUTE_UNAVAILABLE"]);

/** The newest block that counts as final, given so many confirmations. */
export function finalBlockOf(tip: IndexedBlock, confirmations: number): number {
  return tip.number - confirmations + 1;
}

export function createOutcomes({ data, tickets, tokens }: OutcomesParts): Outcomes {
  /** Another statement that took what this one needs, and the block in which it did. */
  async function takenBy(ticket: TicketRecord, finalBlock: number): Promise<Findings["takenBy"]> {
    for (const nullifier of ticket.nullifiers) {
      const spender = data.spender(nullifier);
      if (spender !== undefined && spender.statement !== ticket.statement) {
        return { block: spender.block, error: TICKET_ERRORS.nullifierSpent };
      }
    }
    const { status } = ticket;
    const isSuspect = "error" in status && status.error.code === "AUTHORIZATION_USED";
    if (!isSuspect || (status.state !== "queued" && status.state !== "submitted")) return undefined;
    const deposit = depositOf(ticket);
    if (deposit === undefined || finalBlock < 0) return undefined;
    // Used in a final block, and no final block executed this statement: cancelled, or used elsewhere.
    const isUsed = await tokens.isAuthorizationUsed(
      deposit.token,
      deposit.depositor,
      ticket.statement,
      finalBlock,
    );
    return isUsed === true ? { block: finalBlock, error: TICKET_ERRORS.authorizationUsed } : undefined;
  }

  return {
    async settleAll(finalBlock) {
      const finalTime = data.blockAtOrBelow(finalBlock)?.timestamp ?? 0;
      const changes: TicketChange[] = [];
      for (const ticket of await tickets.open()) {
        const findings: Findings = {
          execution: data.execution(ticket.statement),
          finalBlock,
          finalTime,
          ...expiryOf(ticket),
          takenBy: await takenBy(ticket, finalBlock),
        };
        const status = settle(ticket.status, findings);
        if (status !== ticket.status) changes.push({ id: ticket.id, status });
      }
      await tickets.change(changes);
    },
  };
}

/** The last second at which the statement can execute, and what is said afterwards. */
function expiryOf(ticket: TicketRecord): Pick<Findings, "lastSecond" | "expiry"> {
  const { deadline } = ticket.transaction;
  // The market's own reason is worth more than "too late", which the deadline tells anyway.
  const { status } = ticket;
  if ("error" in status && MARKET_CODES.has(status.error.code)) {
    return { lastSecond: deadline, expiry: status.error };
  }
  const deposit = depositOf(ticket);
  // EIP-3009 is valid strictly before; the pool takes the deadline's own second.
  if (deposit !== undefined && deposit.validBefore - 1n < deadline) {
    return { lastSecond: deposit.validBefore - 1n, expiry: TICKET_ERRORS.authorizationExpired };
  }
  return { lastSecond: deadline, expiry: TICKET_ERRORS.deadlinePassed };
}
