/**
 * Everything that an instance must not lose, over one of two implementations: on this machine's disk for one proxy,
 * or in a durable Redis that several proxies share. What can be read from the chain again is not here.
 */
import type { AppStore } from "./apps.ts";
import type { FeeNoteStore } from "./fee-notes.ts";
import type { FeeRuleStore } from "./fee-rules.ts";
import type { IdempotencyStore } from "./idempotency.ts";
import type { KeyStore } from "./keys.ts";
import { openAppStore } from "./lmdb/apps.ts";
import type { Database } from "./lmdb/database.ts";
import { openFeeNoteStore } from "./lmdb/fee-notes.ts";
import { openFeeRuleStore } from "./lmdb/fee-rules.ts";
import { openIdempotencyStore } from "./lmdb/idempotency.ts";
import { openKeyStore } from "./lmdb/keys.ts";
import { openPriceStore } from "./lmdb/prices.ts";
import { openSubmissionLease } from "./lmdb/submission-lease.ts";
import { openTicketStore } from "./lmdb/tickets.ts";
import type { PriceStore } from "./prices.ts";
import { openRedisAppStore } from "./redis/apps.ts";
import { openDurableRedis, type DurableOptions, type DurableRedis } from "./redis/durable.ts";
import { openRedisFeeNoteStore } from "./redis/fee-notes.ts";
import { openRedisFeeRuleStore } from "./redis/fee-rules.ts";
import { openRedisIdempotencyStore } from "./redis/idempotency.ts";
import { openRedisKeyStore } from "./redis/keys.ts";
import { openRedisPriceStore } from "./redis/prices.ts";
import { openRedisSubmissionLease } from "./redis/submission-lease.ts";
import { openRedisTicketStore } from "./redis/tickets.ts";
import type { SubmissionLease, TicketStore } from "./tickets.ts";

export interface InstanceStores {
  readonly keys: KeyStore;
  readonly apps: AppStore;
  readonly feeRules: FeeRuleStore;
  readonly feeNotes: FeeNoteStore;
  readonly prices: PriceStore;
  readonly idempotency: IdempotencyStore;
  readonly tickets: TicketStore;
  readonly lease: SubmissionLease;
  /** Whether something new could be kept now. Throws StoreUnavailable. */
  check(): Promise<void>;
  /** What was opened here; a database is its opener's to close. */
  close(): void;
}

/** A record that cannot be read; it is given to nobody, and everything else goes on. */
export type OnBrokenRecord = (table: string, id: string) => void;

export function embeddedStores(database: Database, onBrokenRecord?: OnBrokenRecord): InstanceStores {
  const health = database.table("health");
  return {
    keys: openKeyStore(database),
    apps: openAppStore(database),
    feeRules: openFeeRuleStore(database),
    feeNotes: openFeeNoteStore(database),
    prices: openPriceStore(database),
    idempotency: openIdempotencyStore(database),
    tickets: openTicketStore(database, (id) => onBrokenRecord?.("tickets", id)),
    lease: openSubmissionLease(database),
    check: () => database.transaction(() => health.putSync("last", Date.now())),
    close: () => undefined,
  };
}

/** Rejects with UnfitRedis, which names the fault, or with StoreUnavailable. */
export async function sharedStores(options: DurableOptions): Promise<InstanceStores> {
  return storesIn(await openDurableRedis(options));
}

export function storesIn(redis: DurableRedis): InstanceStores {
  return {
    keys: openRedisKeyStore(redis),
    apps: openRedisAppStore(redis),
    feeRules: openRedisFeeRuleStore(redis),
    feeNotes: openRedisFeeNoteStore(redis),
    prices: openRedisPriceStore(redis),
    idempotency: openRedisIdempotencyStore(redis),
    tickets: openRedisTicketStore(redis),
    lease: openRedisSubmissionLease(redis),
    check: async () => {
      await redis.send(["SET", redis.key("health"), String(Date.now())]);
    },
    close: () => redis.close(),
  };
}
