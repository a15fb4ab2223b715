/**
 * Tends what was sent until it is final: mined, refused by the pool, stuck, dropped by the node, or beaten
 * to its nonce by a transaction that is not ours. Decides nothing about tickets that were executed; the
 * index does.
 */
import type { Header, Receipt } from "../../base/chain/provider.ts";
import type { Bytes32 } from "../../../shared/protocol/brands.ts";
import type { IndexedBlock } from "../../base/store/chain-data.ts";
import type { Outgoing, TicketChange } from "../../base/store/tickets.ts";
import type { OpenTicket } from "./queue.ts";
import { explainRefusal, PATH_SHUT, TICKET_ERRORS } from "./refusals.ts";
import { traceOf } from "./reporting.ts";
import type { Sending } from "./sending.ts";
import { runsOwnCode } from "./strangers.ts";
import type { TermParts } from "./term.ts";
import { dropped, refused } from "./transitions.ts";

interface Mined {
  readonly hash: Bytes32;
  readonly block: number;
  /** Undefined while the node does not show it. */
  readonly receipt: Receipt | undefined;
}

/** Turns in a row that must miss our transaction under a used nonce before we believe it is gone. */
const MISSES_BEFORE_DROPPED = 3;

export class OutgoingCalls {
  readonly #term: TermParts;
  readonly #sending: Sending;
  /** By nonce. Forgotten with the lease, which only costs a few turns. */
  readonly #misses = new Map<number, number>();
  /** The nonce that is the chain's next one, and since when no call of ours has been before it. */
  #first: { readonly nonce: number; readonly since: number } | undefined;
  /** A nonce that nothing of ours has, and what of ours stands behind it, as the last look found it. */
  #hole: { readonly nonce: number; readonly first: Outgoing; readonly all: readonly Outgoing[] } | undefined;

  constructor(term: TermParts, sending: Sending) {
    this.#term = term;
    this.#sending = sending;
  }

  /**
   * True where something else than time and blocks must not be waited for before more is sent: a nonce of ours is used
   * and the index does not say by what, or what waits has a hole behind it. `inFlight` has what waits to be mined.
   */
  async tend(tip: IndexedBlock, finalBlock: number): Promise<boolean> {
    this.#hole = undefined;
    const outgoing = await this.#term.store.outgoing();
    const waiting: Outgoing[] = [];
    if (outgoing.length === 0) {
      this.#term.inFlight.see([], []);
      return false;
    }
    const minedCount = await this.#term.chain.nonce(this.#term.wallet.address);
    let isBusy = false;
    /** The nonce that the chain takes next, or the one after what waits to be mined. */
    let next = minedCount;
    for (const [i, entry] of outgoing.entries()) {
      if (entry.sender !== this.#term.wallet.address) {
        // The gas wallet was exchanged: its predecessor's bytes may still be mined, but not by us.
        this.#term.logger.warn({ nonce: entry.nonce }, "a transaction of another gas wallet is given up");
        await this.#giveUp(entry);
      } else if (entry.nonce < minedCount) isBusy = (await this.#tendMined(entry, tip, finalBlock)) || isBusy;
      else if (entry.nonce > next) {
        // What had the nonce was final or given up, its bytes are forgotten, and a reorganisation took it back:
        // this one can only be mined when what is sent next has filled the hole.
        this.#term.logger.warn(
          { nonce: entry.nonce, next },
          "a transaction waits behind nonces that were reorganised out",
        );
        // Of what waits, the first fills no hole before it is mined.
        if (isBusy || waiting.length > 0) isBusy = true;
        else this.#hole = { nonce: next, first: entry, all: outgoing.slice(i) };
        break;
      } else {
        await this.#tendWaiting(entry, waiting.length === 0);
        waiting.push(entry);
        next = entry.nonce + 1;
      }
    }
    this.#term.inFlight.see(outgoing, waiting);
    return isBusy;
  }

