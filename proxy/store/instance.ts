/**
 * Everything that an instance must not lose, over one of two implementations: on this machine's disk for one proxy,
 * or in a durable Redis that several proxies share. What can be read from the chain again is not here.
 */
import type { AppStore } from "./apps.ts";
import type { Engine } from "./engine.ts";
import type { FeeNoteStore } from "./fee-notes.ts";
import type { FeeRuleStore } from "./fee-rules.ts";
import { openAppStore } from "./features/apps.ts";
import { openFeeNoteStore } from "./features/fee-notes.ts";
import { openFeeRuleStore } from "./features/fee-rules.ts";
import { openIdempotencyStore } from "./features/idempotency.ts";
import { openKeyStore } from "./features/keys.ts";
import { openPriceStore } from "./features/prices.ts";
import { openTicketStore } from "./features/tickets.ts";
import type { IdempotencyStore } from "./idempotency.ts";
import type { KeyStore } from "./keys.ts";
import type { Database } from "./lmdb/database.ts";
import { openLmdbEngine } from "./lmdb/engine.ts";
import { openLmdbLiveClaims } from "./lmdb/live-claims.ts";
import { openSequencerLease } from "./lmdb/sequencer-lease.ts";
import type { PriceStore } from "./prices.ts";
import { openDurableRedis, type DurableOptions, type DurableRedis } from "./redis/durable.ts";
import { openRedisEngine } from "./redis/engine.ts";
import { openRedisLiveClaims } from "./redis/live-claims.ts";
import { openRedisSequencerLease } from "./redis/sequencer-lease.ts";
import type { SequencerLease, TicketStore } from "./tickets.ts";

export interface InstanceStores {
  readonly keys: KeyStore;
  readonly apps: AppStore;
  readonly feeRules: FeeRuleStore;
  readonly feeNotes: FeeNoteStore;
  readonly prices: PriceStore;
  readonly idempotency: IdempotencyStore;
  readonly tickets: TicketStore;
  readonly lease: SequencerLease;
  /** Whether something new could be kept now. Throws StoreUnavailable. */
  check(): Promise<void>;
  /** What was opened here; a database is its opener's to close. */
  close(): void;
}

/** A record that cannot be read; it is given to nobody, and everything else goes on. */
export type OnBrokenRecord = (table: string, id: string) => void;

/** `now`: milliseconds since 1970. Throws UnfitFormat. */
export function embeddedStores(
  database: Database,
  onBrokenRecord?: OnBrokenRecord,
  now?: () => number,
): InstanceStores {
  const engine = openLmdbEngine(database, onBrokenRecord, now);
  return {
    ...featuresOver(engine),
    idempotency: openIdempotencyStore(engine, openLmdbLiveClaims()),
    lease: openSequencerLease(engine),
    close: () => undefined,
  };
}

/** Rejects with UnfitRedis, which names the fault, or with StoreUnavailable. */
export async function sharedStores(options: DurableOptions): Promise<InstanceStores> {
  return storesIn(await openDurableRedis(options));
}

export function storesIn(redis: DurableRedis): InstanceStores {
  const engine = openRedisEngine(redis);
  return {
    ...featuresOver(engine),
    idempotency: openIdempotencyStore(engine, openRedisLiveClaims(redis, engine)),
    lease: openRedisSequencerLease(redis),
    close: () => redis.close(),
  };
}

function featuresOver(engine: Engine): Omit<InstanceStores, "idempotency" | "lease" | "close"> {
  return {
    keys: openKeyStore(engine),
    apps: openAppStore(engine),
    feeRules: openFeeRuleStore(engine),
    feeNotes: openFeeNoteStore(engine),
    prices: openPriceStore(engine),
    tickets: openTicketStore(engine),
    async check() {
      await engine.commit({ writes: [["put", "health", "last", String(Date.now())]] });
    },
  };
}
