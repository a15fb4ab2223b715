/**
 * What the sequencer has to know of every ticket that is not over, in its memory, so that a long queue costs a turn
 * nothing: which are to be sent and in what order, and which the chain's news concerns. Read from the store once,
 * when the lease is taken; under it nobody else changes a ticket, so only new ones have to be noticed.
 */
import type { Bytes32, Field } from "../../../shared/protocol/brands.ts";
import {
  isExecuted,
  isOver,
  isUnderWay,
  openStateOf,
  type OpenState,
} from "../../base/store/ticket-states.ts";
import type { TicketStore } from "../../base/store/ticket-store.ts";
import type {
  TicketChange,
  TicketRecord,
  TicketStatus,
  TicketTransaction,
} from "../../base/store/tickets.ts";
import { Heap } from "./heap.ts";
import { depositOf, type DepositTerms } from "./pool-transaction.ts";
import { isWaiting } from "./transitions.ts";

/** Without proof and attestations, which are read again when it is sent: 100,000 of these fit into memory. */
export interface OpenTicket
  extends
    Pick<
      TicketRecord,
      "id" | "sequence" | "statement" | "nullifiers" | "confirms" | "status" | "requestId" | "createdAt"
    >,
    Pick<TicketTransaction, "kind" | "deadline"> {
  readonly deposit: DepositTerms | undefined;
  /** When it came into its state; after a change of the lease, when it last changed at all. For figures alone. */
  readonly since: number;
  /** Confirmed at some time, even if that block was reorganised out. For figures alone. */
  readonly wasExecuted: boolean;
}

/** Called with every change from one state to another, with the ticket as it was before. */
export type StepListener = (ticket: OpenTicket, from: OpenState, status: TicketStatus, at: number) => void;

/** How the queue stands; kept up to date, so that asking costs nothing. */
export interface QueueSize {
  readonly tickets: Readonly<Record<OpenState, number>>;
  /** When the oldest that is not executed was accepted, in milliseconds since 1970; undefined when there is none. */
  readonly oldestAt: number | undefined;
}

/** Tickets that are looked at between two pauses for the event loop. */
const SLICE = 500;

export class Queue {
  readonly #byId = new Map<string, OpenTicket>();
  readonly #byStatement = new Map<Bytes32, string>();
  readonly #byNullifier = new Map<Field, string>();
  readonly #counts: Record<OpenState, number> = { queued: 0, submitted: 0, confirmed: 0 };
  /** In order of acceptance. */
  #waiting: OpenTicket[] = [];
  /** By sequence, every ticket that is not executed; others are taken out when they come to the top, or before. */
  readonly #oldest = new Heap<string>((id) => this.#isUnderWay(id));
  /** To be looked at in the next turn. */
  readonly #due = new Set<string>();
  readonly #atBlock = new Heap<string>((id) => this.#byId.has(id));
  readonly #atSecond = new Heap<string>((id) => this.#byId.has(id));
  #lastSequence = 0;
  #stop: () => void = () => undefined;
  readonly #onStep: StepListener;

  private constructor(onStep: StepListener) {
    this.#onStep = onStep;
  }

