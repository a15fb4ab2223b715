/**
 * What is known of one request, every word of it read from a chain. Amounts are what the token's own log says has
 * moved, never what a message claims. Orphaned blocks leave no fact behind.
 */

/** Where on which chain something stands. Chains go by the name that the settings give them. */
export interface Place {
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
  readonly place: Place;
  readonly from: string;
  readonly amount: bigint;
  /** The burn whose delivery this was; the nonce when its burn stands on no chain that is followed. */
  readonly brought: string | undefined;
}

export interface Departure {
  readonly place: Place;
  readonly amount: bigint;
  readonly burn: string | undefined;
}

/** A burn which left one of our addresses for another chain. */
export interface Burn {
  /** Ours, and the same on every proxy: where it stands on its chain. */
  readonly id: string;
  readonly place: Place;
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
  readonly place: Place;
  /** What was minted, by the minter's own log. */
  readonly amount: bigint;
  readonly nonce: string | undefined;
  /** Of an account on the exchange, by its own contract and for this message. */
  readonly credit: { readonly place: Place; readonly amount: bigint } | undefined;
}

export interface Sweep {
  readonly place: Place;
  readonly leafIndex: number;
  /** Of the note. */
  readonly amount: bigint;
  readonly fees: bigint;
}

export interface Refund {
  readonly place: Place;
  readonly token: string;
  readonly to: string;
  readonly amount: bigint;
}

export interface Return {
  readonly place: Place;
  readonly leafIndex: number;
  readonly amount: bigint;
}

/** `SweepSkipped`: the contract's reason, revert data in hex. */
export interface Skip {
  readonly place: Place;
  readonly reason: string;
}

/** One address on one chain. All lists in the chain's order. */
export interface VaultFacts {
  readonly chain: string;
  readonly address: string;
  /** The awaited one. */
  readonly token: string;
  /** Of it: what came less what went. */
  readonly balance: bigint;
  /** Of it, what came in blocks that are final. */
  readonly finalBalance: bigint;
  /** Other tokens that are watched, where the balance is not zero. */
  readonly others: readonly { readonly token: string; readonly balance: bigint }[];
  readonly arrivals: readonly Arrival[];
  readonly burns: readonly Burn[];
  /** Forwarded or flushed: everything left. `burn` is the id of what it sent. */
  readonly departures: readonly Departure[];
  readonly sweeps: readonly Sweep[];
  readonly refunds: readonly Refund[];
  readonly returns: readonly Return[];
  readonly skips: readonly Skip[];
  /** The refund clock of `since(vault)`, read from the events. */
  readonly clock: { readonly at: number; readonly hasMinimum: boolean } | undefined;
}

/** Everything of one request. */
export interface BridgeFacts {
  readonly bridgeId: string;
  /** The address on the pool's chain. */
  readonly home: VaultFacts;
  /** The source address on every other EVM chain that has seen something of it. */
  readonly sources: readonly VaultFacts[];
  /** The token account on the other blockchain. */
  readonly alt: VaultFacts | undefined;
  /** Burns of others that are minted to the home address, such as the exchange's. */
  readonly incoming: readonly Burn[];
}
