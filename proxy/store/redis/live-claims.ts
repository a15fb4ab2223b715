/**
 * Which claims the proxies of an instance work on: a key of each with a short life by Redis's clock, which its holder
 * renews as long as the request runs, so that a dead one's is soon free.
 */
import { z } from "zod";
import type { LiveClaims } from "../features/idempotency.ts";
import type { DurableRedis } from "./durable.ts";

/** Longer than a Redis that is still waited for takes to answer. A client that retries comes back after it. */
export const LEASE_MS = 3_000;
const RENEWALS_IN_A_LEASE = 3;
const RENEWED_AT_ONCE = 500;

/** ARGV: lease. Also in a full Redis. One that has lapsed comes back: whoever took its claim has a token of his own. */
const RENEW = `#!lua flags=allow-oom
for _, key in ipairs(KEYS) do redis.call('SET', key, '', 'PX', ARGV[1]) end
return 1
`;

export function openRedisLiveClaims(redis: DurableRedis): LiveClaims {
  const renew = redis.script(RENEW);
  const keyOf = (token: string): string => redis.key(`idempotency:live:${token}`);
  const held = new Set<string>();
  let timer: NodeJS.Timeout | undefined;

  async function renewAll(): Promise<void> {
    const all = [...held].map(keyOf);
    // One that cannot be renewed lapses, and the next holder's token keeps this one's answer out.
    for (let at = 0; at < all.length; at += RENEWED_AT_ONCE)
      await renew(all.slice(at, at + RENEWED_AT_ONCE), [String(LEASE_MS)]).catch(() => undefined);
  }

  return {
    async hold(token) {
      held.add(token);
      timer ??= setInterval(() => void renewAll(), LEASE_MS / RENEWALS_IN_A_LEASE).unref();
      await redis.send(["SET", keyOf(token), "", "PX", String(LEASE_MS)]);
    },
    async letGo(token) {
      held.delete(token);
      if (held.size === 0) {
        clearInterval(timer);
        timer = undefined;
      }
      // One that stays lapses.
      await redis.send(["DEL", keyOf(token)]).catch(() => undefined);
    },
    async leftMs(token) {
      return Math.max(0, z.int().parse(await redis.send(["PTTL", keyOf(token)])));
    },
  };
}
