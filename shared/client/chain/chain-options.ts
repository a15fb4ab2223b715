/** How the chain is read. */
import type { HistoryProgress } from "./history.ts";
import type { Finality } from "./nodes.ts";

export interface ChainOptions {
  /** One node's address, or several: then every answer must be the same from all of them. */
  readonly rpc: string | readonly string[];
  /** A block at or before the pool's first one: nothing is read below it. Default 0. */
  readonly fromBlock?: number;
  /**
   * How many blocks lie on top of one that counts (default 12), or the chain's own word. With "finalized" on a chain or
   * node that does not know that tag it is 256 blocks; where that is not what you want, say how many.
   */
  readonly finality?: Finality;
  /** How old the newest block may be, in seconds. Default 900; on chains for development it does not matter. */
  readonly maxAgeSecs?: number;
  /** Default 4 s. What does not fit together is asked again three times, after once, twice and four times as long. */
  readonly pollMs?: number;
  readonly fetch?: typeof fetch;
  /** While the history is read. */
  readonly onProgress?: (at: HistoryProgress) => void;
}
