// What the record of the past costs a payment in the store: lists of ended tickets and sums of usage, beside the same
// store without them; their removal; a request that is counted; an entry of the audit log. Processor time of this
// process, with LMDB's own commits in it.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { UsageCounter } from "../../../proxy/api/limits/usage-counter.ts";
import { placesOf } from "../../../proxy/base/store/ended-tickets.ts";
import type { Engine } from "../../../proxy/base/store/engine.ts";
import { openKeyStore } from "../../../proxy/base/store/keys.ts";
import { openDatabase } from "../../../proxy/base/store/lmdb/database.ts";
import { LmdbEngine } from "../../../proxy/base/store/lmdb/engine.ts";
import { LEASE } from "../../../proxy/base/store/lease.ts";
import { openLmdbLease } from "../../../proxy/base/store/lmdb/lease.ts";
import { TicketStore } from "../../../proxy/base/store/ticket-store.ts";
import type { TicketDraft, TicketRecord, TicketStatus } from "../../../proxy/base/store/tickets.ts";
import { addPayment, openUsageStore, Sums } from "../../../proxy/base/store/usage.ts";
import { ENDPOINTS } from "../../../shared/api/endpoints.ts";
import { randomField } from "../../../shared/notes/note.ts";
import { mustField, type Bytes32 } from "../../../shared/protocol/brands.ts";
import { toBytes32, word } from "../../../shared/protocol/bytes.ts";
import { writeSignals } from "../../../shared/protocol/host/statements.ts";
import { byTurns, cpuMs, figure, tell, type Figures, type SuiteOptions } from "./figures.ts";

/** Tickets of a block, at the rate that the service is made for. */
const BATCH = 60;
const BATCHES = 20;
const TICKETS = BATCH * BATCHES;
const REQUESTS = 100_000;
const CHANGES = 200;
const USERS = 40;
/** A block's tickets are removed in the same steps as by a proxy. */
const STEP = 50;

export async function benchStore({ runs }: SuiteOptions): Promise<Figures> {
  const measured = await byTurns(runs, {
    ticket: () => inFolder(async (engine) => (await live(engine)).life),
    ticket_without: () => inFolder(async (engine) => (await live(withoutPast(engine))).life),
    working_out: async () => workOut(),
    removal: () => inFolder(async (engine) => (await live(engine)).removal),
    request: () => inFolder(countRequests),
    audited_change: () => inFolder(changeDevelopers),
  });
  const added = measured.ticket.map(
    (value, round) => value - (measured.ticket_without[round] ?? NaN) + (measured.working_out[round] ?? NaN),
  );
  return tell(`processor time, ${String(TICKETS)} tickets a round, ${String(BATCH)} in a block`, {
    store_ticket_ms: figure(measured.ticket, "ms"),
    store_ticket_without_past_ms: figure(measured.ticket_without, "ms"),
    store_past_added_ms: figure(added, "ms"),
    store_removal_ms: figure(measured.removal, "ms"),
    store_counted_request_ms: figure(measured.request, "ms"),
    store_audited_change_ms: figure(measured.audited_change, "ms"),
  });
}

