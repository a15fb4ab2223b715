/**
 * Idempotency records in the durable Redis: one hash a scope, which Redis itself removes when it is over, so they
 * cannot grow without end. Two proxies that get the same request see one claim. It has a short lease by Redis's clock,
 * which its holder renews as long as the request runs, so that a dead one's is soon free.
 */
import { createHash, randomUUID } from "node:crypto";
import { z } from "zod";
import { KEEP_MS, type Claim, type IdempotencyStore, type StoredAnswer } from "../idempotency.ts";
import { StoreUnavailable } from "../unavailable.ts";
import type { DurableRedis } from "./durable.ts";

/** Longer than a Redis that is still waited for takes to answer. A client that retries comes back after it. */
export const LEASE_MS = 3_000;
const RENEWALS_IN_A_LEASE = 3;
const RENEWED_AT_ONCE = 500;

/**
 * `endsAt`, by the asking proxy's clock, decides what is over; Redis removes a record this much later, so that
 * clocks which differ do not matter to the removal.
 */
const SLACK_MS = 3_600_000;

/** Milliseconds since 1970. */
const TIME = `
local time = redis.call('TIME')
local time_now = time[1] * 1000 + math.floor(time[2] / 1000)
`;

/**
 * ARGV: fingerprint, token, now, end, life, lease. Its first write may be refused by a full Redis, so a known answer
 * is still given there.
 */
const CLAIM = `${TIME}
local known = redis.call('HMGET', KEYS[1], 'fingerprint', 'endsAt', 'answer', 'leaseUntil')
if known[1] and tonumber(known[2]) > tonumber(ARGV[3]) then
  if known[1] ~= ARGV[1] then return { 'other-body' } end
  if known[3] then return { 'answered', known[3] } end
  local left = (tonumber(known[4]) or 0) - time_now
  if left > 0 then return { 'running', left } end
end
redis.call('HSET', KEYS[1], 'fingerprint', ARGV[1], 'token', ARGV[2], 'endsAt', ARGV[4], 'leaseUntil', time_now + ARGV[6])
redis.call('HDEL', KEYS[1], 'answer')
redis.call('PEXPIRE', KEYS[1], ARGV[5])
return { 'claimed' }
`;

/** ARGV: lease, then the token of each key. Whoever has lost one does not get it back. */
const RENEW = `#!lua flags=allow-oom
${TIME}
for i, key in ipairs(KEYS) do
  if redis.call('HGET', key, 'token') == ARGV[i + 1] then
    redis.call('HSET', key, 'leaseUntil', time_now + ARGV[1])
  end
end
return 1
`;

/**
 * ARGV: token, answer, end, life. Also in a full Redis: the work is done, and forgetting its answer would have it
 * done again. There are no more of these than claims, which a full Redis refuses.
 */
const ANSWER = `#!lua flags=allow-oom
if redis.call('HGET', KEYS[1], 'token') ~= ARGV[1] then return 0 end
redis.call('HSET', KEYS[1], 'answer', ARGV[2], 'endsAt', ARGV[3])
redis.call('PEXPIRE', KEYS[1], ARGV[4])
return 1
`;

const RELEASE = `#!lua flags=allow-oom
if redis.call('HGET', KEYS[1], 'token') ~= ARGV[1] then return 0 end
return redis.call('DEL', KEYS[1])
`;

const reply = z.union([
  z.tuple([z.enum(["claimed", "other-body"])]),
  z.tuple([z.literal("running"), z.int()]),
  z.tuple([z.literal("answered"), z.string()]),
]);
const answerShape = z.strictObject({
  status: z.int(),
  body: z.string(),
  type: z.string(),
  location: z.string().optional(),
  retryAfter: z.string().optional(),
});

/** `leaseMs`: default LEASE_MS. */
export function openRedisIdempotencyStore(redis: DurableRedis, leaseMs = LEASE_MS): IdempotencyStore {
  const claim = redis.script(CLAIM);
  const renew = redis.script(RENEW);
  const answered = redis.script(ANSWER);
  const release = redis.script(RELEASE);
  // Fixed length whatever a caller sent.
  const keyOf = (scope: string): string =>
    redis.key(`idempotency:${createHash("sha256").update(scope, "utf8").digest("base64url")}`);

  /** Keys of this process's claims, by token. */
  const held = new Map<string, string>();
  let timer: NodeJS.Timeout | undefined;

  function hold(token: string, key: string): void {
    held.set(token, key);
    timer ??= setInterval(() => void renewAll(), leaseMs / RENEWALS_IN_A_LEASE).unref();
  }
  function letGo(token: string): void {
    held.delete(token);
    if (held.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  }
  async function renewAll(): Promise<void> {
    const all = [...held];
    for (let at = 0; at < all.length; at += RENEWED_AT_ONCE) {
      const some = all.slice(at, at + RENEWED_AT_ONCE);
      const tokens = some.map(([token]) => token);
      // One that cannot be renewed lapses, and the next holder's token keeps this one's answer out.
      await renew(
        some.map(([, key]) => key),
        [String(leaseMs), ...tokens],
      ).catch(() => undefined);
    }
  }

  return {
    async claim(scope, fingerprint, now): Promise<Claim> {
      const token = randomUUID();
      const key = keyOf(scope);
      const times = [now, now + KEEP_MS, KEEP_MS + SLACK_MS, leaseMs].map(String);
      const [kind, more] = reply.parse(await claim([key], [fingerprint, token, ...times]));
      switch (kind) {
        case "claimed":
          hold(token, key);
          return { kind, token };
        case "other-body":
          return { kind };
        case "running":
          return { kind, retryAfterMs: more };
        case "answered":
          break;
      }
      try {
        return { kind, answer: readAnswer(more) };
      } catch {
        // Not run again: whatever it was, it was done. The scope is free when its time is over.
        redis.setAside("idempotency", key);
        throw new StoreUnavailable(new Error("a kept answer cannot be read"));
      }
    },
    async answer(scope, token, answer, now) {
      const times = [now + KEEP_MS, KEEP_MS + SLACK_MS].map(String);
      await answered([keyOf(scope)], [token, JSON.stringify(answer), ...times]).finally(() => letGo(token));
    },
    async release(scope, token) {
      await release([keyOf(scope)], [token]).finally(() => letGo(token));
    },
  };
}

function readAnswer(text: string): StoredAnswer {
  const { location, ...answer } = answerShape.parse(JSON.parse(text));
  return { ...answer, location };
}
