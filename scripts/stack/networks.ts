// The networks of the local stack, in one table: what tells them apart, and nothing about how they are run.
// Different chain ids and address prefixes are what keeps a statement, a session or an address of one from
// meaning anything on the other.

import type { NetworkName } from "../base/stack-file.ts";

export interface NetworkShape {
  readonly chainId: number;
  /** Human-readable part of shielded addresses. */
  readonly addressPrefix: string;
  /** Of the proxy, where it is free. */
  readonly port: number;
  /** Of the chain's RPC, where it is free. */
  readonly chainPort: number;
  /** Whether Uniswap, more tokens and an executor are on its chain. */
  readonly swaps: boolean;
  /** Whether money comes in from other chains and venues, and goes out to them. */
  readonly bridges: boolean;
}

export const NETWORKS: Readonly<Record<NetworkName, NetworkShape>> = {
  first: {
    chainId: 31_337,
    addressPrefix: "clodev",
    port: 8787,
    chainPort: 8545,
    swaps: false,
    bridges: true,
  },
  second: {
    chainId: 31_338,
    addressPrefix: "clodevb",
    port: 8788,
    chainPort: 8546,
    swaps: true,
    bridges: false,
  },
};

/** The option of a command that chooses the port of a network's proxy or chain. */
export function portOption<What extends "port" | "chain-port">(
  name: NetworkName,
  what: What,
): What | `second-${What}` {
  return name === "first" ? what : `second-${what}`;
}
