/** What a recovery is given, and what it says. */
import type { SpendingKey } from "../../../notes/keys.ts";
import type { TransactionSender } from "../../statements/sender.ts";
import type { BridgePins } from "../../base/pinned-bridges.ts";
import type { BridgeRecord } from "../../state/bridge-record.ts";

export interface RecoveryChain {
  readonly chainId: number;
  /** One node's address, or several: then every answer must be the same from all of them. */
  readonly rpc: string | readonly string[];
  /** Any funded account: it pays for gas and learns nothing that the chain does not show. Without it nothing is sent here. */
  readonly sender?: TransactionSender;
  /** At or before the first block with anything of this key. Default 0. */
  readonly fromBlock?: number;
  /** CCTP's messenger of this chain, where no lane or exit of the pins names it: the exchange's chain, for one. */
  readonly messenger?: string;
}

export interface RecoveryOptions {
  readonly keys: SpendingKey;
  readonly pool: string;
  /** Tokens of the pool that addresses were made for. */
  readonly assets: readonly string[];
  readonly bridges: BridgePins;
  readonly home: RecoveryChain;
  /** Others: of the lanes, of the exits, of the exchange. */
  readonly chains: readonly RecoveryChain[];
  /** Where attestations are fetched. Without it no message is delivered. */
  readonly attestations?: string;
  readonly altchain?: {
    readonly rpc: string;
    /** As the protocol numbers that chain. Default 5. */
    readonly domain?: number;
    /** Seed of 32 bytes of an account there with coins for the network's fee. */
    readonly payer?: Uint8Array;
  };
  /** Parts of addresses that no key tells. Refund addresses of the key's own are always looked for besides these. */
  readonly refundAddresses?: readonly string[];
  readonly accounts?: readonly string[];
  readonly recipients?: readonly { readonly chainId: number; readonly address: string }[];
  /** Of a wallet's storage, where there is one. */
  readonly records?: readonly BridgeRecord[];
  /** So many numbers in a row without a trace end the search. Default 20. */
  readonly gap?: number;
  /** Look and try, and send nothing. */
  readonly dryRun?: boolean;
  /**
   * Tokens that were sent to an address which does not wait for them; the zero address is the chain's coin. Those that
   * bridges are made for are known without this.
   */
  readonly tokens?: readonly { readonly chainId: number; readonly address: string }[];
  /** Look for other tokens in the logs of every contract, which some nodes refuse. They are shown, and not moved. */
  readonly searchTokens?: boolean;
  readonly signal?: AbortSignal;
  readonly fetch?: typeof fetch;
  readonly report?: (step: RecoveryStep) => void;
}

export type RecoveryAct =
  "deliver" | "sweep" | "forward" | "flush" | "burn" | "touch" | "refund" | "return" | "refundOther";

export interface RecoveryStep {
  readonly what: RecoveryAct;
  /** Of the chain on which it happens; null for the other blockchain. */
  readonly chainId: number | null;
  readonly address: string;
  readonly amount: bigint;
  /** `possible`: it would be done by who sends; `refused`: it cannot happen now. */
  readonly state: "done" | "possible" | "refused";
  readonly transaction?: string;
  /** Of `refundOther`. */
  readonly token?: string;
  /** Of a refund: who gets it. */
  readonly refundAddress?: string;
  readonly reason?: string;
}

export interface RecoveryWait {
  readonly what: string;
  /** Unix seconds by that chain's clock; undefined where nobody can know. */
  readonly until: number | undefined;
}

export interface FoundMoney {
  /** `other`: of a token that the address does not wait for. */
  readonly kind: "in" | "source" | "out" | "altchain" | "other";
  readonly index: number;
  readonly chainId: number | null;
  readonly address: string;
  readonly amount: bigint;
  /** Of `other`. */
  readonly token?: string;
}

/** What anybody may have sent. To be named in `tokens` by who wants it. */
export interface StrayMoney {
  readonly chainId: number;
  readonly address: string;
  readonly token: string;
  readonly amount: bigint;
}

export interface Recovery {
  /** As it was found in this round, before it was moved. */
  readonly found: readonly FoundMoney[];
  readonly steps: readonly RecoveryStep[];
  readonly waitingFor: readonly RecoveryWait[];
  /** With `searchTokens`. */
  readonly strays: readonly StrayMoney[];
}
