/**
 * A lease in the durable Redis, by Redis's clock alone: proxies' clocks may differ. A holder that
 * does not come back in time loses it to whoever asks next, and every change of hands raises the fence.
 */
import { z } from "zod";
import { REPORT, type Lease, type LeaseName } from "../lease.ts";
import type { DurableRedis } from "./durable.ts";

/** ARGV: holder, milliseconds, whether the fence is raised in any case. Also in a full Redis: what waits can only become less under a lease. */
const TAKE = `#!lua flags=allow-oom
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local found = redis.call('HMGET', KEYS[1], 'holder', 'fence', 'until')
local fence = tonumber(found[2]) or 0
if found[1] ~= ARGV[1] then
  if found[3] and tonumber(found[3]) > now then return 0 end
  fence = fence + 1
elseif ARGV[3] == 'new fence' then
  fence = fence + 1
end
redis.call('HSET', KEYS[1], 'holder', ARGV[1], 'fence', fence, 'until', now + ARGV[2])
return fence
`;

/** ARGV: holder. The fence stays, so that the next one's is greater. */
const GIVE_BACK = `#!lua flags=allow-oom
if redis.call('HGET', KEYS[1], 'holder') ~= ARGV[1] then return 0 end
redis.call('HSET', KEYS[1], 'holder', '', 'until', 0)
return 1
`;

export function openRedisLease(redis: DurableRedis, name: LeaseName): Lease {
  const key = redis.key(name);
  const take = redis.script(TAKE);
  const giveBack = redis.script(GIVE_BACK);
  return {
    isShared: true,
    async take(holder, forMs, underNewFence = false) {
      const args = [holder, String(forMs), underNewFence ? "new fence" : ""];
      const fence = z.int().parse(await take([key], args));
      return fence === 0 ? undefined : fence;
    },
    async giveBack(holder) {
      await giveBack([key], [holder]);
    },
    async report() {
      return z
        .string()
        .nullable()
        .transform((text) => text ?? "")
        .parse(await redis.send(["HGET", key, REPORT]));
    },
  };
}
