/**
 * Idempotency records in the durable Redis: one hash a scope, which Redis itself removes when it is over, so they
 * cannot grow without end. Two proxies that get the same request see one claim.
 */
import { createHash, randomUUID } from "node:crypto";
import { z } from "zod";
import { KEEP_MS, LEASE_MS, type Claim, type IdempotencyStore, type StoredAnswer } from "../idempotency.ts";
import { StoreUnavailable } from "../unavailable.ts";
import type { DurableRedis } from "./durable.ts";

/**
 * `endsAt`, by the asking proxy's clock, decides what is over; Redis removes a record this much later, so that
 * clocks which differ do not matter to the removal.
 */
const SLACK_MS = 3_600_000;

/**
 * ARGV: fingerprint, token, now, end, life. Its first write may be refused by a full Redis, so a known answer is
 * still given there.
 */
const CLAIM = `
local known = redis.call('HMGET', KEYS[1], 'fingerprint', 'endsAt', 'answer')
if known[1] and tonumber(known[2]) > tonumber(ARGV[3]) then
  if known[1] ~= ARGV[1] then return { 'other-body' } end
  if known[3] then return { 'answered', known[3] } end
  return { 'running' }
end
redis.call('HSET', KEYS[1], 'fingerprint', ARGV[1], 'token', ARGV[2], 'endsAt', ARGV[4])
redis.call('HDEL', KEYS[1], 'answer')
redis.call('PEXPIRE', KEYS[1], ARGV[5])
return { 'claimed' }
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
  z.tuple([z.enum(["claimed", "running", "other-body"])]),
  z.tuple([z.literal("answered"), z.string()]),
]);
const answerShape = z.strictObject({
  status: z.int(),
  body: z.string(),
  type: z.string(),
  location: z.string().optional(),
  retryAfter: z.string().optional(),
});

export function openRedisIdempotencyStore(redis: DurableRedis): IdempotencyStore {
  const claim = redis.script(CLAIM);
  const answered = redis.script(ANSWER);
  const release = redis.script(RELEASE);
  // Fixed length whatever a caller sent.
  const keyOf = (scope: string): string =>
    redis.key(`idempotency:${createHash("sha256").update(scope, "utf8").digest("base64url")}`);

  return {
    async claim(scope, fingerprint, now): Promise<Claim> {
      const token = randomUUID();
      const times = [now, now + LEASE_MS, LEASE_MS + SLACK_MS].map(String);
      const [kind, text] = reply.parse(await claim([keyOf(scope)], [fingerprint, token, ...times]));
      if (kind === "claimed") return { kind, token };
      if (kind !== "answered") return { kind };
      try {
        return { kind, answer: readAnswer(text) };
      } catch {
        // Not run again: whatever it was, it was done. The scope is free when its time is over.
        redis.setAside("idempotency", keyOf(scope));
        throw new StoreUnavailable(new Error("a kept answer cannot be read"));
      }
    },
    async answer(scope, token, answer, now) {
      const times = [now + KEEP_MS, KEEP_MS + SLACK_MS].map(String);
      await answered([keyOf(scope)], [token, JSON.stringify(answer), ...times]);
    },
    async release(scope, token) {
      await release([keyOf(scope)], [token]);
    },
  };
}

function readAnswer(text: string): StoredAnswer {
  const { location, ...answer } = answerShape.parse(JSON.parse(text));
  return { ...answer, location };
}
