/**
 * The engine in the durable Redis: a table is a hash, an order a sorted set, and a step one script over keys of one
 * hash slot. A record that ends is a hash of its own, because only a key can expire.
 */
import { z } from "zod";
import {
  EXPIRING,
  type Check,
  type Engine,
  type Step,
  type Write,
  type Follower,
  type Range,
  type Committed,
} from "../engine.ts";
import type { DurableRedis } from "./durable.ts";
import type { Script } from "./script.ts";
import { NEWS_KEPT } from "../news.ts";
import { NEWS, openRedisNews } from "./news.ts";

/**
 * ARGV: how many checks, place in KEYS of the count that the number is drawn from (0: none), its field, then of each
 * check and write four: what, place in KEYS, and two more. In a full Redis the first write that grows something is
 * refused; when it is the first of all, nothing was written, and else Redis lets the rest go on.
 */
const COMMIT = `
local last = 3 + 4 * tonumber(ARGV[1])
for i = 4, last, 4 do
  local what, wanted = ARGV[i], ARGV[i + 3]
  local found = redis.call('HGET', KEYS[tonumber(ARGV[i + 1])], ARGV[i + 2])
  local holds
  if what == 'is' then holds = found == wanted
  elseif what == 'none' then holds = not found
  else holds = (tonumber(found) or 0) < tonumber(wanted) end
  if not holds then return { 0, (i - 4) / 4, found } end
end
local number = ''
if ARGV[2] ~= '0' then number = string.format('%.0f', redis.call('HINCRBY', KEYS[tonumber(ARGV[2])], ARGV[3], 1)) end
for i = last + 1, #ARGV, 4 do
  local what, key, a, b = ARGV[i], KEYS[tonumber(ARGV[i + 1])], ARGV[i + 2], ARGV[i + 3]
  if what == 'put' then redis.call('HSET', key, a, b)
  elseif what == 'put-new' then redis.call('HSETNX', key, a, b)
  elseif what == 'put-numbered' then redis.call('HSET', key, a, number .. ' ' .. b)
  elseif what == 'expire' then redis.call('PEXPIRE', key, a)
  elseif what == 'drop' then redis.call('HDEL', key, a)
  elseif what == 'add' then redis.call('HINCRBY', key, a, b)
  elseif what == 'rank' then redis.call('ZADD', key, a == 'number' and number or a, b)
  elseif what == 'unrank' then redis.call('ZREM', key, b)
  elseif what == 'announce' then redis.call('XADD', key, 'MAXLEN', '~', a, '*', 'id', b) end
end
return { 1, number }
`;
/** The same in a Redis that is full. */
const COMMIT_THOUGH_FULL = `#!lua flags=allow-oom\n${COMMIT}`;

const reply = z.union([
  z.tuple([z.literal(1), z.string()]),
  z.tuple([z.literal(0), z.int(), z.string().nullable()]),
]);
const text = z.string().nullable();
const texts = z.array(text);
const names = z.array(z.string());
const page = z.tuple([z.string(), names]);
const PAGE = 500;
/** Of the hash of a record that ends. */
const RECORD = "record";

class RedisEngine implements Engine {
  readonly #redis: DurableRedis;
  readonly #commit: Script;
  readonly #commitThoughFull: Script;
  readonly #news: ReturnType<typeof openRedisNews>;

  constructor(redis: DurableRedis) {
    this.#redis = redis;
    this.#commit = redis.script(COMMIT);
    this.#commitThoughFull = redis.script(COMMIT_THOUGH_FULL);
    this.#news = openRedisNews(redis);
  }

