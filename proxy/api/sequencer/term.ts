/** What the sequencer is given, and what its parts share from taking the lease to losing it. */
import type { Field } from "../../../shared/protocol/brands.ts";
import type { Chain } from "../../base/chain/provider.ts";
import type { Pool } from "../../base/chain/pool.ts";
import type { Tokens } from "../../base/chain/token.ts";
import type { Attestor } from "../enclave-link/attestor.ts";
import type { Logger } from "../../base/logging.ts";
import type { Metrics } from "../../base/observe/metrics.ts";
import type { ChainDataStore } from "../../base/store/chain-data.ts";
import type { Lease } from "../../base/store/lease.ts";
import type { TicketStore, TicketWrites } from "../../base/store/ticket-store.ts";
import type { Backoff } from "./backoff.ts";
import type { Blockage } from "./blockage.ts";
import type { CallsInFlight } from "./calls-in-flight.ts";
import type { Errands } from "../../base/chain/errands.ts";
import type { GasWallet } from "../../base/chain/gas-wallet.ts";
import type { Queue } from "./queue.ts";
import type { TreeView } from "./root-update.ts";

export interface SequencerParts {
  readonly chain: Chain;
  readonly pool: Pool;
  readonly tokens: Tokens;
  readonly attestor: Attestor;
  readonly store: TicketStore;
  readonly lease: Lease;
  readonly data: ChainDataStore;
  readonly tree: TreeView & { frontier(leafCount: number): Field[] };
  /** Brings `data` to the chain's head. */
  readonly sync: () => Promise<void>;
  readonly wallet: GasWallet;
  /** Calls beside the pool's; an instance may have none. */
  readonly errands?: Errands;
  readonly logger: Logger;
  readonly metrics: Metrics;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

export interface SequencerLimits {
  /** A transaction that waits longer is replaced by one that pays more. */
  readonly stuckAfterMs: number;
  /** Wei; never bid above it. */
  readonly maxFeePerGas: bigint;
  readonly maxBatch: number;
  /** Of one call: what the chain lets a transaction take. */
  readonly maxGas: bigint;
  /** Calls that are sent and in no block, at most. */
  readonly maxInFlight: number;
}

export interface TermParts extends SequencerParts, SequencerLimits {
  readonly queue: Queue;
  readonly writes: TicketWrites;
  readonly backoff: Backoff;
  /** Outlives the term: also a proxy that does not submit says what holds tickets. */
  readonly blockage: Blockage;
  readonly inFlight: CallsInFlight;
}
