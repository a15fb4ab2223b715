/**
 * One LMDB environment in the data folder, handed out as named tables. What this file promises:
 * a transaction is whole or absent, and its promise resolves only when the disk has it.
 */
import { EventEmitter } from "node:events";
import { chmodSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { open, type Database as LmdbTable, type Key } from "lmdb";
import { GroupCommit, type Demand } from "./group-commit.ts";
import { openRoom } from "./room.ts";
import { requireWholeFile } from "./store-file.ts";

/** Values are MessagePack: plain objects, arrays, strings, numbers, bigints (below 2^64), bytes. */
export type Table<V, K extends Key = Key> = LmdbTable<V, K>;

export const THOUGH_FULL: Demand = { thoughFull: true };

export interface Database {
  /** A named table; the same name gives the same table. At most 64 names. */
  table<V, K extends Key = Key>(name: string): Table<V, K>;
  /**
   * Runs `work` inside one write transaction over all tables, with what others asked for meanwhile. Inside, use
   * `table.put`, `table.remove` and `table.get` (it sees the writes before it), await nothing, and change nothing
   * but the tables: it may run again. A throw undoes all that this work did and is passed on. Other processes on
   * the same folder wait, also for one that is held still meanwhile: so programs beside the proxy ask it (store-socket.ts). On a full disk it is refused with StoreUnavailable before it begins.
   */
  transaction<T>(work: () => T, demand?: Demand): Promise<T>;
  /** All of it as it is at one moment, into a new file without room that nobody uses; writers go on meanwhile. */
  copyTo(path: string): Promise<void>;
  close(): Promise<void>;
}

export const STORE_FILE = "store.lmdb";

export function openDatabase(folder: string): Database {
  // Keys' hashes, tickets and signed transactions are nobody else's business on this host.
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const path = join(folder, STORE_FILE);
  requireWholeFile(path);
  const root = open({ path, noSubdir: true, maxDbs: 64, encoding: "msgpack" });
  chmodSync(path, 0o600);
  const room = openRoom(path);
  const tables = new Map<string, Table<unknown>>();
  // lmdb ends a read's snapshot by a timer, and the loop takes what comes in before it looks at timers. So a request
  // could be answered from before another process wrote that what its sender had just been told was written.
  const endSnapshot = (): void => void setImmediate(() => root.resetReadTxn());
  const commits = new GroupCommit({
    // The synchronous form: with lmdb 3.5.6 the queued `transaction` never ends on Node 20 (tried).
    // It also gives true rollback, which the queued form has only through child transactions.
    run: (work, { bytes = 0, thoughFull = false }) =>
      root.transactionSync(() => {
        const { lastPageNumber, pageSize } = root.getStats() as EnvironmentStats;
        room.require((lastPageNumber + 1) * pageSize, bytes, thoughFull);
        work();
      }),
    flushed: () => root.flushed,
  });

  return {
    table<V, K extends Key = Key>(name: string): Table<V, K> {
      const known = tables.get(name) ?? root.openDB<unknown>({ name, encoding: "msgpack" });
      // An event that lmdb gives and its own `on` does not know: a snapshot was taken.
      if (!tables.has(name)) EventEmitter.prototype.on.call(known, "begin-transaction", endSnapshot);
      tables.set(name, known);
      return known as unknown as Table<V, K>;
    },
    transaction: (work, demand) => commits.do(work, demand),
    copyTo: (path) => root.backup(path, true),
    async close() {
      await commits.idle();
      room.close();
      await root.close();
    },
  };
}

/** Of what lmdb says of an environment. */
interface EnvironmentStats {
  readonly lastPageNumber: number;
  readonly pageSize: number;
}
