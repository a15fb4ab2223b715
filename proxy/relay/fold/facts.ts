/**
 * What is known of one request, every word of it read from a chain. Amounts are what the token's own log says has
 * moved, never what a message claims. Orphaned blocks leave no fact behind.
 */

import type { Lane } from "../../../shared/protocol/host/forwarders.ts";
import type { BridgeWay } from "../../base/store/bridge-records.ts";

/** Where on which chain something stands. Chains go by the name that the settings give them. */
export interface Spot {
  readonly chain: string;
  /** Slot, on the other blockchain. */
  readonly block: number;
  readonly blockHash: string;
  /** Hash, or signature on the other blockchain. */
  readonly tx: string;
  readonly logIndex: number;
  /** Time of the block, Unix seconds. */
  readonly at: number;
  /** 1 in the newest block. */
  readonly confirmations: number;
  /** As many blocks deep as the chain's setting asks. */
  readonly isFinal: boolean;
}

/** Money of the awaited token that came to an address. */
export interface Arrival {
  readonly place: Spot;
  readonly from: string;
  readonly amount: bigint;
  /** The burn whose delivery this was; the nonce when its burn stands on no chain that is followed. */
  readonly brought: string | undefined;
}

/** It was emptied: everything that came before went with it. A deposit account lost this amount. */
export interface Leaving {
  readonly place: Spot;
  /**
   * `burn`: a source forwarder sent everything on its way, a deposit account what was signed for; `flush`: an out-forwarder
   * did. `sweep` into notes, `return` into the refund note.
   */
  readonly what: "burn" | "flush" | "sweep" | "return" | "refund";
  /** Of the note for `sweep` and `return`, fees not counted; otherwise all that left. */
  readonly amount: bigint;
  readonly leafIndex: number | undefined;
  /** Id of the burn that it sent. */
  readonly burn: string | undefined;
}

/** A burn which left one of our addresses for another chain. */
export interface Burn {
  /** Ours, and the same on every proxy: where it stands on its chain. */
  readonly id: string;
  readonly place: Spot;
  /** Chain that it goes to, by its name; undefined when it is none of those that are followed. */
  readonly to: string | undefined;
  readonly amount: bigint;
  /** As CCTP numbers chains. */
  readonly sourceDomain: number;
  readonly destinationDomain: number;
  /** Who burned, and who is minted to: 32 bytes each, hex. */
  readonly burner: string;
  readonly recipient: string;
  readonly maxFee: bigint;
  /** Finality asked for: 1000 fast, 2000. */
  readonly minFinality: number;
  /** As emitted, hex: the attester fills in four fields. Undefined on the other blockchain, which emits none. */
  readonly message: string | undefined;
  /** Undefined until it is there on the chain that it goes to; as far as that chain is followed. */
  readonly delivery: Delivery | undefined;
}

export interface Delivery {
  readonly place: Spot;
  /** What was minted, by the minter's own log. */
  readonly amount: bigint;
  readonly nonce: string | undefined;
  /** Of an account on the exchange, by its own contract and for this message. */
  readonly credit: { readonly place: Spot; readonly amount: bigint } | undefined;
}

/** `SweepSkipped`: the contract's reason, revert data in hex. */
export interface Skip {
  readonly place: Spot;
  readonly reason: string;
}

export type InTerms = Extract<BridgeWay, { direction: "in" }>["home"];
export type OutTerms = Extract<BridgeWay, { direction: "out" }>["home"];
export type SourceTerms = NonNullable<Extract<BridgeWay, { kind: "from-evm" }>["source"]>["terms"];

/** The terms of an address, with what tells its kind; `lane` is the place of its chain in the terms. */
export type Vault =
  | { readonly kind: "in"; readonly terms: InTerms }
  | { readonly kind: "out"; readonly terms: OutTerms }
  | { readonly kind: "source"; readonly terms: SourceTerms; readonly lane: number };

/**
 * In what the ways differ, by address: `home` is the one on the pool's chain, `source` that on another EVM chain, `deposit`
 * the account on the other blockchain, which only the user's key opens.
 */
export interface Terms {
  readonly role: "home" | "source" | "deposit";
  /** As that chain writes it. */
  readonly address: string;
  /** The awaited one, lower case. */
  readonly token: string;
  /** What is less than this is not moved on. */
  readonly minimum: bigint;
  /** Of the contract that moves it on; undefined where there is none. */
  readonly contract: Vault | undefined;
  /** What bounds its burn, in the attester's numbers; undefined where we burn nothing. */
  readonly lane: Pick<Lane, "feeCeiling" | "domain" | "messenger"> | undefined;
}

/** One address on one chain. All lists in the chain's order. */
export interface VaultFacts extends Terms {
  readonly chain: string;
  /** How many confirmations are asked for. */
  readonly confirmations: number;
  /** Of this chain, about. */
  readonly blockSecs: number;
  /** Of the awaited token: what came less what went. */
  readonly balance: bigint;
  /** Of it, what came in blocks that are final. */
  readonly finalBalance: bigint;
  readonly arrivals: readonly Arrival[];
  readonly burns: readonly Burn[];
  readonly leavings: readonly Leaving[];
  readonly skips: readonly Skip[];
  /** The refund clock of `since(vault)`, read from the events; undefined when nobody has started it. */
  readonly clock: { readonly at: number; readonly hasMinimum: boolean } | undefined;
}

/** What lies at an address of a request and is not awaited there: another token, or the token of another address or chain. */
export interface Misplaced {
  readonly chain: string;
  /** As that chain writes it. */
  readonly address: string;
  readonly token: string;
  readonly balance: bigint;
}

/** Everything of one request. */
export interface BridgeFacts {
  readonly bridgeId: string;
  /** Where the money is before it is on the pool's chain: the source address by chain, or the deposit account. */
  readonly before: readonly VaultFacts[];
  /** The address on the pool's chain. */
  readonly home: VaultFacts;
  /** Burns of others that are minted to the home address, such as the exchange's. */
  readonly incoming: readonly Burn[];
  readonly misplaced: readonly Misplaced[];
  /** What it sends is at its end when an account is credited, and not when it has arrived. */
  readonly isCredited: boolean;
}

/** In the order in which money goes through them. */
export const vaultsOf = ({ before, home }: BridgeFacts): readonly VaultFacts[] => [...before, home];

/** Its own, and those of others that are minted to its home address. */
export const burnsOf = (facts: BridgeFacts): readonly Burn[] => [
  ...vaultsOf(facts).flatMap(({ burns }) => burns),
  ...facts.incoming,
];
