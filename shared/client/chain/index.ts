/**
 * `cloister-client/chain`: a pool on chain nodes, as an application names it. An entry of its own, since it brings the pool's
 * ABI, and few applications need it before their service is gone.
 */
import type { Home, Kind } from "../../protocol/statements.ts";
import type { Core } from "../core.ts";
import { chainOptions, checkOptions, type Lists } from "../options.ts";
import type { TransactionSender } from "../sender.ts";
import { WithoutService } from "../without-service.ts";
import type { ChainOptions } from "./chain-options.ts";
import { createJsonRpc } from "./json-rpc.ts";
import { Nodes } from "./nodes.ts";
import { PoolChain } from "./pool-chain.ts";

export type { ChainOptions } from "./chain-options.ts";
export { recoverBridges } from "../bridges/recovering.ts";
export type {
  FoundMoney,
  Recovery,
  RecoveryAct,
  RecoveryChain,
  RecoveryOptions,
  RecoveryStep,
  RecoveryWait,
} from "../bridges/recovery/options.ts";

/** What `poolChain` gives to `createWallet`, which says what it pins. */
export interface ChainAccess {
  /** Its nodes, and how they are asked. */
  readonly rpc: readonly string[];
  readonly fetch: typeof fetch | undefined;
  open(home: Home, keyHashes: Readonly<Partial<Record<Kind, string>>>, now: () => number): PoolChain;
  withoutService(open: () => Core, chain: PoolChain, sender: TransactionSender): WithoutService;
}

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