  /** Ends with `close`. */
  static async read(
    store: Pick<TicketStore, "open" | "follow">,
    onStep: StepListener = () => undefined,
  ): Promise<Queue> {
    const tickets = new Queue(onStep);
    // Followed before reading begins, so that none is missed in between.
    const early: TicketRecord[] = [];
    let isRead = false;
    tickets.#stop = store.follow((ticket) => {
      if (isRead) tickets.#takeUp(ticket);
      else early.push(ticket);
    });
    try {
      for await (const page of store.open()) for (const ticket of page) tickets.#add(ticket);
    } catch (error) {
      tickets.close();
      throw error;
    }
    isRead = true;
    for (const ticket of early) tickets.#takeUp(ticket);
    return tickets;
  }

  close(): void {
    this.#stop();
  }

  get size(): number {
    return this.#byId.size;
  }

  /** What is kept to find tickets by their time and age: some for each that is open, and not all of them useful. */
  get reminders(): number {
    return this.#oldest.size + this.#atBlock.size + this.#atSecond.size;
  }

  get(id: string): OpenTicket | undefined {
    return this.#byId.get(id);
  }

  /** Those to be put into a transaction, in order of acceptance. */
  waiting(): readonly OpenTicket[] {
    return this.#waiting;
  }

  counts(): QueueSize {
    const id = this.#oldest.first();
    return {
      tickets: { ...this.#counts },
      oldestAt: id === undefined ? undefined : this.#byId.get(id)?.createdAt,
    };
  }

  /** Changes that the store has, and the time (milliseconds since 1970) that was written with them. */
  apply(changes: readonly TicketChange[], at: number): void {
    for (const { id, status } of changes) {
      const before = this.#byId.get(id);
      if (before === undefined) continue;
      const from = openStateOf(before.status);
      const isStep = from !== undefined && from !== status.state;
      if (openStateOf(status) === undefined) this.#remove(before);
      else {
        const since = isStep ? Math.max(at, before.since) : before.since;
        const wasExecuted = before.wasExecuted || isExecuted(status);
        this.#put({ ...before, status, since, wasExecuted }, before);
        this.#due.add(id);
      }
      if (isStep) this.#onStep(before, from, status, at);
    }
    this.#settleOldest();
  }

  /** It was final, and its block was reorganised out. */
  reopen(ticket: TicketRecord): void {
    if (!this.#byId.has(ticket.id)) this.#add(ticket, true);
  }

  /** It is over, or cannot be read. */
  forget(id: string): void {
    const ticket = this.#byId.get(id);
    if (ticket === undefined) return;
    this.#remove(ticket);
    this.#settleOldest();
  }

  #remove(ticket: OpenTicket): void {
    const { id } = ticket;
    this.#count(ticket, -1);
    this.#removeWaiting(ticket);
    this.#byId.delete(id);
    this.#due.delete(id);
    if (this.#byStatement.get(ticket.statement) === id) this.#byStatement.delete(ticket.statement);
    for (const nullifier of ticket.nullifiers)
      if (this.#byNullifier.get(nullifier) === id) this.#byNullifier.delete(nullifier);
  }

  /** A statement was executed and took these notes. */
  markDue(statement: Bytes32, nullifiers: readonly Field[]): void {
    for (const id of [
      this.#byStatement.get(statement),
      ...nullifiers.map((nullifier) => this.#byNullifier.get(nullifier)),
    ]) {
      if (id !== undefined) this.#due.add(id);
    }
  }

  markAllDue(): void {
    for (const id of this.#byId.keys()) this.#due.add(id);
  }

  /** To be looked at again when this block is final. */
  lookAgainAt(id: string, finalBlock: number): void {
    this.#atBlock.add(finalBlock, id);
  }

  /** In slices, those whose state may have changed, given the newest final block and its time (Unix seconds). Each comes again until it is `seen`. */
  *due(finalBlock: number, finalTime: number): Generator<readonly OpenTicket[]> {
    for (const id of this.#atBlock.takeUpTo(finalBlock)) if (this.#byId.has(id)) this.#due.add(id);
    for (const id of this.#atSecond.takeUpTo(finalTime)) if (this.#byId.has(id)) this.#due.add(id);
    const ids = [...this.#due];
    for (let at = 0; at < ids.length; at += SLICE) {
      yield ids
        .slice(at, at + SLICE)
        .map((id) => this.#byId.get(id))
        .filter((ticket) => ticket !== undefined);
    }
  }

  seen(tickets: readonly OpenTicket[]): void {
    for (const { id } of tickets) this.#due.delete(id);
  }

  /** Only one that came after all that we know: of the others we know more than the news, which may be late. */
  #takeUp(ticket: TicketRecord): void {
    if (!isOver(ticket.status) && ticket.sequence > this.#lastSequence) this.#add(ticket);
  }

  #add(record: TicketRecord, wasExecuted = isExecuted(record.status)): void {
    const { sequence, nullifiers, confirms, status, transaction } = record;
    const { kind, deadline } = transaction;
    const [id, statement] = [detached(record.id), detached(record.statement) as Bytes32];
    const requestId = record.requestId === undefined ? undefined : detached(record.requestId);
    const ticket: OpenTicket = {
      id,
      sequence,
      statement,
      nullifiers,
      kind,
      deadline,
      deposit: depositOf(record),
      status,
      ...(confirms === undefined ? {} : { confirms: detached(confirms) as Bytes32 }),
      ...(requestId === undefined ? {} : { requestId }),
      createdAt: record.createdAt,
      since: record.updatedAt,
      wasExecuted,
    };
    this.#lastSequence = Math.max(this.#lastSequence, sequence);
    this.#byStatement.set(statement, id);
    for (const nullifier of nullifiers) this.#byNullifier.set(nullifier, id);
    this.#due.add(id);
    // The second after its last one; a number is exact far beyond any time.
    this.#atSecond.add(Number(lastSecondOf(ticket)) + 1, id);
    this.#put(ticket, undefined);
  }

  /** In the place of what it was before. */
  #put(ticket: OpenTicket, before: OpenTicket | undefined): void {
    const { id, sequence, status } = ticket;
    if (before !== undefined) this.#count(before, -1);
    this.#count(ticket, 1);
    this.#byId.set(id, ticket);
    if (isWaiting(status)) this.#insertWaiting(ticket);
    else if (before !== undefined) this.#removeWaiting(before);
    const wasUnderWay = before !== undefined && isUnderWay(before.status);
    if (isUnderWay(status) && !wasUnderWay) this.#oldest.add(sequence, id);
  }

  #count({ status }: OpenTicket, by: 1 | -1): void {
    const state = openStateOf(status);
    if (state !== undefined) this.#counts[state] += by;
  }

  #settleOldest(): void {
    for (;;) {
      const id = this.#oldest.first();
      if (id === undefined || this.#isUnderWay(id)) return;
      this.#oldest.removeFirst();
    }
  }

  #isUnderWay(id: string): boolean {
    const ticket = this.#byId.get(id);
    return ticket !== undefined && isUnderWay(ticket.status);
  }

  #insertWaiting(ticket: OpenTicket): void {
    const place = this.#placeOf(ticket.sequence);
    const isThere = this.#waiting[place]?.id === ticket.id;
    this.#waiting.splice(place, isThere ? 1 : 0, ticket);
  }

  #removeWaiting({ id, sequence }: OpenTicket): void {
    const place = this.#placeOf(sequence);
    if (this.#waiting[place]?.id === id) this.#waiting.splice(place, 1);
  }

  /** Of the first that is not before this sequence. */
  #placeOf(sequence: number): number {
    let low = 0;
    let high = this.#waiting.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#waiting[middle]!.sequence < sequence) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

/** Without the record that it was read from: a part of a string keeps the whole of it in memory. */
function detached(text: string): string {
  return Buffer.from(text, "latin1").toString("latin1");
}

/** The last second at which the statement can execute. */
export function lastSecondOf({ deadline, deposit }: Pick<OpenTicket, "deadline" | "deposit">): bigint {
  // EIP-3009 is valid strictly before; the pool takes the deadline's own second.
  return deposit !== undefined && deposit.validBefore - 1n < deadline ? deposit.validBefore - 1n : deadline;
}
