/**
 * Tickets and outgoing transactions in LMDB: one table, keys are tuples that begin with what they hold.
 * Every change is one transaction, and its promise resolves when it is on disk. What is asked for each request (how
 * many wait, how many before this one, whose) has keys of its own, so that a long queue makes no answer slower.
 */
import { createHash } from "node:crypto";
import { mustField, type Bytes32, type Field } from "../../../shared/protocol/brands.ts";
import type { Outgoing, TicketChange, TicketRecord, TicketStatus, TicketStore } from "../tickets.ts";
import type { Database } from "./database.ts";

const LAST = Number.MAX_SAFE_INTEGER;
/** Sorts behind every `userKey`. */
const AFTER_USERS = "~";
/**
 * 1: `ticket`, `statement`, `open`, `reserved`, `outgoing`, `last-sequence`.
 * 2: besides, `queued` by sequence, `owned` by owner and sequence, and `waiting`, a count.
 */
const FORMAT = 2;

export function openTicketStore(database: Database): TicketStore {
  const table = database.table("tickets");
  const get = (key: Key): unknown => table.get(key);

  function read(id: string): TicketRecord | undefined {
    const stored = get(["ticket", id]) as StoredTicket | undefined;
    return stored === undefined ? undefined : readTicket(stored);
  }

  let isMigrated = false;

  /** Inside a transaction, before anything else. Ends with an error on a store that a later program has written. */
  function migrate(): void {
    if (isMigrated) return;
    const found = (get(["format"]) as number | undefined) ?? 1;
    if (found > FORMAT)
      throw new Error(`the store's tickets have format ${String(found)}, not ${String(FORMAT)}`);
    if (found === 1) {
      let waiting = 0;
      for (const ticket of openTickets()) {
        table.putSync(ownedKey(ticket), ticket.id);
        if (ticket.status.state === "queued") table.putSync(["queued", ticket.sequence], true);
        if (isWaiting(ticket.status)) waiting += 1;
      }
      table.putSync(["waiting"], waiting);
      table.putSync(["format"], FORMAT);
    }
  }

  /** One durable write, of the store as this program knows it. */
  async function write<T>(work: () => T): Promise<T> {
    const result = await database.transaction(() => {
      migrate();
      return work();
    });
    isMigrated = true;
    return result;
  }

  async function migrated(): Promise<void> {
    if (!isMigrated) await write(() => undefined);
  }

  function openTickets(): TicketRecord[] {
    return [...table.getRange({ start: ["open", -1], end: ["open", LAST] })]
      .map(({ value }) => read(value as string))
      .filter((ticket) => ticket !== undefined);
  }

  const waitingCount = (): number => get(["waiting"]) as number;

  function applyChanges(changes: readonly TicketChange[], at: number): TicketRecord[] {
    return changes.map(({ id, status, attestations }) => {
      const before = read(id);
      if (before === undefined) throw new RangeError("a ticket that is not there cannot change");
      const ticket: TicketRecord = {
        ...before,
        status,
        updatedAt: Math.max(at, before.updatedAt),
        ...(attestations === undefined ? {} : { transaction: { ...before.transaction, attestations } }),
      };
      table.putSync(["ticket", id], storeTicket(ticket));
      if (status.state !== before.status.state) {
        if (status.state === "queued") table.putSync(["queued", ticket.sequence], true);
        else table.removeSync(["queued", ticket.sequence]);
        const change = Number(isWaiting(status)) - Number(isWaiting(before.status));
        table.putSync(["waiting"], waitingCount() + change);
      }
      if (isOver(status)) {
        table.removeSync(["open", ticket.sequence]);
        table.removeSync(ownedKey(ticket));
        // The notes of one that ended without effect are free again; those of a final one are spent on the
        // chain. Only what this ticket itself holds is released.
        for (const nullifier of ticket.nullifiers) {
          if (get(["reserved", hex(nullifier)]) === ticket.statement)
            table.removeSync(["reserved", hex(nullifier)]);
        }
      }
      return ticket;
    });
  }

  return {
    accept: (draft, maxOpen) =>
      write(() => {
        const knownId = get(["statement", draft.statement]) as string | undefined;
        const known = knownId === undefined ? undefined : read(knownId);
        if (known !== undefined && known.status.state !== "failed" && known.status.state !== "expired") {
          const isTheirs =
            known.owner.developerId === draft.owner.developerId && known.owner.sub === draft.owner.sub;
          return isTheirs ? { kind: "same" as const, ticket: known } : { kind: "reserved" as const };
        }
        if (draft.nullifiers.some((nullifier) => get(["reserved", hex(nullifier)]) !== undefined)) {
          return { kind: "reserved" as const };
        }
        if (waitingCount() >= maxOpen) return { kind: "full" as const };

        const sequence = ((get(["last-sequence"]) as number | undefined) ?? 0) + 1;
        const ticket: TicketRecord = {
          ...draft,
          sequence,
          status: { state: "queued" },
          updatedAt: draft.createdAt,
        };
        table.putSync(["last-sequence"], sequence);
        table.putSync(["ticket", ticket.id], storeTicket(ticket));
        table.putSync(["statement", ticket.statement], ticket.id);
        table.putSync(["open", sequence], ticket.id);
        table.putSync(["queued", sequence], true);
        table.putSync(ownedKey(ticket), ticket.id);
        table.putSync(["waiting"], waitingCount() + 1);
        for (const nullifier of ticket.nullifiers)
          table.putSync(["reserved", hex(nullifier)], ticket.statement);
        return { kind: "accepted" as const, ticket };
      }),

    get: async (id) => read(id),
    async byStatement(statement) {
      const id = get(["statement", statement]) as string | undefined;
      return id === undefined ? undefined : read(id);
    },
    reservedBy: async (nullifier) => get(["reserved", hex(nullifier)]) as Bytes32 | undefined,
    open: async () => openTickets(),
    async openOf(developerId, sub) {
      await migrated();
      const user = userKey(sub);
      const [start, end] =
        sub === undefined
          ? [
              ["owned", developerId],
              ["owned", developerId, AFTER_USERS],
            ]
          : [
              ["owned", developerId, user, -1],
              ["owned", developerId, user, LAST],
            ];
      return [...table.getRange({ start, end })]
        .map(({ value }) => read(value as string))
        .filter((ticket) => ticket !== undefined)
        .sort((a, b) => a.sequence - b.sequence);
    },
    async queuedBefore(sequence) {
      await migrated();
      return table.getKeysCount({ start: ["queued", -1], end: ["queued", sequence] });
    },
    change: (changes, at) =>
      changes.length === 0 ? Promise.resolve([]) : write(() => applyChanges(changes, at)),

    async outgoing() {
      return [...table.getRange({ start: ["outgoing", -1], end: ["outgoing", LAST] })].map(({ value }) =>
        readOutgoing(value as StoredOutgoing),
      );
    },
    putOutgoing: (entry, previousAttempts, changes, at) =>
      write(() => {
        const existing = get(["outgoing", entry.nonce]) as StoredOutgoing | undefined;
        if ((existing?.attempts.length ?? 0) !== previousAttempts) return false;
        table.putSync(["outgoing", entry.nonce], storeOutgoing(entry));
        applyChanges(changes, at);
        return true;
      }),
    markMined: (nonce, block) =>
      write(() => {
        const existing = get(["outgoing", nonce]) as StoredOutgoing | undefined;
        if (existing === undefined) return;
        const { minedIn: _old, ...rest } = existing;
        table.putSync(["outgoing", nonce], block === undefined ? rest : { ...rest, minedIn: block });
      }),
    dropOutgoing: (nonce, changes, at) =>
      write(() => {
        table.removeSync(["outgoing", nonce]);
        applyChanges(changes, at);
      }),
  };
}

