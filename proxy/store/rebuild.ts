/**
 * An index of the chain built again beside the one that is served. It lies in a place of its own until a proxy
 * starts: a running proxy reads and writes the served one only, so it neither stops nor notices.
 */
import type { Address } from "../../shared/protocol/brands.ts";
import type { ChainDataStore } from "./chain-data.ts";

/** Whose log an index is of. */
export interface IndexSource {
  readonly chainId: number;
  readonly pool: Address;
  readonly deploymentBlock: number;
}

export interface RebuildState {
  readonly source: IndexSource;
  /** Reached the head and agreed with the pool there. Nothing is served before. */
  readonly isComplete: boolean;
}

export interface RebuildStore {
  /** The index in the making. */
  readonly data: ChainDataStore;
  state(): RebuildState | undefined;
  /**
   * Goes on where an earlier rebuild of the same source stopped, or begins with nothing. Whoever calls last is the
   * one that rebuilds: an earlier `worker` can no longer complete.
   */
  begin(source: IndexSource, worker: string, fromNothing: boolean): Promise<"resumed" | "begun">;
  isWorker(worker: string): boolean;
  /** False when another one has begun meanwhile. */
  complete(worker: string): Promise<boolean>;
  /**
   * For a proxy's start, before it reads the index: serves a complete rebuild in place of what was served, and
   * forgets that, in one durable write. `foreign`: there is one, of another pool or chain, and it is left alone.
   */
  adopt(source: Pick<IndexSource, "chainId" | "pool">): Promise<"adopted" | "nothing" | "foreign">;
}