async function inFolder(measure: (engine: Engine) => Promise<number>): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), "cloister-bench-store-"));
  const database = openDatabase(folder);
  try {
    return await measure(new LmdbEngine(database));
  } finally {
    await database.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The same engine, which leaves out what is kept of the past. */
function withoutPast(engine: Engine): Engine {
  const isPast = (table: string): boolean => table.startsWith("tickets:ended") || table.startsWith("usage:");
  return {
    get: (table, keys) => engine.get(table, keys),
    all: (table) => engine.all(table),
    members: (order, range) => engine.members(order, range),
    countBefore: (order, at) => engine.countBefore(order, at),
    follow: (follower) => engine.follow(follower),
    setAside: (table, key) => engine.setAside(table, key),
    commit: (step) => engine.commit({ ...step, writes: step.writes.filter(([, table]) => !isPast(table)) }),
  };
}

function draft(n: number): TicketDraft {
  const nullifiers = [randomField(), randomField()];
  const facts = { context: randomField(), root: randomField(), asset: mustField(0n), amount: mustField(0n) };
  const commitments = [1, 2, 3, 4].map(() => randomField());
  return {
    id: `0190a0a0-0000-7000-8000-${String(n).padStart(12, "0")}`,
    owner: { developerId: "shop", sub: `user-${String(n % USERS)}` },
    requestId: `request-${String(n)}`,
    statement: toBytes32(word(randomField())),
    nullifiers,
    transaction: {
      kind: "spend",
      deadline: 1_800_000_000n,
      signals: writeSignals("spend", { ...facts, nullifiers, commitments }),
      ext: new Uint8Array(300).fill(1),
      proof: new Uint8Array(256).fill(7),
      authorization: new Uint8Array(0),
      attestations: [{ signer: `0x${"11".repeat(20)}` as never, signature: new Uint8Array(65).fill(9) }],
    },
    createdAt: Date.now(),
  };
}

/** Milliseconds a ticket, from its acceptance to its end, and of its removal. */
async function live(engine: Engine): Promise<{ readonly life: number; readonly removal: number }> {
  const tickets = new TicketStore(engine);
  const writes = tickets.underLease((await openLmdbLease(engine, LEASE).take("bench", 60_000)) ?? 0);
  const batches = Array.from({ length: BATCHES }, (_, i) =>
    Array.from({ length: BATCH }, (_, n) => draft(i * BATCH + n)),
  );
  const life = await cpuMs(1, async () => {
    for (const batch of batches) await carry(tickets, writes, batch);
  });
  const removal = await cpuMs(1, async () => {
    for (let gone = 1; gone > 0;) ({ gone } = await writes.removeEnded(Number.MAX_SAFE_INTEGER, STEP, 0));
  });
  return { life: life / TICKETS, removal: removal / TICKETS };
}

async function carry(
  tickets: TicketStore,
  writes: ReturnType<TicketStore["underLease"]>,
  batch: readonly TicketDraft[],
): Promise<void> {
  await Promise.all(batch.map((one) => tickets.accept(one, TICKETS)));
  const txHash = `0x${"ab".repeat(32)}` as Bytes32;
  const outcome = { txHash, block: 7, leafIndexes: [1, 2, 3, 4] };
  const states: readonly TicketStatus[] = [
    ...[{ state: "submitted", carrier: 1, txHash } as const, { state: "confirmed", outcome } as const],
    { state: "finalized", outcome },
  ];
  for (const status of states)
    await writes.change(
      batch.map(({ id }) => ({ id, status })),
      Date.now(),
    );
}

/** The part of it that is worked out before the engine is asked. */
async function workOut(): Promise<number> {
  const outcome = { txHash: `0x${"ab".repeat(32)}` as Bytes32, block: 7, leafIndexes: [1] };
  const status: TicketStatus = { state: "finalized", outcome };
  const ended: readonly TicketRecord[] = Array.from({ length: BATCH }, (_, n) => ({
    ...{ ...draft(n), status, updatedAt: 1, sequence: n },
  }));
  return (
    (await cpuMs(BATCHES, () => {
      const sums = new Sums();
      for (const ticket of ended) {
        placesOf("rank", ticket);
        addPayment(sums, ticket, 1);
      }
      return sums.writes();
    })) / BATCH
  );
}

/** Of many developers, poured as often as by a proxy under load. */
async function countRequests(engine: Engine): Promise<number> {
  const usage = new UsageCounter({
    ...{
      store: openUsageStore(engine),
      now: Date.now,
      logger: { warn: (fields: unknown) => console.error(fields) },
    },
  });
  const endpoints = Object.values(ENDPOINTS);
  const whole = await cpuMs(1, async () => {
    for (let i = 0; i < REQUESTS; i++) {
      usage.count(
        `dev_${String(i % 50)}`,
        endpoints[i % endpoints.length],
        i % 20 === 0 ? "RATE_LIMITED" : undefined,
      );
      if (i % 10_000 === 9_999) await usage.pour();
    }
  });
  return whole / REQUESTS;
}

async function changeDevelopers(engine: Engine): Promise<number> {
  const keys = openKeyStore(engine);
  const made = {
    id: "shop",
    name: "Shop",
    createdAt: "2026-01-01",
    sessionEpoch: 1,
    limits: {},
    origins: [],
  };
  await keys.addDeveloper(made);
  return cpuMs(CHANGES, () =>
    keys.updateDeveloper("shop", (now) => ({ ...now, sessionEpoch: now.sessionEpoch + 1 })),
  );
}
