/**
 * Tickets and outgoing transactions in LMDB: one table, keys are tuples that begin with what they hold.
 * Every change is one transaction, and its promise resolves when it is on disk. What is asked for each request (how
 * many wait, how many before this one, whose) has keys of its own, so that a long queue makes no answer slower.
 */
import { mustField, type Bytes32, type Field } from "../../../shared/protocol/brands.ts";
import type {
  Acceptance,
  Fence,
  Outgoing,
  TicketChange,
  TicketRecord,
  TicketStore,
  TicketWrites,
} from "../tickets.ts";
import { firstStatus, isInVain, isOver, isSameOwner, isUnderWay, userKey } from "../ticket-states.ts";
import { StoreUnavailable } from "../unavailable.ts";
import type { Database } from "./database.ts";
import type { Demand } from "./group-commit.ts";
import { putReport, requireFence } from "./submission-lease.ts";

const LAST = Number.MAX_SAFE_INTEGER;
const PAGE = 500;
/** Sorts behind every `userKey`. */
const AFTER_USERS = "~";
/**
 * 1: `ticket`, `statement`, `open`, `reserved`, `outgoing`, `last-sequence`.
 * 2: besides, `queued` by sequence, `owned` by owner and sequence, `waiting`, a count, and `lease`.
 * 3: besides, `queued-in`, how many of `queued` are in each block of sequences.
 */
const FORMAT = 3;
/** Counting those before one takes a look at each block, and at the sequences of one block. */
const BLOCK = 1_024;
const blockOf = (sequence: number): number => Math.floor(sequence / BLOCK);
/** Of one changed ticket: its record and the pages of the tree on the way to it and to its places. */
const BYTES_OF_CHANGE = 24 << 10;

