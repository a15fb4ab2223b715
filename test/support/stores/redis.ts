// The stores over one connection to a durable Redis.
import { openRedisAppStore } from "../../../proxy/store/redis/apps.ts";
import type { DurableRedis } from "../../../proxy/store/redis/durable.ts";
import { openRedisFeeNoteStore } from "../../../proxy/store/redis/fee-notes.ts";
import { openRedisFeeRuleStore } from "../../../proxy/store/redis/fee-rules.ts";
import { openRedisIdempotencyStore } from "../../../proxy/store/redis/idempotency.ts";
import { openRedisKeyStore } from "../../../proxy/store/redis/keys.ts";
import { openRedisPriceStore } from "../../../proxy/store/redis/prices.ts";
import { openRedisSubmissionLease } from "../../../proxy/store/redis/submission-lease.ts";
import { openRedisTicketStore } from "../../../proxy/store/redis/tickets.ts";
import type { Stores } from "./both.ts";

export function openRedisStores(redis: DurableRedis): Stores {
  return {
    keys: openRedisKeyStore(redis),
    apps: openRedisAppStore(redis),
    feeRules: openRedisFeeRuleStore(redis),
    feeNotes: openRedisFeeNoteStore(redis),
    prices: openRedisPriceStore(redis),
    idempotency: openRedisIdempotencyStore(redis),
    submission: { tickets: openRedisTicketStore(redis), lease: openRedisSubmissionLease(redis) },
  };
}