type Key = (string | number)[];

/** What the encoder cannot hold (integers above 64 bits) is text on disk. */
interface StoredTicket extends Omit<TicketRecord, "nullifiers" | "transaction"> {
  readonly nullifiers: readonly string[];
  readonly transaction: Omit<TicketRecord["transaction"], "deadline" | "signals"> & {
    readonly deadline: string;
    readonly signals: readonly string[];
  };
}

interface StoredOutgoing extends Omit<Outgoing, "gasLimit" | "attempts"> {
  readonly gasLimit: string;
  readonly attempts: readonly (Omit<Outgoing["attempts"][number], "maxFeePerGas" | "maxPriorityFeePerGas"> & {
    readonly maxFeePerGas: string;
    readonly maxPriorityFeePerGas: string;
  })[];
}

function storeTicket(ticket: TicketRecord): StoredTicket {
  const { transaction } = ticket;
  return {
    ...ticket,
    nullifiers: ticket.nullifiers.map(String),
    transaction: {
      ...transaction,
      deadline: String(transaction.deadline),
      signals: transaction.signals.map(String),
    },
  };
}

function readTicket(stored: StoredTicket): TicketRecord {
  const { transaction } = stored;
  const fields = (texts: readonly string[]): Field[] => texts.map((text) => mustField(BigInt(text)));
  return {
    ...stored,
    nullifiers: fields(stored.nullifiers),
    transaction: {
      ...transaction,
      deadline: BigInt(transaction.deadline),
      signals: fields(transaction.signals),
    },
  };
}

function storeOutgoing(entry: Outgoing): StoredOutgoing {
  return {
    ...entry,
    gasLimit: String(entry.gasLimit),
    attempts: entry.attempts.map((attempt) => ({
      ...attempt,
      maxFeePerGas: String(attempt.maxFeePerGas),
      maxPriorityFeePerGas: String(attempt.maxPriorityFeePerGas),
    })),
  };
}

function readOutgoing(stored: StoredOutgoing): Outgoing {
  return {
    ...stored,
    gasLimit: BigInt(stored.gasLimit),
    attempts: stored.attempts.map((attempt) => ({
      ...attempt,
      maxFeePerGas: BigInt(attempt.maxFeePerGas),
      maxPriorityFeePerGas: BigInt(attempt.maxPriorityFeePerGas),
    })),
  };
}

/** By user, because one developer's tickets may be most of a queue. */
function ownedKey({ owner, sequence }: Pick<TicketRecord, "owner" | "sequence">): Key {
  return ["owned", owner.developerId, userKey(owner.sub), sequence];
}

/** A `sub` may be longer than a part of a key; those of an API key have none. */
function userKey(sub: string | undefined): string {
  return sub === undefined ? "" : createHash("sha256").update(sub, "utf8").digest("base64url");
}

/** Counts against the longest queue that is allowed. */
function isWaiting(status: TicketStatus): boolean {
  return status.state === "queued" || status.state === "submitted";
}

function isOver(status: TicketStatus): boolean {
  return status.state === "finalized" || status.state === "failed" || status.state === "expired";
}

function hex(value: Field): string {
  return value.toString(16);
}
