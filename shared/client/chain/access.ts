/** A pool on chain nodes, as an application names it. What reads it is loaded by the first wallet that is given one. */
import type { Home, Kind } from "../../protocol/statements.ts";
import { chainOptions, checkOptions, type Lists } from "../options.ts";
import type { HistoryProgress } from "./history.ts";
import { createJsonRpc } from "./json-rpc.ts";
import { Nodes, type Finality } from "./nodes.ts";
import type { PoolChain } from "./pool-chain.ts";

export interface ChainOptions {
  /** One node's address, or several: then every answer must be the same from all of them. */
  readonly rpc: string | readonly string[];
  /** A block at or before the pool's first one: nothing is read below it. Default 0. */
  readonly fromBlock?: number;
  /** How many blocks lie on top of one that counts (default 12), or the chain's own word. */
  readonly finality?: Finality;
  /** How old the newest block may be, in seconds. Default 900; on chains for development it does not matter. */
  readonly maxAgeSecs?: number;
  /** Default 4 s. */
  readonly pollMs?: number;
  readonly fetch?: typeof fetch;
  /** While the history is read. */
  readonly onProgress?: (at: HistoryProgress) => void;
}

/** What `poolChain` gives to `createWallet`, which says what it pins. */
export interface ChainAccess {
  open(home: Home, keyHashes: Readonly<Partial<Record<Kind, string>>>, now: () => number): Promise<PoolChain>;
}

/** Throws OPTIONS_INVALID. Nothing is asked before a wallet reads. */
export function poolChain(options: ChainOptions): ChainAccess {
  checkOptions(chainOptions satisfies Lists<ChainOptions>, options, "poolChain");
  const { rpc, fetch } = options;
  const all = (typeof rpc === "string" ? [rpc] : rpc).map((url) => createJsonRpc(url, { fetch }));
  return {
    async open(home, keyHashes, now) {
      const { PoolChain } = await import("./pool-chain.ts");
      return new PoolChain(options, new Nodes(all, Number(home.chainId)), { home, keyHashes, now });
    },
  };
}
