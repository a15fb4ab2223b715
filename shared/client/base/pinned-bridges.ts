/**
 * What a client was configured to believe about bridges. All of it goes into addresses, so that a service which names
 * another collector, ceiling, messenger or contract names an address that this client does not compute.
 */
export interface BridgePins {
  /** The contract that makes the addresses, the same on every chain. */
  readonly factory: string;
  /** Of the contract's part that stands behind each address. */
  readonly vaultCodeHash: string;
  /** The only one who may take fees out of an arrival. */
  readonly collector: string;
  /** By token of the pool: less than `minimum` is not moved on, and all fees of one arrival together are no more than `feeCeiling`. */
  readonly assets: Readonly<Record<string, AmountPins>>;
  /** Chains on which the source address is good. */
  readonly lanes: readonly LanePins[];
  readonly exits: {
    readonly perpvenue?: ExitPins & { readonly caller: string };
    readonly chains: readonly (ExitPins & { readonly chainId: number })[];
  };
  /** `domain`: CCTP's number of the pool's chain, which a burn there names. */
  readonly altchain?: { readonly mint: string; readonly decimals: number; readonly domain: number };
}

export interface AmountPins {
  readonly minimum: bigint;
  readonly feeCeiling: bigint;
}

export interface LanePins extends AmountPins {
  readonly chainId: number;
  /** Of that chain. */
  readonly token: string;
  readonly messenger: string;
  /** CCTP's number of the pool's chain. */
  readonly domain: number;
}

export interface ExitPins extends AmountPins {
  /** On the pool's chain. */
  readonly messenger: string;
  /** CCTP's number of the chain that the money goes to. */
  readonly domain: number;
}
