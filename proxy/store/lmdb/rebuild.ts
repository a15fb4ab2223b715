/**
 * Rebuilt indexes in LMDB: two tables of chain data, and one row that says which of them is served. Adopting
 * changes that row, so there is no moment with half an index.
 */
import type { IndexSource, RebuildState, RebuildStore } from "../rebuild.ts";
import { openChainDataStoreIn } from "./chain-data.ts";
import { servedIndex, SERVED, spareIndex } from "./chain-tables.ts";
import type { Database } from "./database.ts";

interface StoredState extends RebuildState {
  /** Who rebuilds now. */
  readonly worker: string;
}

export function openRebuildStore(database: Database): RebuildStore {
  const choice = database.table<unknown, string>("chain-choice");
  const served = servedIndex(database);
  const spare = spareIndex(served);
  const spareTable = database.table(spare);
  const stored = (): StoredState | undefined => choice.get("rebuild") as StoredState | undefined;

  return {
    data: openChainDataStoreIn(database, spare),
    state() {
      const known = stored();
      return known === undefined ? undefined : { source: known.source, isComplete: known.isComplete };
    },
    begin: (source, worker, fromNothing) =>
      database.transaction(() => {
        const known = stored();
        const goesOn = !fromNothing && known !== undefined && isSame(known.source, source);
        if (!goesOn) spareTable.clearSync();
        choice.putSync("rebuild", { source, worker, isComplete: false } satisfies StoredState);
        return goesOn ? "resumed" : "begun";
      }),
    isWorker: (worker) => stored()?.worker === worker,
    complete: (worker) =>
      database.transaction(() => {
        const known = stored();
        if (known?.worker !== worker) return false;
        choice.putSync("rebuild", { ...known, isComplete: true } satisfies StoredState);
        return true;
      }),
    adopt: ({ chainId, pool }) =>
      database.transaction(() => {
        const known = stored();
        if (known?.isComplete !== true) return "nothing";
        if (known.source.chainId !== chainId || known.source.pool !== pool) return "foreign";
        choice.putSync(SERVED, spare);
        choice.removeSync("rebuild");
        database.table(served).clearSync();
        return "adopted";
      }),
  };
}

function isSame(one: IndexSource, other: IndexSource): boolean {
  return (
    one.chainId === other.chainId && one.pool === other.pool && one.deploymentBlock === other.deploymentBlock
  );
}