  async get(table: string, keys: readonly string[]) {
    if (keys.length === 0) return [];
    const found = EXPIRING.has(table)
      ? await Promise.all(
          keys.map(async (key) => text.parse(await this.#redis.send(["HGET", ...this.#placeOf(table, key)]))),
        )
      : texts.parse(await this.#redis.send(["HMGET", this.#redis.key(table), ...keys]));
    return found.map((one) => one ?? undefined);
  }

  async all(table: string) {
    // In pages: one long answer would make everybody else's wait. A field may come twice.
    const found = new Map<string, string>();
    let cursor = "0";
    do {
      const asked = ["HSCAN", this.#redis.key(table), cursor, "COUNT", String(PAGE)];
      const [next, pairs] = page.parse(await this.#redis.send(asked));
      for (let i = 0; i + 1 < pairs.length; i += 2) found.set(pairs[i] ?? "", pairs[i + 1] ?? "");
      cursor = next;
    } while (cursor !== "0");
    return new Map([...found.keys()].sort().map((key) => [key, found.get(key) ?? ""]));
  }

  async members(order: string, { from, before, skip = 0, limit = -1, isBackward = false }: Range = {}) {
    if (limit === 0) return [];
    const [least, most] = [String(from ?? "-inf"), before === undefined ? "+inf" : `(${String(before)}`];
    const asked = [
      "ZRANGE",
      this.#redis.key(order),
      ...(isBackward ? [most, least] : [least, most]),
      "BYSCORE",
    ];
    if (isBackward) asked.push("REV");
    return names.parse(await this.#redis.send([...asked, "LIMIT", String(skip), String(limit)]));
  }

  async countBefore(order: string, at: number) {
    return z
      .int()
      .parse(await this.#redis.send(["ZCOUNT", this.#redis.key(order), "-inf", `(${String(at)}`]));
  }

  async commit(step: Step): Promise<Committed> {
    const { keys, args } = this.#encode(step);
    const run = step.thoughFull === true ? this.#commitThoughFull : this.#commit;
    const answer = reply.parse(await run(keys, args));
    if (answer[0] === 0) return { done: false, failed: answer[1], found: answer[2] ?? undefined };
    if (step.writes.some(([what]) => what === "announce")) void this.#news.look();
    return { done: true, number: answer[1] === "" ? undefined : Number(answer[1]) };
  }

  follow(follower: Follower) {
    return this.#news.follow(follower);
  }

  setAside(table: string, key: string) {
    this.#redis.setAside(table, key);
  }

  #placeOf(table: string, key: string): readonly [key: string, field: string] {
    return EXPIRING.has(table) ? [this.#redis.key(`${table}:${key}`), RECORD] : [this.#redis.key(table), key];
  }

  #encode({ checks = [], writes, number }: Step): {
    readonly keys: string[];
    readonly args: string[];
  } {
    const places = new Map<string, string>();
    const at = (key: string): string => {
      const place = places.get(key) ?? String(places.size + 1);
      places.set(key, place);
      return place;
    };
    const check = ([what, table, key, wanted]: Check): string[] => {
      const [name, field] = this.#placeOf(table, key);
      return [wanted === undefined ? "none" : what, at(name), field, String(wanted ?? "")];
    };
    const write = (one: Write): string[] => {
      switch (one[0]) {
        case "put-for": {
          const [name, field] = this.#placeOf(one[1], one[2]);
          return [...["put", at(name), field, one[3]], ...["expire", at(name), String(one[4]), ""]];
        }
        case "rank":
        case "unrank":
          return [one[0], at(this.#redis.key(one[1])), String(one[2]), one[3]];
        case "announce":
          return [one[0], at(this.#redis.key(NEWS)), String(NEWS_KEPT), one[1]];
        case "put":
        case "put-new":
        case "put-numbered":
        case "add":
        case "drop": {
          const [name, field] = this.#placeOf(one[1], one[2]);
          return [one[0], at(name), field, String(one[3] ?? "")];
        }
      }
    };
    const args = [
      String(checks.length),
      number === undefined ? "0" : at(this.#redis.key(number[0])),
      number?.[1] ?? "",
    ];
    for (const one of checks) args.push(...check(one));
    for (const one of writes) args.push(...write(one));
    return { keys: [...places.keys()], args };
  }
}

export function openRedisEngine(redis: DurableRedis): Engine {
  return new RedisEngine(redis);
}
