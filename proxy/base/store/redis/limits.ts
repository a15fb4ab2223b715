/**
 * Windows and leases in Redis, counted across every proxy of an instance. Each question is one script, so nothing
 * comes between looking and counting, and the only clock is Redis's own.
 */
import { z } from "zod";
import { hashed } from "../values.ts";
import { LEASE_MS, type WindowRule, type WindowState, type WindowStore } from "../windows.ts";
import type { RedisConnection } from "./connection.ts";
import { redisScript } from "./script.ts";

/**
 * A window is the list of its admission times, oldest first: about ten bytes each, at most `quota` of them, gone by
 * itself when the last has left. A clock that was set back stamps with the latest time it gave, so a list stays in order.
 */
const WINDOWS = `
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local admitted = 1
local used = {}
for i, key in ipairs(KEYS) do
  local from = now - tonumber(ARGV[2 * i])
  local length = redis.call('LLEN', key)
  local low, high = 0, length
  while low < high do
    local middle = math.floor((low + high) / 2)
    if tonumber(redis.call('LINDEX', key, middle)) <= from then low = middle + 1 else high = middle end
  end
  if low > 0 then redis.call('LTRIM', key, low, -1) end
  used[i] = length - low
  if used[i] >= tonumber(ARGV[2 * i + 1]) then admitted = 0 end
end
local answer = { admitted }
for i, key in ipairs(KEYS) do
  if ARGV[1] == 'take' and admitted == 1 then
    local last = tonumber(redis.call('LINDEX', key, -1) or 0)
    redis.call('RPUSH', key, string.format('%.0f', math.max(now, last)))
    redis.call('PEXPIRE', key, ARGV[2 * i])
    used[i] = used[i] + 1
  end
  local oldest = redis.call('LINDEX', key, 0)
  answer[2 * i] = used[i]
  answer[2 * i + 1] = oldest and tonumber(oldest) + tonumber(ARGV[2 * i]) - now or 0
end
return answer
`;

/** A group is a sorted set of leases by the time of their end. ARGV: id, most, life. */
const OPEN = `
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
if redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[2]) then return 0 end
redis.call('ZADD', KEYS[1], now + tonumber(ARGV[3]), ARGV[1])
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return 1
`;

/** Adds what is not there: after Redis lost its memory, the streams that are open count again. ARGV: life, ids. */
const KEEP = `
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
for i = 2, #ARGV do redis.call('ZADD', KEYS[1], now + tonumber(ARGV[1]), ARGV[i]) end
redis.call('PEXPIRE', KEYS[1], ARGV[1])
return 1
`;

const integers = z.array(z.int());

/** `instance` keeps instances that share one Redis apart, and two pools of one chain. */
export function openRedisLimits(
  connection: RedisConnection,
  instance: string,
): WindowStore & {
  revive(): Promise<void>;
} {
  // One hash tag, so that a script's keys are on one node of a cluster.
  const prefix = `cloister:{${instance}}:limits`;
  const windows = redisScript(connection, WINDOWS);
  const open = redisScript(connection, OPEN);
  const keep = redisScript(connection, KEEP);

  async function ask(mode: "take" | "peek", rules: readonly WindowRule[]): Promise<readonly number[]> {
    return integers.parse(
      await windows(
        rules.map(({ policy, key }) => `${prefix}:${policy}:${hashed(key)}`),
        [mode, ...rules.flatMap(({ windowMs, quota }) => [String(windowMs), String(quota)])],
      ),
    );
  }
  const leases = (group: string): string => `${prefix}:leases:${hashed(group)}`;

  return {
    async take(rules) {
      const answer = await ask("take", rules);
      return { isAdmitted: answer[0] === 1, states: statesOf(answer) };
    },
    peek: async (rules) => statesOf(await ask("peek", rules)),
    openLease: async (group, id, most) =>
      (await open([leases(group)], [id, String(most), String(LEASE_MS)])) === 1,
    keepLeases: async (group, ids) => {
      await keep([leases(group)], [String(LEASE_MS), ...ids]);
    },
    endLease: async (group, id) => {
      await connection.send(["ZREM", leases(group), id]);
    },
    revive: () => connection.revive(),
  };
}

function statesOf([, ...numbers]: readonly number[]): WindowState[] {
  return Array.from({ length: numbers.length / 2 }, (_, i) => ({
    used: numbers[2 * i] ?? 0,
    oldestLeavesInMs: numbers[2 * i + 1] ?? 0,
  }));
}
