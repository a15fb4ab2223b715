/** A pool on chain nodes, as an application names it. What reads it is loaded by the first wallet that is given one. */
import type { Home, Kind } from "../../protocol/statements.ts";
import { chainOptions, checkOptions, type Lists } from "../options.ts";
import type { ChainOptions } from "./chain-options.ts";
import { createJsonRpc } from "./json-rpc.ts";
import { Nodes } from "./nodes.ts";
import type { PoolChain } from "./pool-chain.ts";

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