/** `onBrokenTicket` is called once for each record that cannot be read; it is left out of what is listed. */
export function openTicketStore(
  database: Database,
  onBrokenTicket: (id: string) => void = () => undefined,
): TicketStore {
  const broken = new Set<string>();
  const table = database.table("tickets");
  const get = (key: Key): unknown => table.get(key);

  function read(id: string): TicketRecord | undefined {
    const stored = get(["ticket", id]) as StoredTicket | undefined;
    if (stored === undefined) return undefined;
    try {
      return readTicket(stored);
    } catch (cause) {
      // Each is told once; the store goes on being read all the time.
      if (!broken.has(id)) onBrokenTicket(id);
      broken.add(id);
      throw new StoreUnavailable(new Error(`ticket ${id} cannot be read`, { cause }));
    }
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
      for (const ticket of readAll(openIds())) {
        table.putSync(ownedKey(ticket), ticket.id);
        if (ticket.status.state === "queued") table.putSync(["queued", ticket.sequence], true);
        if (isUnderWay(ticket.status)) waiting += 1;
      }
      table.putSync(["waiting"], waiting);
    }
    if (found < FORMAT) {
      const counts = new Map<number, number>();
      for (const key of table.getKeys({ start: ["queued", -1], end: ["queued", LAST] })) {
        const block = blockOf((key as Key)[1] as number);
        counts.set(block, (counts.get(block) ?? 0) + 1);
      }
      for (const [block, count] of counts) table.putSync(["queued-in", block], count);
      table.putSync(["format"], FORMAT);
    }
  }

  /** Only where it changes. */
  function setQueued(sequence: number, isQueued: boolean): void {
    const block: Key = ["queued-in", blockOf(sequence)];
    const count = ((get(block) as number | undefined) ?? 0) + (isQueued ? 1 : -1);
    if (count === 0) table.removeSync(block);
    else table.putSync(block, count);
    if (isQueued) table.putSync(["queued", sequence], true);
    else table.removeSync(["queued", sequence]);
  }

  /** One durable write, of the store as this program knows it. */
  async function write<T>(work: () => T, demand?: Demand): Promise<T> {
    const result = await database.transaction(() => {
      migrate();
      return work();
    }, demand);
    isMigrated = true;
    return result;
  }

  async function migrated(): Promise<void> {
    if (!isMigrated) await write(() => undefined);
  }

  function openIds(): string[] {
    return [...table.getRange({ start: ["open", -1], end: ["open", LAST] })].map(
      ({ value }) => value as string,
    );
  }

  /** Without those that are not there or cannot be read. */
  function readAll(ids: readonly string[]): TicketRecord[] {
    return ids.flatMap((id) => {
      try {
        return read(id) ?? [];
      } catch {
        // Set aside: the others go on.
        return [];
      }
    });
  }

  const listeners = new Set<(ticket: TicketRecord) => void>();
  function tell(tickets: readonly TicketRecord[]): void {
    for (const ticket of tickets) for (const listener of listeners) listener(ticket);
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
        if (status.state === "queued") setQueued(ticket.sequence, true);
        if (before.status.state === "queued") setQueued(ticket.sequence, false);
        const change = Number(isUnderWay(status)) - Number(isUnderWay(before.status));
        table.putSync(["waiting"], waitingCount() + change);
      }
      if (isOver(status) && !isOver(before.status)) {
        table.removeSync(["open", ticket.sequence]);
        table.removeSync(ownedKey(ticket));
        // The notes of one that ended without effect are free again; those of a final one are spent on the
        // chain. Only what this ticket itself holds is released.
        for (const nullifier of ticket.nullifiers) {
          if (get(["reserved", hex(nullifier)]) === ticket.statement)
            table.removeSync(["reserved", hex(nullifier)]);
        }
      }
      if (isOver(before.status) && !isOver(status)) {
        table.putSync(["open", ticket.sequence], ticket.id);
        table.putSync(ownedKey(ticket), ticket.id);
        // One that another has reserved meanwhile stays his: the chain lets one of the two through.
        for (const nullifier of ticket.nullifiers) {
          const key = ["reserved", hex(nullifier)];
          if (get(key) === undefined) table.putSync(key, ticket.statement);
        }
      }
      return ticket;
    });
  }

  /** With the changes of tickets that it makes. */
  async function writeUnder<T>(
    fence: Fence,
    tickets: number,
    work: () => readonly [T, TicketRecord[]],
  ): Promise<T> {
    const [result, changed] = await write(
      () => {
        requireFence(database, fence);
        return work();
      },
      { bytes: tickets * BYTES_OF_CHANGE, thoughFull: true },
    );
    tell(changed);
    return result;
  }

  const outgoingAt = (nonce: number): StoredOutgoing | undefined =>
    get(["outgoing", nonce]) as StoredOutgoing | undefined;

  const writesUnder = (fence: Fence): TicketWrites => ({
    change: (changes, at) => writeUnder(fence, changes.length, () => [undefined, applyChanges(changes, at)]),
    putOutgoing: (entry, previousAttempts, changes, at) =>
      writeUnder(fence, changes.length, () => {
        if ((outgoingAt(entry.nonce)?.attempts.length ?? 0) !== previousAttempts) return [false, []];
        table.putSync(["outgoing", entry.nonce], storeOutgoing(entry));
        return [true, applyChanges(changes, at)];
      }),
    markMined: (nonce, block) =>
      writeUnder(fence, 0, () => {
        const existing = outgoingAt(nonce);
        if (existing !== undefined) {
          const { minedIn: _old, ...rest } = existing;
          table.putSync(["outgoing", nonce], block === undefined ? rest : { ...rest, minedIn: block });
        }
        return [undefined, []];
      }),
    report: (text) =>
      writeUnder(fence, 0, () => {
        putReport(database, text);
        return [undefined, []];
      }),
    dropOutgoing: (nonce, changes, at) =>
      writeUnder(fence, changes.length, () => {
        table.removeSync(["outgoing", nonce]);
        return [undefined, applyChanges(changes, at)];
      }),
  });

  return {
    async accept(draft, maxOpen) {
      const acceptance = await write((): Acceptance => {
        const knownId = get(["statement", draft.statement]) as string | undefined;
        const known = knownId === undefined ? undefined : read(knownId);
        if (known !== undefined && !isInVain(known.status)) {
          return isSameOwner(known.owner, draft.owner)
            ? { kind: "same", ticket: known }
            : { kind: "reserved" };
        }
        const { outcome: _outcome, ...record } = draft;
        const status = firstStatus(draft);
        const isNew = isUnderWay(status);
        const free = draft.nullifiers.filter((nullifier) => get(["reserved", hex(nullifier)]) === undefined);
        if (isNew && free.length < draft.nullifiers.length) return { kind: "reserved" };
        if (isNew && waitingCount() >= maxOpen) return { kind: "full" };

        const sequence = ((get(["last-sequence"]) as number | undefined) ?? 0) + 1;
        const ticket: TicketRecord = { ...record, sequence, status, updatedAt: draft.createdAt };
        table.putSync(["last-sequence"], sequence);
        table.putSync(["ticket", ticket.id], storeTicket(ticket));
        table.putSync(["statement", ticket.statement], ticket.id);
        table.putSync(["open", sequence], ticket.id);
        if (isNew) setQueued(sequence, true);
        table.putSync(ownedKey(ticket), ticket.id);
        if (isNew) table.putSync(["waiting"], waitingCount() + 1);
        for (const nullifier of free) table.putSync(["reserved", hex(nullifier)], ticket.statement);
        return { kind: "accepted", ticket };
      });
      if (acceptance.kind === "accepted") tell([acceptance.ticket]);
      return acceptance;
    },

    get: async (id) => read(id),
    async byStatement(statement) {
      const id = get(["statement", statement]) as string | undefined;
      return id === undefined ? undefined : read(id);
    },
    reservedBy: async (nullifier) => get(["reserved", hex(nullifier)]) as Bytes32 | undefined,
    list: async (ids) => readAll(ids),
    async *open() {
      const ids = openIds();
      for (let at = 0; at < ids.length; at += PAGE) yield readAll(ids.slice(at, at + PAGE));
    },
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
      return readAll([...table.getRange({ start, end })].map(({ value }) => value as string)).sort(
        (a, b) => a.sequence - b.sequence,
      );
    },
    async queuedBefore(sequence) {
      await migrated();
      const block = blockOf(sequence);
      const blocks = table.getRange({ start: ["queued-in", -1], end: ["queued-in", block] });
      const inBlock = table.getKeysCount({ start: ["queued", block * BLOCK], end: ["queued", sequence] });
      return [...blocks].reduce((sum, { value }) => sum + (value as number), inBlock);
    },
    async outgoing() {
      return [...table.getRange({ start: ["outgoing", -1], end: ["outgoing", LAST] })].map(({ value }) =>
        readOutgoing(value as StoredOutgoing),
      );
    },
    underLease: (fence) => writesUnder(fence),
    follow(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
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

function hex(value: Field): string {
  return value.toString(16);
}
