/**
 * Tickets and outgoing transactions. Any proxy accepts, in one step that gives the place in the order; everything else
 * is written under the lease, so what its holder has read is what it writes over. What is asked for each request (how
 * many wait, how many before this one, whose) has counts and orders of its own, so that a long queue makes no answer
 * slower.
 */
import type { Bytes32, Field } from "../../../shared/protocol/brands.ts";
import {
  endedPage,
  placesOf,
  removalOf,
  type EndedPage,
  type EndedQuery,
  type Removal,
} from "./ended-tickets.ts";
import type { Check, Engine, Write } from "./engine.ts";
import { numbered, Records, remembering, type Numbered } from "./records.ts";
import { LEASE, REPORT, writeUnder, type Fence } from "./lease.ts";
import { firstStatus, isInVain, isOver, isSameOwner, isUnderWay } from "./ticket-states.ts";
import {
  outgoingForm,
  ticketForm,
  type Outgoing,
  type TicketChange,
  type TicketDraft,
  type TicketOwner,
  type TicketRecord,
  type UnplacedTicket,
} from "./tickets.ts";
import { StoreUnavailable } from "./unavailable.ts";
import { addPayment, Sums } from "./usage.ts";
import { hashed, storedBytes32 } from "./values.ts";

/** By statement, the id of its last ticket. */
const STATEMENTS = "tickets:statements";
const TICKETS = "tickets";
/** By nullifier, the statement that has reserved it. */
const RESERVED = "tickets:reserved";
const COUNTS = "tickets:counts";
const WAITING = "waiting";
const OPEN = "tickets:open";
const QUEUED = "tickets:queued";
const OUTGOING = "outgoing";
const PAGE = 500;
/** Tickets of half a minute at the highest rate: most change again, or are asked for, within it. Some kilobytes each. */
const MOST_REMEMBERED = 2_000;
/** Of those under way: a call of sixty members is 100 kB, and every turn of the sequencer reads them all. */
const MOST_SENT = 16;

export type Acceptance =
  | { readonly kind: "accepted"; readonly ticket: TicketRecord }
  /** The same statement of the same owner is under way or done. */
  | { readonly kind: "same"; readonly ticket: TicketRecord }
  /** A nullifier (or this statement) is reserved by another ticket. */
  | { readonly kind: "reserved" }
  /** So many of one developer, or of all, wait already. */
  | { readonly kind: "full"; readonly of: "developer" | "instance" };
/** What the sequencer writes. Every call throws LeaseLost, and does nothing, when the lease has changed hands. */
export type TicketWrites = ReturnType<TicketStore["underLease"]>;

/** A promise of this store resolves when the change is durable, and not before. */
export class TicketStore {
  readonly #engine: Engine;
  readonly #drafts = remembering(ticketForm, MOST_REMEMBERED);
  readonly #tickets: Records<Numbered<UnplacedTicket>>;
  readonly #sent: Records<Outgoing>;
  readonly #listeners = new Set<(ticket: TicketRecord) => void>();
  #stopFollowing: (() => void) | undefined;

  constructor(engine: Engine) {
    this.#engine = engine;
    this.#tickets = new Records(engine, TICKETS, numbered(this.#drafts));
    this.#sent = new Records(engine, OUTGOING, remembering(outgoingForm, MOST_SENT));
  }

