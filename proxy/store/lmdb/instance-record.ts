/** Which instance a store belongs to: tickets and signed transactions of one pool are worth nothing, or worse, for another. */
import type { Address } from "../../../shared/protocol/brands.ts";
import type { Database } from "./database.ts";

export interface Instance {
  readonly chainId: number;
  readonly pool: Address;
}

const TABLE = "instance";
const KEY = "is";

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
  const known = instanceOf(database) ?? (await write(database, wanted));
  if (!isSameInstance(known, wanted)) throw new ForeignStore(known, wanted);
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
    table.putSync(KEY, instance);
    return instance;
  });
}
