/**
 * A table of records of one form. A change is worked out here and written only if nobody changed the same records
 * meanwhile, so two proxies never write over each other.
 */
import type { z } from "zod";
import { retrying, type Carried, type Check, type Engine, type Write } from "./engine.ts";
import { StoreUnavailable } from "./unavailable.ts";

export interface RecordForm<T> {
  /** Throws on what is no such record. */
  readonly read: (text: string, key: string) => T;
  readonly write: (value: T, key: string) => string;
}

/** What a shape reads; nobody changes it in place. */
export type RecordOf<Shape extends z.ZodType> = Unchanging<z.output<Shape>>;
type Unchanging<T> = T extends string | number | bigint | boolean | null | undefined | Uint8Array
  ? T
  : { readonly [Name in keyof T]: Unchanging<T[Name]> };

/** JSON of this shape. `write`: what JSON has no values for, as text. */
export function jsonForm<T>(
  shape: z.ZodType<T>,
  write: (value: T) => unknown = (value) => value,
): RecordForm<T> {
  return { read: (text) => shape.parse(JSON.parse(text)), write: (value) => JSON.stringify(write(value)) };
}

/**
 * What this process has last read or written under a key is not parsed again as long as the same text is there. Of so
 * many keys, those that came last.
 */
export function remembering<T>({ read, write }: RecordForm<T>, most: number): RecordForm<T> {
  const known = new Map<string, { readonly text: string; readonly value: T }>();
  function remember(key: string, text: string, value: T): void {
    known.delete(key);
    known.set(key, { text, value });
    const [oldest] = known.keys();
    if (known.size > most && oldest !== undefined) known.delete(oldest);
  }
  return {
    read(text, key) {
      const last = known.get(key);
      if (last?.text === text) return last.value;
      const value = read(text, key);
      remember(key, text, value);
      return value;
    },
    write(value, key) {
      const text = write(value, key);
      remember(key, text, value);
      return text;
    },
  };
}

export interface Numbered<T> {
  readonly number: number;
  readonly value: T;
}

const NUMBERED = /^([1-9]\d{0,15}) (.*)$/s;

/** Records that a step has given a number: the number, a space, the record. */
export function numbered<T>(form: RecordForm<T>): RecordForm<Numbered<T>> {
  return {
    read(text, key) {
      const [, number, rest] = NUMBERED.exec(text) ?? [];
      if (rest === undefined) throw new Error("a record without its number");
      return { number: Number(number), value: form.read(rest, key) };
    },
    write: ({ number, value }, key) => `${String(number)} ${form.write(value, key)}`,
  };
}

type Work<T> = (now: readonly (T | undefined)[]) => readonly (T | undefined)[];

export interface ChangeOptions<Found> {
  /** It ends or revokes something, so it may use the room that is kept for that. */
  readonly thoughFull?: boolean;
  /** In the same step, where something changes at all; called again with each attempt. */
  readonly carry?: (before: Found, after: Found) => Carried;
}

export class Records<T> {
  readonly #engine: Engine;
  readonly #table: string;
  readonly #form: RecordForm<T>;
  /** By key, what could not be read: it is reported once, though it may be read all the time. */
  readonly #reported = new Map<string, string>();

  constructor(engine: Engine, table: string, form: RecordForm<T>) {
    this.#engine = engine;
    this.#table = table;
    this.#form = form;
  }

  /** Throws StoreUnavailable where there is one that cannot be read: it is neither good nor unknown. */
  async get(key: string): Promise<T | undefined> {
    const [found] = await this.getAll([key]);
    return found;
  }

  async getAll(keys: readonly string[]): Promise<readonly (T | undefined)[]> {
    const found = await this.#engine.get(this.#table, keys);
    return keys.map((key, i) => this.read(key, found[i]));
  }

  /** In the order asked. One that cannot be read is set aside and undefined here. */
  async list(keys: readonly string[]): Promise<readonly (T | undefined)[]> {
    const found = await this.#engine.get(this.#table, keys);
    return keys.map((key, i) => this.readOrSkip(key, found[i]));
  }

  /** In order of key. What cannot be read is set aside, so that one bad record does not hide the others. */
  async all(): Promise<readonly T[]> {
    return [...(await this.#engine.all(this.#table))]
      .map(([key, text]) => this.readOrSkip(key, text))
      .filter((value) => value !== undefined);
  }

  async keys(): Promise<readonly string[]> {
    return [...(await this.#engine.all(this.#table)).keys()];
  }

  /** False, and nothing written, where there is one. */
  async add(key: string, value: T, options: ChangeOptions<T | undefined> = {}): Promise<boolean> {
    let isNew = false;
    const put = (now: T | undefined): T => {
      isNew = now === undefined;
      return now ?? value;
    };
    await this.change(key, put, options);
    return isNew;
  }

  /**
   * One atomic durable write over one record. `work` may be called again with what another wrote meanwhile;
   * undefined is no record, and what it throws leaves everything as it was.
   */
  async change(
    key: string,
    work: (now: T | undefined) => T | undefined,
    { carry, ...options }: ChangeOptions<T | undefined> = {},
  ): Promise<T | undefined> {
    const [next] = await this.changeAll([key], ([now]) => [work(now)], {
      ...options,
      ...(carry === undefined ? {} : { carry: ([before], [after]) => carry(before, after) }),
    });
    return next;
  }

  /** The same over several. */
  changeAll(
    keys: readonly string[],
    work: Work<T>,
    { carry, ...options }: ChangeOptions<readonly (T | undefined)[]> = {},
  ): Promise<readonly (T | undefined)[]> {
    return retrying(this.#engine, async () => {
      const texts = await this.#engine.get(this.#table, keys);
      const now = keys.map((key, i) => this.read(key, texts[i]));
      const next = work(now);
      const checks = keys.map((key, i): Check => ["is", this.#table, key, texts[i]]);
      const writes = keys.flatMap((key, i): Write[] => {
        const value = next[i];
        if (value === undefined) return texts[i] === undefined ? [] : [["drop", this.#table, key]];
        const text = this.write(key, value);
        return text === texts[i] ? [] : [["put", this.#table, key, text]];
      });
      // What grows comes first, so that a full store refuses all of it.
      writes.sort((one, other) => Number(one[0] === "drop") - Number(other[0] === "drop"));
      if (writes.length === 0) return { result: next };
      const carried = carry?.(now, next) ?? { writes: [] };
      return {
        step: { checks, ...carried, ...options, writes: [...writes, ...carried.writes] },
        result: next,
      };
    });
  }

  write(key: string, value: T): string {
    return this.#form.write(value, key);
  }

  /** What was read of the engine. */
  read(key: string, text: string | undefined): T | undefined {
    if (text === undefined) return undefined;
    try {
      return this.#form.read(text, key);
    } catch {
      if (this.#reported.get(key) !== text) this.#engine.setAside(this.#table, key);
      this.#reported.set(key, text);
      // Its own words could repeat the value.
      throw new StoreUnavailable(new Error(`record ${key} of ${this.#table} cannot be read`));
    }
  }

  readOrSkip(key: string, text: string | undefined): T | undefined {
    try {
      return this.read(key, text);
    } catch {
      return undefined;
    }
  }
}
