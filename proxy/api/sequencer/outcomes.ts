/**
 * The outcome of each open ticket, read from the index and never from a receipt: the pool's events are the
 * same whoever carried the statement. The one question to the chain is whether an authorization is used up.
 */
import type { TicketErrorCode } from "../../../shared/api/errors.ts";
import { yieldToEventLoop } from "../../base/event-loop.ts";
import type { IndexedBlock, LoggedEvent } from "../../base/store/chain-data.ts";
import type { TicketChange, TicketError, TicketStatus } from "../../base/store/tickets.ts";
import { lastSecondOf, type OpenTicket } from "./queue.ts";
import { TICKET_ERRORS } from "./refusals.ts";
import { traceOf } from "./reporting.ts";
import type { TermParts } from "./term.ts";
import { settle, reorganisedOut, type Findings } from "./transitions.ts";

/** Events that are read between two pauses for the event loop. */
const EVENTS_AT_ONCE = 1_000;
const MARKET_CODES: ReadonlySet<TicketErrorCode> = new Set(["SLIPPAGE_EXCEEDED", "ROUTE_UNAVAILABLE"]);

/** The newest block that counts as final, given so many confirmations. */
export function finalBlockOf(tip: IndexedBlock, confirmations: number): number {
  return tip.number - confirmations + 1;
}

export class Outcomes {
  readonly #parts: TermParts;
  /** What was looked at last; of a branch that is gone when it is not there any more. */
  #seen: LoggedEvent | undefined;
  #hasLooked = false;

  constructor(parts: TermParts) {
    this.#parts = parts;
  }

  /** Gives every open ticket that the index has news of, or whose time has come, the state that it demands. */
  async settleAll(tip: IndexedBlock, finalBlock: number): Promise<void> {
    await this.#reopen();
    await this.#readNews(tip);
    const finalTime = this.#parts.data.blockAtOrBelow(finalBlock)?.timestamp ?? 0;
    for (const tickets of this.#parts.queue.due(finalBlock, finalTime)) {
      const changes: TicketChange[] = [];
      for (const ticket of tickets) {
        const change = await this.#settleOne(ticket, finalBlock, finalTime);
        if (change !== undefined) changes.push(change);
      }
      const at = this.#parts.now();
      if (changes.length > 0) await this.#parts.writes.change(changes, at);
      this.#parts.queue.seen(tickets);
      this.#parts.queue.apply(changes, at);
      await yieldToEventLoop();
    }
  }

  /** Another statement that took what this one needs, and the block in which it did. */
  async #takenBy(ticket: OpenTicket, finalBlock: number): Promise<Findings["takenBy"]> {
    for (const nullifier of ticket.nullifiers) {
      const spender = this.#parts.data.spender(nullifier);
      const own = [ticket.statement, ticket.confirms];
      if (spender !== undefined && !own.includes(spender.statement)) {
        return { block: spender.block, error: TICKET_ERRORS.nullifierSpent };
      }
    }
    if (!isSuspect(ticket.status)) return undefined;
    const { deposit } = ticket;
    if (deposit === undefined || finalBlock < 0) return undefined;
    // Used in a final block, and no final block executed this statement: cancelled, or used elsewhere.
    const isUsed = await this.#parts.tokens.isAuthorizationUsed(
      deposit.token,
      deposit.depositor,
      ticket.statement,
      finalBlock,
    );
    return isUsed === true ? { block: finalBlock, error: TICKET_ERRORS.authorizationUsed } : undefined;
  }

  /** Marks the tickets that the pool's newest events concern; all of them when the chain went back. */
  async #readNews(tip: IndexedBlock): Promise<void> {
    const isGone =
      this.#seen !== undefined &&
      this.#parts.data.eventAt(this.#seen.position)?.blockHash !== this.#seen.blockHash;
    if (isGone || !this.#hasLooked) {
      this.#parts.queue.markAllDue();
      this.#seen = this.#parts.data.lastEventUpTo(tip.number, ["executed"]);
      this.#hasLooked = true;
    }
    for (;;) {
      const events = this.#parts.data.eventsAfter(this.#seen?.position, EVENTS_AT_ONCE);
      for (const { event } of events) {
        if (event.kind === "executed") this.#parts.queue.markDue(event.statement, event.nullifiers);
      }
      this.#seen = events.at(-1) ?? this.#seen;
      if (events.length < EVENTS_AT_ONCE) return;
      await yieldToEventLoop();
    }
  }

  /**
   * Opens tickets again that were final in blocks which are gone: the chain went back further than the
   * confirmations, and a payment that nobody carries any more would be lost. Before all else, so that they keep
   * their place in front of what was accepted later.
   */
  async #reopen(): Promise<void> {
    const statements = this.#parts.data.reorganisedOut();
    for (const statement of statements) {
      const ticket = await this.#parts.store.byStatement(statement);
      const status = ticket && reorganisedOut(ticket.status, this.#parts.data.execution(statement));
      if (ticket === undefined || status === undefined || !("outcome" in ticket.status)) continue;
      const { txHash: tx, block } = ticket.status.outcome;
      const at = this.#parts.now();
      await this.#parts.writes.change([{ id: ticket.id, status }], at);
      this.#parts.queue.reopen({ ...ticket, status, updatedAt: at });
      this.#parts.metrics.reorganisedOut();
      this.#parts.logger.fatal(
        { ...traceOf(ticket), tx, block },
        "the chain, or a refutation, took a final ticket back; it goes on as if it had not been mined",
      );
    }
    // Written first: whoever is killed in between finds them open already.
    if (statements.length > 0) await this.#parts.data.forgetReorganisedOut(statements);
  }

  async #settleOne(
    ticket: OpenTicket,
    finalBlock: number,
    finalTime: number,
  ): Promise<TicketChange | undefined> {
    const taken = await this.#takenBy(ticket, finalBlock);
    const execution = this.#parts.data.execution(ticket.statement);
    const lastSecond = lastSecondOf(ticket);
    const findings = {
      execution,
      finalBlock,
      finalTime,
      lastSecond,
      expiry: expiryOf(ticket),
      takenBy: taken,
    };
    const status = settle(ticket.status, findings);
    const decidedIn = execution?.block ?? taken?.block;
    if (decidedIn !== undefined) this.#parts.queue.lookAgainAt(ticket.id, decidedIn);
    // Whether the authorization is used is asked of final blocks, so each new one may tell more.
    else if (isSuspect(status)) this.#parts.queue.lookAgainAt(ticket.id, finalBlock + 1);
    return status === ticket.status ? undefined : { id: ticket.id, status };
  }
}

/** Held because its authorization seems to be used up. */
function isSuspect(status: TicketStatus): boolean {
  const isOpen = status.state === "queued" || status.state === "submitted";
  return isOpen && status.error?.code === "AUTHORIZATION_USED";
}

/** What is said of a ticket whose last second has passed. */
function expiryOf(ticket: OpenTicket): TicketError {
  // The market's own reason is worth more than "too late", which the deadline tells anyway.
  const { status, deadline } = ticket;
  if ("error" in status && MARKET_CODES.has(status.error.code)) return status.error;
  return lastSecondOf(ticket) < deadline ? TICKET_ERRORS.authorizationExpired : TICKET_ERRORS.deadlinePassed;
}
