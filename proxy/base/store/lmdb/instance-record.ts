/**
 * Which instance a store belongs to, since tickets and signed transactions of one pool are worth nothing, or worse, for
 * another; and in which format its records are. No format before this one was released, so none is brought into it.
 */
import type { Address } from "../../../../shared/protocol/brands.ts";
import type { Database } from "./database.ts";

export interface Instance {
  readonly chainId: number;
  readonly pool: Address;
}

const TABLE = "instance";
const KEY = "is";
const FORMAT_KEY = "format";
/** Raised with every change of a record's form, together with what brings older records into it. */
export const FORMAT = 7;

/** A store whose records this program would read wrongly. Nothing in it was touched. */
export class UnfitFormat extends Error {
  readonly code = "STORE_FORMAT";

  constructor(found: string) {
    super(
      `the store has ${found}, and this program knows format ${String(FORMAT)} only; name an empty folder`,
    );
    this.name = "UnfitFormat";
  }
}

export class ForeignStore extends Error {
  constructor(found: Instance, wanted: Instance) {
    super(`the store is of the pool ${nameOf(found)}, not ${nameOf(wanted)}`);
    this.name = "ForeignStore";
  }
}

/** Undefined in a store that no proxy has opened since this is kept. */
export function instanceOf(database: Database): Instance | undefined {
  return database.table<Instance, string>(TABLE).get(KEY);
}

/** Writes it down the first time, and refuses every other instance from then on. */
export async function claimInstance(database: Database, { chainId, pool }: Instance): Promise<void> {
  const wanted = { chainId, pool };
  requireFormat(database);
  const known = instanceOf(database) ?? (await write(database, wanted));
  if (!isSameInstance(known, wanted)) throw new ForeignStore(known, wanted);
}

export function requireFormat(database: Database): void {
  const found = database.table<number, string>(TABLE).get(FORMAT_KEY);
  if (found === FORMAT) return;
  if (found !== undefined) throw new UnfitFormat(`format ${String(found)}`);
  // Records without a format: of a program before the format was kept.
  const isUsed = (name: string): boolean => database.table(name).getKeysCount({ limit: 1 }) > 0;
  if ([TABLE, "developers", "tickets"].some(isUsed)) throw new UnfitFormat("an older format");
}

/** Inside a transaction: writes it down in a store that has none. */
export function claimFormat(database: Database): void {
  requireFormat(database);
  database.table<number, string>(TABLE).putSync(FORMAT_KEY, FORMAT);
}

export function isSameInstance(one: Instance, other: Instance): boolean {
  return one.chainId === other.chainId && one.pool === other.pool;
}

export function nameOf({ chainId, pool }: Instance): string {
  return `${pool} on chain ${String(chainId)}`;
}

function write(database: Database, instance: Instance): Promise<Instance> {
  const table = database.table<Instance, string>(TABLE);
  return database.transaction(() => {
    // Another process may have come first.
    const known = table.get(KEY);
    if (known !== undefined) return known;
    claimFormat(database);
    table.putSync(KEY, instance);
    return instance;
  });
}
