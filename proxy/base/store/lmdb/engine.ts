/**
 * The engine in LMDB: one transaction a step. `a:b` lies in the table `a`, under keys that begin with the whole name,
 * so that a feature is one table.
 */
import {
  COUNTED,
  EXPIRING,
  type Committed,
  type Engine,
  type Step,
  type Follower,
  type Range,
} from "../engine.ts";
import type { Database, Table } from "./database.ts";
import { claimFormat, requireFormat } from "./instance-record.ts";
import { openLmdbNews } from "./news.ts";

/** Counting those before one takes a look at each block, and at the places of one block. */
const BLOCK = 1_024;
const blockOf = (at: number): number => Math.floor(at / BLOCK);
/** Before every number that a place can be. */
const FIRST = -1;
/** Each record with an end that is written removes up to so many that are over, so a table cannot grow without end. */
const SWEEP = 8;
/** Pages of the tree that one write changes, at most; beside its text, of which a character takes up to three bytes. */
const BYTES_OF_WRITE = 3 << 10;
const BYTES_OF_CHARACTER = 3;

type Key = (string | number)[];
type Places = Table<unknown, Key>;

/** `setAside` is called with records that cannot be read. `now`: milliseconds since 1970. Throws UnfitFormat. */
export class LmdbEngine implements Engine {
  readonly #database: Database;
  readonly setAside: (table: string, key: string) => void;
  readonly #now: () => number;
  readonly #tables = new Map<string, Places>();
  readonly news: ReturnType<typeof openLmdbNews>;
  #hasFormat = false;

  constructor(
    database: Database,
    setAside: (table: string, key: string) => void = () => undefined,
    now: () => number = Date.now,
  ) {
    this.#database = database;
    this.setAside = setAside;
    this.#now = now;
    requireFormat(database);
    this.news = openLmdbNews(database);
  }

  async get(table: string, keys: readonly string[]) {
    return keys.map((key) => this.#read(table, key));
  }

  async all(table: string) {
    const found = new Map<string, string>();
    for (const { key, value } of this.#tableOf(table).getRange({ start: [table, FIRST] })) {
      if (key[0] !== table) break;
      found.set(String(key[1]), textOf(value) ?? "");
    }
    return found;
  }

  async members(
    order: string,
    { from = FIRST, before = Infinity, skip = 0, limit, isBackward = false }: Range = {},
  ) {
    if (limit !== undefined && limit < 1) return [];
    const [first, end] = [
      [order, from],
      [order, before],
    ];
    // No place is at either bound alone, so it does not matter which of the two is left out.
    const range = isBackward
      ? { start: end, end: first, offset: skip, reverse: true }
      : { start: first, end, offset: skip };
    const keys = this.#tableOf(order).getKeys(limit === undefined ? range : { ...range, limit });
    return [...keys].map((key) => String(key[2]));
  }

  async countBefore(order: string, at: number) {
    const table = this.#tableOf(order);
    if (!COUNTED.has(order)) return table.getKeysCount({ start: [order, FIRST], end: [order, at] });
    const [blocks, last] = [blocksOf(order), blockOf(at)];
    const full = table.getRange({ start: [blocks, FIRST], end: [blocks, last] });
    const rest = table.getKeysCount({ start: [order, last * BLOCK], end: [order, at] });
    return [...full].reduce((sum, { value }) => sum + (value as number), rest);
  }

  async commit(step: Step) {
    const { writes, thoughFull = false } = step;
    const demand = { bytes: bytesOf(writes), thoughFull };
    const committed = await this.#database.transaction(() => {
      if (!this.#hasFormat) claimFormat(this.#database);
      return this.#run(step);
    }, demand);
    this.#hasFormat = true;
    if (committed.done && writes.some(([what]) => what === "announce")) await this.news.look();
    return committed;
  }

  follow(follower: Follower) {
    return this.news.follow(follower);
  }

