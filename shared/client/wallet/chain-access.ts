import type { Home, Kind } from "../../protocol/statements.ts";
import type { PoolChain } from "../chain/pool-chain.ts";
import type { Core } from "../paying/core.ts";
import type { TransactionSender } from "../statements/sender.ts";
import type { WithoutService } from "./without-service.ts";

/** What `poolChain` gives to `createWallet`, which says what it pins. */
export interface ChainAccess {
  /** Its nodes, and how they are asked. */
  readonly rpc: readonly string[];
  readonly fetch: typeof fetch | undefined;
  open(home: Home, keyHashes: Readonly<Partial<Record<Kind, string>>>, now: () => number): PoolChain;
  withoutService(open: () => Core, chain: PoolChain, sender: TransactionSender): WithoutService;
}
