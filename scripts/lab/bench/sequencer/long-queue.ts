// Acceptance and memory with so many tickets waiting, beside the same with none. Nothing leaves the queue meanwhile:
// the chain makes no blocks. The tickets that wait are copies of one that was accepted, written into the store of the
// stopped proxy; it reads them when it starts, as after any restart.

import { randomBytes, randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { openDatabase } from "../../../../proxy/base/store/lmdb/database.ts";
import { embeddedStores } from "../../../../proxy/base/store/instance.ts";
import type { TicketStore } from "../../../../proxy/base/store/ticket-store.ts";
import type { TicketDraft, TicketRecord } from "../../../../proxy/base/store/tickets.ts";
import { randomField } from "../../../../shared/notes/note.ts";
import { toBytes32 } from "../../../../shared/protocol/bytes.ts";
import type { LocalNetwork } from "../../../stack/local-network.ts";
import { pinsOf } from "../../../stack/stack-wallet.ts";
import type { Stage } from "../../../stack/stage.ts";
import { startChild } from "../child.ts";
import { figure, quantile, tell, type Figures } from "../figures.ts";
import type { LoadAnswer, LoadAsk } from "./load.ts";
import { usageOf } from "./processes.ts";

const USERS = 40;
/** Whose tickets wait. */
const OTHER_USERS = 1_000;
const WARM_UP = 50;
const ACCEPTED = 400;
const PER_SECOND = 20;
/** Written to the disk together. */
const SLICE = 1_000;
const READ_WITHIN_MS = 120_000;

/** Ends with a chain that makes no blocks and a queue that nothing will ever carry out. */
export async function benchLongQueue(service: Stage, count: number): Promise<Figures> {
  const { network, chain } = service;
  await chain.send("evm_setIntervalMining", [0]);
  await network.proxy().stop();
  await network.restartProxy();
  const short = await measure(service);
  await network.proxy().stop();
  console.log(`writing ${String(count)} tickets …`);
  await fill(network.folder.inside("store"), count);
  await network.restartProxy();
  await untilRead(network, count);
  const long = await measure(service);

  return tell(`${String(PER_SECOND)} payments a second, with so many tickets waiting beside none`, {
    queue_accept_ratio: figure(long.p50 / short.p50, "x"),
    queue_accept_p50_ms: figure(long.p50, "ms"),
    queue_accept_p99_ms: figure(long.p99, "ms"),
    queue_memory_mb: figure(long.anonymousMb - short.anonymousMb, "MB"),
    queue_tickets: figure(count, "tickets"),
  });
}

interface Standing {
  /** Milliseconds. */
  readonly p50: number;
  readonly p99: number;
  readonly anonymousMb: number;
}

/** With users of its own, whose event streams no restart has ended. */
async function measure({ network, apiKey }: Stage): Promise<Standing> {
  const { entry } = network;
  const load = await startChild<LoadAsk, LoadAnswer>("sequencer/load.ts");
  try {
    await load.ask({ type: "open", baseUrl: entry.base_url, apiKey, users: USERS, pins: pinsOf(entry) });
    await load.ask({ type: "prepare", count: WARM_UP + ACCEPTED });
    const terms = { type: "send", pace: { perSecond: PER_SECOND }, until: "accepted" } as const;
    await load.ask({ ...terms, count: WARM_UP });
    const { accepted } = await load.ask({ ...terms, count: ACCEPTED });
    return {
      p50: quantile(accepted, 0.5),
      p99: quantile(accepted, 0.99),
      anonymousMb: usageOf(network.proxy().pid)?.anonymousMb ?? NaN,
    };
  } finally {
    await load.stop();
  }
}

async function fill(folder: string, count: number): Promise<void> {
  const database = openDatabase(folder);
  try {
    const store = embeddedStores(database).tickets;
    const template = await anyTicket(store);
    for (let done = 0; done < count; done += SLICE) {
      const slice = Array.from({ length: Math.min(SLICE, count - done) }, (_, i) =>
        store.accept(copyOf(template, (done + i) % OTHER_USERS), Number.MAX_SAFE_INTEGER),
      );
      for (const { kind } of await Promise.all(slice))
        if (kind !== "accepted") throw new Error(`a copy of a ticket was not accepted: ${kind}`);
    }
  } finally {
    await database.close();
  }
}

async function anyTicket(store: TicketStore): Promise<TicketRecord> {
  for await (const [ticket] of store.open()) if (ticket !== undefined) return ticket;
  throw new Error("no ticket waits");
}

function copyOf(
  { sequence: _s, status: _st, updatedAt: _u, ...rest }: TicketRecord,
  user: number,
): TicketDraft {
  return {
    ...rest,
    owner: { ...rest.owner, sub: `other-${String(user)}` },
    id: randomUUID(),
    statement: toBytes32(randomBytes(32)),
    nullifiers: rest.nullifiers.map(() => randomField()),
  };
}

/** The sequencer has taken the queue into its memory. */
async function untilRead(network: LocalNetwork, count: number): Promise<void> {
  const url = network.operationsUrl();
  if (url === undefined) throw new Error("the proxy's figures are not served");
  const end = performance.now() + READ_WITHIN_MS;
  while (performance.now() < end) {
    const text = await (await fetch(`${url}/metrics`)).text();
    const queued = Number(/^cloister_tickets\{state="queued"\} (\d+)/m.exec(text)?.[1] ?? 0);
    if (queued >= count) return;
    await delay(250);
  }
  throw new Error(`the queue was not read within ${String(READ_WITHIN_MS / 1000)} s`);
}
