/**
 * A table of small JSON records in one Redis hash. A change is worked out here and written only if nobody changed
 * the same records meanwhile, so two proxies never write over each other.
 */
import { z } from "zod";
import { StoreUnavailable } from "../unavailable.ts";
import type { DurableRedis } from "./durable.ts";

/** `read` gets parsed JSON and throws on what is no such record. */
export interface RecordForm<T> {
  readonly read: (json: unknown) => T;
  readonly write: (value: T) => unknown;
}

/** For records that are JSON as they are. */
export function plainForm<T>(shape: z.ZodType<T>): RecordForm<T> {
  return { read: (json) => shape.parse(json), write: (value) => value };
}

/**
 * ARGV: n fields, n texts as they were read, n texts to write; the empty text is no record. With a full Redis its
 * first write is refused, before which nothing is written.
 */
const CHANGE = `
local n = #ARGV / 3
for i = 1, n do
  if (redis.call('HGET', KEYS[1], ARGV[i]) or '') ~= ARGV[n + i] then return 0 end
end
for pass = 1, 2 do
  for i = 1, n do
    local text = ARGV[2 * n + i]
    if pass == 1 and text ~= '' then redis.call('HSET', KEYS[1], ARGV[i], text) end
    if pass == 2 and text == '' then redis.call('HDEL', KEYS[1], ARGV[i]) end
  end
end
return 1
`;
/** The same in a Redis that is full: for what takes rights away and hardly grows. */
const CHANGE_THOUGH_FULL = `#!lua flags=allow-oom\n${CHANGE}`;

const texts = z.array(z.string().nullable());
const names = z.array(z.string());
const page = z.tuple([z.string(), z.array(z.string())]);
const PAGE = 500;

export interface Records<T> {
  get(field: string): Promise<T | undefined>;
  /** In the order asked. One that cannot be read is set aside and undefined here. */
  list(fields: readonly string[]): Promise<readonly (T | undefined)[]>;
  /** In order of field. What cannot be read is set aside, so that one bad record does not hide the others. */
  all(): Promise<readonly T[]>;
  fields(): Promise<readonly string[]>;
  /**
   * One atomic durable write over one record. `work` may be called again with what another wrote meanwhile;
   * undefined is no record, and what it throws leaves everything as it was.
   */
  change(
    field: string,
    work: (now: T | undefined) => T | undefined,
    options?: { readonly thoughFull?: boolean },
  ): Promise<T | undefined>;
  /** The same over several. */
  changeAll(
    fields: readonly string[],
    work: (now: readonly (T | undefined)[]) => readonly (T | undefined)[],
  ): Promise<void>;
}

export function openRecords<T>(redis: DurableRedis, table: string, form: RecordForm<T>): Records<T> {
  const key = redis.key(table);
  const write = redis.script(CHANGE);
  const writeThoughFull = redis.script(CHANGE_THOUGH_FULL);

  const textOf = (value: T | undefined): string =>
    value === undefined ? "" : JSON.stringify(form.write(value));
  const read = (field: string, text: string): T => {
    try {
      return form.read(JSON.parse(text));
    } catch {
      redis.setAside(table, field);
      // Its own words could repeat the value.
      throw new StoreUnavailable(new Error(`record ${field} of ${table} cannot be read`));
    }
  };
  const readOrUndefined = (field: string, text: string): T | undefined => {
    try {
      return read(field, text);
    } catch {
      return undefined;
    }
  };

  async function change(
    fields: readonly string[],
    work: (now: readonly (T | undefined)[]) => readonly (T | undefined)[],
    run: typeof write,
  ): Promise<readonly (T | undefined)[]> {
    if (fields.length === 0) return [];
    const end = performance.now() + redis.deadlineMs;
    for (;;) {
      const found = texts.parse(await redis.send(["HMGET", key, ...fields]));
      const next = work(
        fields.map((field, i) => {
          const text = found[i] ?? null;
          return text === null ? undefined : read(field, text);
        }),
      );
      const before = fields.map((_, i) => found[i] ?? "");
      const after = fields.map((_, i) => textOf(next[i]));
      if (after.every((text, i) => text === before[i])) return next;
      if ((await run([key], [...fields, ...before, ...after])) === 1) return next;
      if (performance.now() > end) throw new StoreUnavailable(new Error(`${table} changes too often`));
    }
  }

  return {
    async get(field) {
      const text = z
        .string()
        .nullable()
        .parse(await redis.send(["HGET", key, field]));
      return text === null ? undefined : read(field, text);
    },
    async list(fields) {
      if (fields.length === 0) return [];
      const found = texts.parse(await redis.send(["HMGET", key, ...fields]));
      return fields.map((field, i) => {
        const text = found[i] ?? null;
        return text === null ? undefined : readOrUndefined(field, text);
      });
    },
    async all() {
      // In pages: one long answer would make everybody else's wait. A field may come twice.
      const found = new Map<string, string>();
      let cursor = "0";
      do {
        const [next, pairs] = page.parse(await redis.send(["HSCAN", key, cursor, "COUNT", String(PAGE)]));
        for (let i = 0; i + 1 < pairs.length; i += 2) found.set(pairs[i] ?? "", pairs[i + 1] ?? "");
        cursor = next;
      } while (cursor !== "0");
      return [...found.keys()]
        .sort()
        .map((field) => readOrUndefined(field, found.get(field) ?? ""))
        .filter((value) => value !== undefined);
    },
    async fields() {
      return names.parse(await redis.send(["HKEYS", key])).sort();
    },
    async change(field, work, { thoughFull = false } = {}) {
      const [next] = await change([field], ([now]) => [work(now)], thoughFull ? writeThoughFull : write);
      return next;
    },
    async changeAll(fields, work) {
      await change(fields, work, write);
    },
  };
}