  #tableOf(name: string): Places {
    const known = this.#tables.get(name) ?? this.#database.table<unknown, Key>(name.split(":", 1)[0] ?? name);
    this.#tables.set(name, known);
    return known;
  }

  #endsOf(table: string): Places {
    return this.#database.table<unknown, Key>(`${table}-ends`);
  }

  #read(table: string, key: string): string | undefined {
    return textOf(this.#tableOf(table).get([table, key]));
  }

  #drop(table: string, key: string): void {
    this.#tableOf(table).removeSync([table, key]);
    if (!EXPIRING.has(table)) return;
    const end = this.#endsOf(table).get([key]) as number | undefined;
    if (end === undefined) return;
    this.#endsOf(table).removeSync([key]);
    this.#endsOf(table).removeSync([end, key]);
  }

  #putFor(table: string, key: string, text: string, lifeMs: number): void {
    const [ends, from] = [this.#endsOf(table), this.#now()];
    const over = [...ends.getKeys({ start: [FIRST], end: [from], limit: SWEEP })];
    for (const [, old] of over) this.#drop(table, String(old));
    this.#drop(table, key);
    this.#tableOf(table).putSync([table, key], text);
    ends.putSync([key], from + lifeMs);
    ends.putSync([from + lifeMs, key], true);
  }

  #setRanked(order: string, at: number, member: string, isRanked: boolean): void {
    const table = this.#tableOf(order);
    const place: Key = [order, at, member];
    if (COUNTED.has(order)) {
      if ((table.get(place) !== undefined) === isRanked) return;
      this.#addToBlock(order, at, isRanked ? 1 : -1);
    }
    if (isRanked) table.putSync(place, true);
    else table.removeSync(place);
  }

  #addToBlock(order: string, at: number, by: number): void {
    const table = this.#tableOf(order);
    const block: Key = [blocksOf(order), blockOf(at)];
    const count = ((table.get(block) as number | undefined) ?? 0) + by;
    if (count === 0) table.removeSync(block);
    else table.putSync(block, count);
  }

  #add(table: string, key: string, by: number): number {
    const count = Number(this.#read(table, key) ?? 0) + by;
    this.#tableOf(table).putSync([table, key], String(count));
    return count;
  }

  /** Inside a transaction. */
  #run({ checks = [], writes, number }: Step): Committed {
    for (const [failed, [check, table, key, wanted]] of checks.entries()) {
      const found = this.#read(table, key);
      const holds = check === "is" ? found === wanted : Number(found ?? 0) < wanted;
      if (!holds) return { done: false, failed, found };
    }
    const drawn = number === undefined ? undefined : this.#add(...number, 1);
    for (const write of writes) {
      switch (write[0]) {
        case "put":
        case "put-new":
        case "put-numbered": {
          const [kind, table, key, text] = write;
          if (kind === "put-new" && this.#read(table, key) !== undefined) break;
          const numbered = kind === "put-numbered" ? `${String(drawn)} ${text}` : text;
          this.#tableOf(table).putSync([table, key], numbered);
          break;
        }
        case "put-for":
          this.#putFor(write[1], write[2], write[3], write[4]);
          break;
        case "drop":
          this.#drop(write[1], write[2]);
          break;
        case "add":
          this.#add(write[1], write[2], write[3]);
          break;
        case "rank":
          this.#setRanked(write[1], write[2] === "number" ? (drawn ?? 0) : write[2], write[3], true);
          break;
        case "unrank":
          this.#setRanked(write[1], write[2], write[3], false);
          break;
        case "announce":
          this.news.add(write[1]);
          break;
      }
    }
    return { done: true, number: drawn };
  }
}

const blocksOf = (order: string): string => `${order}/blocks`;

/** What is no text was written by other hands; no feature can read the empty one. */
function textOf(value: unknown): string | undefined {
  return value === undefined || typeof value === "string" ? value : "";
}

function bytesOf(writes: Step["writes"]): number {
  return writes.reduce((sum, [, , , text]) => {
    const length = typeof text === "string" ? text.length : 0;
    return sum + BYTES_OF_WRITE + length * BYTES_OF_CHARACTER;
  }, 0);
}