  /**
   * Where the last look found some of ours behind a nonce that nothing of ours has: the acceptance number of the oldest
   * ticket among them; what was accepted after it would pass it under that nonce. Infinity where nothing stands so.
   */
  oldestBehindHole(): number {
    const behind = (this.#hole?.all ?? []).flatMap((entry) => this.#carriedBy(entry));
    return behind.reduce((oldest, { sequence }) => Math.min(oldest, sequence), Infinity);
  }

  hasHole(): boolean {
    return this.#hole !== undefined;
  }

  /**
   * To be called when nothing new can be sent: the call of the first behind such a nonce goes under it, too. What is left
   * under its own then finds everything done.
   */
  async fillHole(head: Header): Promise<void> {
    if (this.#hole === undefined) return;
    const { nonce, first } = this.#hole;
    await this.#sending.fill(nonce, first, this.#carriedBy(first), head);
  }

  /** The nonce is used. True until the index has the block that used it. */
  async #tendMined(entry: Outgoing, tip: IndexedBlock, finalBlock: number): Promise<boolean> {
    const mined = await this.#minedAs(entry);
    if (mined === undefined) {
      const count = (this.#misses.get(entry.nonce) ?? 0) + 1;
      this.#misses.set(entry.nonce, count);
      if (count < MISSES_BEFORE_DROPPED) return true;
      // Somebody else has the wallet's key, or the wallet serves two proxies. Outcomes are read by
      // statement, so whatever that transaction did is seen; what it did not do is sent again.
      this.#term.metrics.transaction("foreign-nonce");
      this.#term.logger.fatal(
        { nonce: entry.nonce },
        "the gas wallet's nonce was used by a transaction that is not ours",
      );
      await this.#giveUp(entry);
      return false;
    }
    this.#misses.delete(entry.nonce);
    const { block } = mined;
    if (entry.minedIn !== block) {
      await this.#term.writes.markMined(entry.nonce, block);
      await this.#logMined(entry, mined);
    }
    if (block > tip.number) return true;
    await this.#releaseRefused(entry, tip);
    if (block <= finalBlock) await this.#term.writes.dropOutgoing(entry.nonce, [], this.#term.now());
    return false;
  }

  async #minedAs(entry: Outgoing): Promise<Mined | undefined> {
    for (const { hash } of entry.attempts) {
      const receipt = await this.#term.chain.receipt(hash);
      if (receipt !== undefined) return { hash, block: receipt.blockNumber, receipt };
    }
    // Of several nodes behind one address one may be late: what the index has of a member is as good. From the store,
    // because the members may be over. A member that a stranger executed first was rejected in ours.
    for (const { statement } of await this.#term.store.list(entry.ticketIds)) {
      for (const found of [this.#term.data.execution(statement), this.#term.data.rejection(statement)])
        if (found !== undefined && entry.attempts.some(({ hash }) => hash === found.txHash))
          return { hash: found.txHash, block: found.block, receipt: undefined };
    }
    return undefined;
  }

  async #logMined({ nonce, ticketIds }: Outgoing, { hash, block, receipt }: Mined): Promise<void> {
    const gasUsed = receipt?.gasUsed;
    this.#term.metrics.mined(ticketIds.length, gasUsed);
    // From the store: where one block makes it final, a ticket is over before its transaction is looked at.
    const carries = (await this.#term.store.list(ticketIds)).map(traceOf);
    // A call that failed as a whole has no member that the index would know.
    const succeeded = receipt?.succeeded ?? true;
    this.#term.logger.info(
      { nonce, tx: hash, block, gas: gasUsed?.toString(), succeeded, carries },
      "a batch is mined",
    );
  }

  /** Members that the pool refused, or that a failed call never reached, wait to be sent again. */
  async #releaseRefused(entry: Outgoing, tip: IndexedBlock): Promise<void> {
    const changes: TicketChange[] = [];
    const carried = this.#carriedBy(entry);
    const innocent = await this.#innocentOf(carried);
    for (const ticket of carried) {
      if (innocent.has(ticket.id)) {
        const status = refused(ticket.status, undefined);
        if (status !== undefined) changes.push({ id: ticket.id, status });
        continue;
      }
      const rejection = this.#term.data.rejection(ticket.statement);
      const reason = rejection === undefined ? undefined : this.#term.pool.readReason(rejection.reason);
      const error =
        reason === undefined
          ? TICKET_ERRORS.rejected
          : await explainRefusal(this.#term.tokens, ticket, reason, tip.timestamp);
      const status = refused(ticket.status, error);
      if (status === undefined) continue;
      // Closed for all alike: no ticket is put off behind others for it, and the next turn says what holds them.
      if (reason?.name !== PATH_SHUT) this.#term.backoff.refused(ticket.id, tip.number);
      this.#term.logger.warn(
        { ticket: ticket.id, reason: reason?.name },
        "the pool refused a member of a batch",
      );
      changes.push({ id: ticket.id, status });
    }
    if (changes.length === 0) return;
    const at = this.#term.now();
    await this.#term.writes.change(changes, at);
    this.#term.queue.apply(changes, at);
  }

  /**
   * Of a call that failed as a whole, where some of its members run code of their own: the others. Each is tried again at
   * once; where the fault was another one, that call says so.
   */
  async #innocentOf(carried: readonly OpenTicket[]): Promise<ReadonlySet<string>> {
    const unsaid = carried.filter(({ statement }) => this.#term.data.rejection(statement) === undefined);
    if (unsaid.length < 2) return new Set();
    const records = await this.#term.store.list(unsaid.map(({ id }) => id));
    const found = await Promise.all(records.map((record) => runsOwnCode(this.#term.tokens, record)));
    return new Set(
      found.includes(true) ? records.flatMap(({ id }, i) => (found[i] === true ? [] : [id])) : [],
    );
  }

  /** Tickets that were in this transaction and were not executed. */
  #carriedBy(entry: Outgoing): OpenTicket[] {
    return entry.ticketIds
      .map((id) => this.#term.queue.get(id))
      .filter((ticket) => ticket !== undefined)
      .filter(
        ({ status, statement }) =>
          status.state === "submitted" &&
          status.carrier === entry.nonce &&
          this.#term.data.execution(statement) === undefined,
      );
  }

  async #giveUp(entry: Outgoing): Promise<void> {
    this.#misses.delete(entry.nonce);
    const changes: TicketChange[] = [];
    for (const { id, status } of this.#carriedBy(entry)) {
      const next = dropped(status);
      if (next !== undefined) changes.push({ id, status: next });
    }
    const at = this.#term.now();
    await this.#term.writes.dropOutgoing(entry.nonce, changes, at);
    this.#term.queue.apply(changes, at);
  }

  /** Sends dropped bytes again, and pays more for stuck ones: for the first, as no fee brings another one past it. */
  async #tendWaiting(entry: Outgoing, isFirst: boolean): Promise<void> {
    const { nonce } = entry;
    const last = entry.attempts.at(-1)!;
    if (entry.minedIn !== undefined) await this.#term.writes.markMined(nonce, undefined);
    if (!(await this.#term.chain.knows(last.hash))) await this.#sending.repeat(entry);
    if (!isFirst) return;
    if (this.#first?.nonce !== nonce)
      this.#first = { nonce, since: this.#first === undefined ? last.signedAt : this.#term.now() };
    const head = await this.#term.chain.header("latest");
    const waitsSince = Math.max(last.signedAt, this.#first.since);
    if (head === undefined || this.#term.now() - waitsSince < this.#term.stuckAfterMs) return;
    await this.#sending.replace(entry, this.#carriedBy(entry), head);
  }
}
