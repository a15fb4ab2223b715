/**
 * Everything that an instance must not lose, over one of two implementations: on this machine's disk for one proxy,
 * or in a durable Redis that several proxies share. What can be read from the chain again is not here.
 */
import { z } from "zod";
import { requireSameClock } from "../clocks.ts";
import { AccountStore } from "./accounts.ts";
import { openAppRequestStore } from "./app-requests.ts";
import { openAppStore } from "./apps.ts";
import { openAuditStore } from "./audit.ts";
import { BridgeStore } from "./bridges.ts";
import { openDashboardSessionStore } from "./dashboard-sessions.ts";
import { openDisagreementStore } from "./disagreements.ts";
import type { Engine } from "./engine.ts";
import { FeeNoteStore } from "./fee-notes.ts";
import { openFeeRuleStore } from "./fee-rules.ts";
import { openIdempotencyStore, type LiveClaims } from "./idempotency.ts";
import { openKeyStore } from "./keys.ts";
import type { Database } from "./lmdb/database.ts";
import { LmdbEngine } from "./lmdb/engine.ts";
import { openLmdbLiveClaims } from "./lmdb/live-claims.ts";
import { openLmdbLease } from "./lmdb/lease.ts";
import { openPriceStore } from "./prices.ts";
import { openDurableRedis, type DurableOptions, type DurableRedis } from "./redis/durable.ts";
import { openRedisEngine } from "./redis/engine.ts";
import { openRedisLiveClaims } from "./redis/live-claims.ts";
import { openRedisLease } from "./redis/lease.ts";
import { LEASE, RELAY_LEASE, type Lease, type LeaseName } from "./lease.ts";
import { RelayStore } from "./relay.ts";
import { TicketStore } from "./ticket-store.ts";
import { openUsageStore } from "./usage.ts";

/** A record that cannot be read; it is given to nobody, and everything else goes on. */
export type OnBrokenRecord = (table: string, id: string) => void;

/** `now`: milliseconds since 1970. Throws UnfitFormat. */
export function embeddedStores(
  database: Database,
  onBrokenRecord?: OnBrokenRecord,
  now?: () => number,
): InstanceStores {
  return storesOfFolder(new LmdbEngine(database, onBrokenRecord, now));
}

/** Of a data folder that one process opens: `engine` is its own, or asks it. */
export function storesOfFolder(engine: Engine, close: () => void = () => undefined): InstanceStores {
  return storesOver(
    engine,
    openLmdbLiveClaims(),
    (name) => openLmdbLease(engine, name),
    () => undefined,
    close,
  );
}

/** Rejects with UnfitRedis, which names the fault, or with StoreUnavailable. */
export async function sharedStores(options: DurableOptions): Promise<InstanceStores> {
  return storesIn(await openDurableRedis(options));
}

export function storesIn(redis: DurableRedis): InstanceStores {
  const engine = openRedisEngine(redis);
  const claims = openRedisLiveClaims(redis, engine);
  return storesOver(
    engine,
    claims,
    (name) => openRedisLease(redis, name),
    async (now) => {
      const [secs] = time.parse(await redis.send(["TIME"]));
      requireSameClock(secs * 1_000, now);
    },
    () => redis.close(),
  );
}

/** Seconds, and millionths of the next one. */
const time = z.tuple([z.coerce.number().int(), z.coerce.number().int()]);

export type InstanceStores = ReturnType<typeof storesOver>;

function storesOver(
  engine: Engine,
  claims: LiveClaims,
  lease: (name: LeaseName) => Lease,
  /** Throws ClocksApart. */
  checkClock: (now: number) => Promise<void> | undefined,
  close: () => void,
) {
  return {
    keys: openKeyStore(engine),
    apps: openAppStore(engine),
    feeRules: openFeeRuleStore(engine),
    feeNotes: new FeeNoteStore(engine),
    prices: openPriceStore(engine),
    idempotency: openIdempotencyStore(engine, claims),
    tickets: new TicketStore(engine),
    bridges: new BridgeStore(engine),
    usage: openUsageStore(engine),
    audit: openAuditStore(engine),
    disagreements: openDisagreementStore(engine),
    accounts: new AccountStore(engine),
    dashboardSessions: openDashboardSessionStore(engine),
    appRequests: openAppRequestStore(engine),
    relay: new RelayStore(engine),
    lease: lease(LEASE),
    relayLease: lease(RELAY_LEASE),
    /** Whether something new could be kept now. `now`: milliseconds since 1970. Throws StoreUnavailable or ClocksApart. */
    async check(now: number): Promise<void> {
      await engine.commit({ writes: [["put", "health", "last", String(now)]] });
      await checkClock(now);
    },
    /** What was opened here; a database is its opener's to close. */
    close,
  };
}
