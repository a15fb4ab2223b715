/**
 * An index of the chain built again beside the one that is served: two tables of chain data, and one row that says which
 * of them is served. A running proxy reads and writes the served one only, so it neither stops nor notices until it
 * starts again and adopts the other. Adopting changes that row, so there is no moment with half an index.
 */
import type { Address } from "../../../../shared/protocol/brands.ts";
import { openChainDataStoreIn } from "./chain-data.ts";
import { servedIndex, SERVED, spareIndex } from "./chain-tables.ts";
import type { Database } from "./database.ts";

/** Whose log an index is of. */
export interface IndexSource {
  readonly chainId: number;
  readonly pool: Address;
  readonly deploymentBlock: number;
}

interface RebuildState {
  readonly source: IndexSource;
  /** Reached the head and agreed with the pool there. Nothing is served before. */
  readonly isComplete: boolean;
}

interface StoredState extends RebuildState {
  /** Who rebuilds now. */
  readonly worker: string;
}

export type RebuildStore = ReturnType<typeof openRebuildStore>;

export function openRebuildStore(database: Database) {
  const choice = database.table<unknown, string>("chain-choice");
  const served = servedIndex(database);
  const spare = spareIndex(served);
  const spareTable = database.table(spare);
  const stored = (): StoredState | undefined => choice.get("rebuild") as StoredState | undefined;

  return {
    /** The index in the making. */
    data: openChainDataStoreIn(database, spare),
    state(): RebuildState | undefined {
      const known = stored();
      return known === undefined ? undefined : { source: known.source, isComplete: known.isComplete };
    },
    /**
     * Goes on where an earlier rebuild of the same source stopped, or begins with nothing. Whoever calls last is the
     * one that rebuilds: an earlier `worker` can no longer complete.
     */
    begin: (source: IndexSource, worker: string, fromNothing: boolean): Promise<"resumed" | "begun"> =>
      database.transaction(() => {
        const known = stored();
        const goesOn = !fromNothing && known !== undefined && isSame(known.source, source);
        if (!goesOn) spareTable.clearSync();
        choice.putSync("rebuild", { source, worker, isComplete: false } satisfies StoredState);
        return goesOn ? "resumed" : "begun";
      }),
    isWorker: (worker: string): boolean => stored()?.worker === worker,
    /** False when another one has begun meanwhile. */
    complete: (worker: string): Promise<boolean> =>
      database.transaction(() => {
        const known = stored();
        if (known?.worker !== worker) return false;
        choice.putSync("rebuild", { ...known, isComplete: true } satisfies StoredState);
        return true;
      }),
    /**
     * For a proxy's start, before it reads the index: serves a complete rebuild in place of what was served, and
     * forgets that, in one durable write. `foreign`: there is one, of another pool or chain, and it is left alone.
     */
    adopt: ({
      chainId,
      pool,
    }: Pick<IndexSource, "chainId" | "pool">): Promise<"adopted" | "nothing" | "foreign"> =>
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
