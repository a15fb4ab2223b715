/**
 * `cloister-client/chain`: a pool on chain nodes, as an application names it. An entry of its own, since it brings the pool's
 * ABI, and few applications need it before their service is gone.
 */
import { chainOptions, checkOptions, type Lists } from "./base/options.ts";
import type { ChainAccess } from "./wallet/chain-access.ts";
import { WithoutService } from "./wallet/without-service.ts";
import type { ChainOptions } from "./chain/chain-options.ts";
import { createJsonRpc } from "./chain/json-rpc.ts";
import { Nodes } from "./chain/nodes.ts";
import { PoolChain } from "./chain/pool-chain.ts";

export type { ChainAccess } from "./wallet/chain-access.ts";
export type { ChainOptions } from "./chain/chain-options.ts";
export { recoverBridges } from "./bridges/recovering.ts";
export type {
  FoundMoney,
  Recovery,
  RecoveryAct,
  RecoveryChain,
  RecoveryOptions,
  RecoveryStep,
  RecoveryWait,
} from "./bridges/recovery/options.ts";

/** Throws OPTIONS_INVALID. Nothing is asked before a wallet reads. */
export function poolChain(options: ChainOptions): ChainAccess {
  checkOptions(chainOptions satisfies Lists<ChainOptions>, options, "poolChain");
  const { fetch } = options;
  const rpc = typeof options.rpc === "string" ? [options.rpc] : options.rpc;
  const all = rpc.map((url) => createJsonRpc(url, { fetch }));
  return {
    ...{ rpc, fetch },
    open: (home, keyHashes, now) =>
      new PoolChain(options, new Nodes(all, Number(home.chainId)), { home, keyHashes, now }),
    withoutService: (open, chain, sender) => new WithoutService(open, chain, sender),
  };
}
