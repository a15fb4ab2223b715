/**
 * Which claims the proxies of an instance work on: a record of each with a short life by Redis's clock, which its holder
 * renews as long as the request runs, so that a dead one's is soon free.
 */
import { z } from "zod";
import type { Engine, Write } from "../engine.ts";
import type { LiveClaims } from "../idempotency.ts";
import type { DurableRedis } from "./durable.ts";

/** Longer than a Redis that is still waited for takes to answer. A client that retries comes back after it. */
export const LEASE_MS = 3_000;
const RENEWALS_IN_A_LEASE = 3;
const RENEWED_AT_ONCE = 500;
const TABLE = "idempotency:live";

export function openRedisLiveClaims(redis: DurableRedis, engine: Engine): LiveClaims {
  const held = new Set<string>();
  let timer: NodeJS.Timeout | undefined;
  const put = (token: string): Write => ["put-for", TABLE, token, "", LEASE_MS];

  /** Also in a full Redis. One that has lapsed comes back: whoever took its claim has a token of its own. */
  async function renew(): Promise<void> {
    const all = [...held];
    for (let at = 0; at < all.length; at += RENEWED_AT_ONCE) {
      const writes = all.slice(at, at + RENEWED_AT_ONCE).map(put);
      // One that cannot be renewed lapses, and the next holder's token keeps this one's answer out.
      await engine.commit({ writes, thoughFull: true }).catch(() => undefined);
    }
  }

  return {
    hold(token) {
      held.add(token);
      timer ??= setInterval(() => void renew(), LEASE_MS / RENEWALS_IN_A_LEASE).unref();
      return [put(token)];
    },
    ending: (token) => [["drop", TABLE, token]],
    letGo(token) {
      held.delete(token);
      if (held.size > 0) return;
      clearInterval(timer);
      timer = undefined;
    },
    async leftMs(token) {
      return Math.max(0, z.int().parse(await redis.send(["PTTL", redis.key(`${TABLE}:${token}`)])));
    },
  };
}