  /**
   * One atomic durable write: place in the order, ticket, and reservations of its nullifiers and statement.
   * A statement whose earlier ticket failed or expired gets a new one. Refuses with `full` when
   * `maxOpen` tickets are neither confirmed nor over, or half of as many are of its developer. An executed one is in nobody's way: neither `full` nor
   * another's reservation refuses it, which stays the other's.
   */
  async accept(draft: TicketDraft, maxOpen: number): Promise<Acceptance> {
    const { outcome: _outcome, ...record } = draft;
    const ticket: UnplacedTicket = { ...record, status: firstStatus(draft), updatedAt: draft.createdAt };
    const writes = writesOfAcceptance(ticket, this.#drafts.write(ticket, ticket.id));
    /** The ticket of this statement that ended in vain. */
    let earlier: string | undefined;
    for (;;) {
      const checks: Check[] = [["is", STATEMENTS, draft.statement, earlier]];
      if (isUnderWay(ticket.status)) {
        for (const nullifier of draft.nullifiers) checks.push(["is", RESERVED, String(nullifier), undefined]);
        checks.push(["below", COUNTS, waitingOf(draft.owner), Math.ceil(maxOpen / 2)]);
        checks.push(["below", COUNTS, WAITING, maxOpen]);
      }
      const committed = await this.#engine.commit({ checks, writes, number: [COUNTS, "sequence"] });
      if (committed.done) return { kind: "accepted", ticket: { ...ticket, sequence: committed.number ?? 0 } };
      const { failed, found } = committed;
      if (failed > 0) {
        const full = (["developer", "instance"] as const)[failed - (checks.length - 2)];
        return full === undefined ? { kind: "reserved" } : { kind: "full", of: full };
      }
      const known = found === undefined ? undefined : await this.get(found);
      if (known === undefined) {
        // Removed since it was read, and its statement with it; what stays without its ticket is damage.
        const [still] = await this.#engine.get(STATEMENTS, [draft.statement]);
        if (still !== undefined && still === found)
          throw new StoreUnavailable(new Error("a statement has no ticket"));
        earlier = still;
        continue;
      }
      if (!isInVain(known.status))
        return isSameOwner(known.owner, draft.owner) ? { kind: "same", ticket: known } : { kind: "reserved" };
      earlier = known.id;
    }
  }

  async get(id: string): Promise<TicketRecord | undefined> {
    const found = await this.#tickets.get(id);
    return found && recordOf(found);
  }

  async byStatement(statement: Bytes32): Promise<TicketRecord | undefined> {
    const [id] = await this.#engine.get(STATEMENTS, [statement]);
    return id === undefined ? undefined : this.get(id);
  }

  /** The statement of the ticket that has reserved a nullifier. */
  async reservedBy(nullifier: Field): Promise<Bytes32 | undefined> {
    const [by] = await this.#engine.get(RESERVED, [String(nullifier)]);
    return by === undefined ? undefined : storedBytes32.parse(by);
  }

  /** In the order asked, without those that are not there. One that cannot be read is set aside and left out. */
  async list(ids: readonly string[]): Promise<TicketRecord[]> {
    const found: TicketRecord[] = [];
    for (let at = 0; at < ids.length; at += PAGE)
      for (const ticket of await this.#tickets.list(ids.slice(at, at + PAGE)))
        if (ticket) found.push(recordOf(ticket));
    return found;
  }

  /** Every ticket that is not final, failed or expired, in order of acceptance, in pages. */
  async *open(): AsyncGenerator<readonly TicketRecord[]> {
    const ids = await this.#engine.members(OPEN);
    for (let at = 0; at < ids.length; at += PAGE) yield await this.list(ids.slice(at, at + PAGE));
  }

  /** Those of one developer; with `sub`, of one user of it. */
  async openOf(developerId: string, sub: string | undefined): Promise<TicketRecord[]> {
    return this.list(
      await this.#engine.members(sub === undefined ? ofDeveloper(developerId) : ofUser({ developerId, sub })),
    );
  }

  /** How many tickets are queued in front of this place in the order. */
  queuedBefore(sequence: number): Promise<number> {
    return this.#engine.countBefore(QUEUED, sequence);
  }

  /** In order of nonce. */
  async outgoing(): Promise<Outgoing[]> {
    // Every one of them, or none: one that is left out would have its nonce used again.
    const entries = [...(await this.#engine.all(OUTGOING))].flatMap(
      ([nonce, text]) => this.#sent.read(nonce, text) ?? [],
    );
    return entries.sort((one, other) => one.nonce - other.nonce);
  }

  /** Tickets that are over and not removed yet, those that ended last first, in pages. */
  ended(query: EndedQuery): Promise<EndedPage> {
    return endedPage(this.#engine, (ids) => this.list(ids), query);
  }

  underLease(fence: Fence) {
    return {
      /** One atomic durable write. Tickets that come to an end release their reservations. */
      change: async (changes: readonly TicketChange[], at: number): Promise<void> => {
        await this.#write(fence, await this.#writesFor(changes, at));
      },
      /**
       * Stores signed bytes before they are broadcast, together with the changes of the tickets they carry.
       * False, and nothing written, unless the entry at that nonce still is `previous` (by number of attempts;
       * 0: there is none).
       */
      putOutgoing: async (
        entry: Outgoing,
        previousAttempts: number,
        changes: readonly TicketChange[],
        at: number,
      ): Promise<boolean> => {
        const nonce = String(entry.nonce);
        const [text] = await this.#engine.get(OUTGOING, [nonce]);
        const isPrevious = (this.#sent.read(nonce, text)?.attempts.length ?? 0) === previousAttempts;
        if (!isPrevious) {
          await this.#write(fence, []);
          return false;
        }
        const writes = await this.#writesFor(changes, at);
        return this.#write(
          fence,
          [["put", OUTGOING, nonce, this.#sent.write(nonce, entry)], ...writes],
          [["is", OUTGOING, nonce, text]],
        );
      },
      markMined: async (at: number, block: number | undefined): Promise<void> => {
        const nonce = String(at);
        const existing = await this.#sent.get(nonce);
        if (existing === undefined) {
          await this.#write(fence, []);
          return;
        }
        const { minedIn: _old, ...rest } = existing;
        const entry: Outgoing = block === undefined ? rest : { ...rest, minedIn: block };
        await this.#write(fence, [["put", OUTGOING, nonce, this.#sent.write(nonce, entry)]]);
      },
      /** For the other proxies. */
      report: async (text: string): Promise<void> => {
        await this.#write(fence, [["put", LEASE, REPORT, text]]);
      },
      /**
       * One atomic durable write, of bounded work: removes up to `most` tickets that ended before this time, the oldest
       * first, without the first `skip`. Neither a reservation nor what a transaction of ours carries is touched.
       */
      removeEnded: async (
        before: number,
        most: number,
        skip: number,
      ): Promise<Pick<Removal, "gone" | "stay">> => {
        const carried = new Set((await this.outgoing()).flatMap(({ ticketIds }) => ticketIds));
        const read = (id: string, text: string | undefined): TicketRecord | undefined => {
          const found = this.#tickets.readOrSkip(id, text);
          return found && !carried.has(id) ? recordOf(found) : undefined;
        };
        const range = { before, limit: most, skip };
        const { writes, checks, gone, stay } = await removalOf(
          this.#engine,
          { TICKETS, STATEMENTS, read },
          range,
        );
        // Where a check fails somebody has posted the statement again just now: it is looked at in the next call.
        const isDone = writes.length === 0 || (await this.#write(fence, writes, checks));
        return { gone: isDone ? gone : 0, stay };
      },
      /** With the changes of the tickets it carried. */
      dropOutgoing: async (nonce: number, changes: readonly TicketChange[], at: number): Promise<void> => {
        await this.#write(fence, [
          ["drop", OUTGOING, String(nonce)],
          ...(await this.#writesFor(changes, at)),
        ]);
      },
    };
  }

  /**
   * Every ticket that is accepted or changed from now on, whoever wrote it, in order of the writes and once they
   * are durable. A state that was soon followed by another may be left out.
   */
  follow(listener: (ticket: TicketRecord) => void): () => void {
    this.#listeners.add(listener);
    this.#stopFollowing ??= this.#engine.follow({
      named: async (ids) => this.#announce(await this.list(ids)),
      missed: async () => {
        for await (const page of this.open()) this.#announce(page);
      },
    });
    return () => {
      this.#listeners.delete(listener);
      if (this.#listeners.size > 0) return;
      this.#stopFollowing?.();
      this.#stopFollowing = undefined;
    };
  }

  #announce(changed: readonly TicketRecord[]): void {
    for (const ticket of changed) for (const listener of this.#listeners) listener(ticket);
  }

  /** Nobody but the holder of the lease takes a reservation away. */
  async #reservedFor(found: readonly TicketRecord[]): Promise<Map<Field, string | undefined>> {
    const nullifiers = found.flatMap((ticket) => ticket.nullifiers);
    const by = await this.#engine.get(RESERVED, nullifiers.map(String));
    return new Map(nullifiers.map((nullifier, i) => [nullifier, by[i]]));
  }

  /** Reads first: nobody else writes a ticket under this lease. */
  async #writesFor(changes: readonly TicketChange[], at: number): Promise<Write[]> {
    const found = await this.#tickets.getAll(changes.map(({ id }) => id));
    const now = new Map<string, TicketRecord>();
    for (const ticket of found) if (ticket !== undefined) now.set(ticket.value.id, recordOf(ticket));
    const ending = changes.flatMap(({ id, status }) => (isOver(status) ? (now.get(id) ?? []) : []));
    const holders = await this.#reservedFor(ending);
    const sums = new Sums();
    const writes = changes.flatMap((change) => {
      const before = now.get(change.id);
      if (before === undefined) throw new RangeError("a ticket that is not there cannot change");
      const ticket = changed(before, change, at);
      now.set(ticket.id, ticket);
      if (isOver(before.status)) addPayment(sums, before, -1);
      if (isOver(ticket.status)) addPayment(sums, ticket, 1);
      const { sequence: number, ...value } = ticket;
      const put: Write = ["put", TICKETS, ticket.id, this.#tickets.write(ticket.id, { number, value })];
      return [put, ...writesOfChange(before, ticket, holders)];
    });
    return [...writes, ...sums.writes()];
  }

  #write(fence: Fence, writes: readonly Write[], checks?: readonly Check[]): Promise<boolean> {
    return writeUnder({ engine: this.#engine, lease: LEASE, fence }, writes, checks);
  }
}

function writesOfAcceptance(ticket: UnplacedTicket, text: string): Write[] {
  const { id, statement, owner, nullifiers, status } = ticket;
  const isNew = isUnderWay(status);
  return [
    ["put-numbered", TICKETS, id, text],
    ["put", STATEMENTS, statement, id],
    // Of one that is executed already, what another has reserved stays the other's.
    ...nullifiers.map((nullifier): Write => ["put-new", RESERVED, String(nullifier), statement]),
    ...ordersOf(owner).map((order): Write => ["rank", order, "number", id]),
    ...(isNew ? ([["rank", QUEUED, "number", id]] as const) : []),
    ...(isNew ? waits(owner, 1) : []),
    ["announce", id],
  ];
}

function writesOfChange(
  before: TicketRecord,
  ticket: TicketRecord,
  holders: ReadonlyMap<Field, string | undefined>,
): Write[] {
  const { id, sequence, owner, nullifiers, statement, status } = ticket;
  const writes: Write[] = [];
  if (status.state === "queued") writes.push(["rank", QUEUED, sequence, id]);
  else if (before.status.state === "queued") writes.push(["unrank", QUEUED, sequence, id]);
  if (isOver(before.status)) writes.push(...placesOf("unrank", before));
  if (isOver(status)) writes.push(...placesOf("rank", ticket));
  const more = Number(isUnderWay(status)) - Number(isUnderWay(before.status));
  if (more !== 0) writes.push(...waits(owner, more));
  if (isOver(status) && !isOver(before.status)) {
    for (const order of ordersOf(owner)) writes.push(["unrank", order, sequence, id]);
    // The notes of one that ended without effect are free again; those of a final one are spent on the chain.
    // Only what this ticket itself holds is released.
    for (const nullifier of nullifiers)
      if (holders.get(nullifier) === statement) writes.push(["drop", RESERVED, String(nullifier)]);
  }
  if (isOver(before.status) && !isOver(status)) {
    for (const order of ordersOf(owner)) writes.push(["rank", order, sequence, id]);
    // One that another has reserved meanwhile stays the other's: the chain lets one of the two through.
    for (const nullifier of nullifiers) writes.push(["put-new", RESERVED, String(nullifier), statement]);
  }
  return [...writes, ["announce", id]];
}

function changed(before: TicketRecord, { status, attestations }: TicketChange, at: number): TicketRecord {
  return {
    ...before,
    status,
    updatedAt: Math.max(at, before.updatedAt),
    ...(attestations === undefined ? {} : { transaction: { ...before.transaction, attestations } }),
  };
}

const waitingOf = ({ developerId }: TicketOwner): string => `waiting:${developerId}`;
const waits = (owner: TicketOwner, by: number): Write[] => [
  ["add", COUNTS, WAITING, by],
  ["add", COUNTS, waitingOf(owner), by],
];

/** Orders of the tickets that are not over; by user, too, because one developer's may be most of a queue. */
const ordersOf = (owner: TicketOwner): string[] => [OPEN, ofUser(owner), ofDeveloper(owner.developerId)];
const ofUser = ({ developerId, sub }: TicketOwner): string =>
  `tickets:of:${developerId}:${sub === undefined ? "" : hashed(sub)}`;
const ofDeveloper = (developerId: string): string => `tickets:of-all:${developerId}`;

const recordOf = ({ number, value }: Numbered<UnplacedTicket>): TicketRecord => ({
  ...value,
  sequence: number,
});
