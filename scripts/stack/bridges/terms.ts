// The bridges of the local stack in one table: which chains and venues there are, how messages number them, and the
// bounds that go into every address. DEVELOPMENT ONLY.
import { parseUnits } from "ethers";

const dollars = (text: string): bigint => parseUnits(text, 6);

/** Domains as the attester and its messages have them. */
export const DOMAINS = { home: 3, other: 7, exchange: 19, altchain: 5 } as const;

/** The two EVM chains beside the pool's: another chain that people hold money on, and the exchange's own. */
export const CHAINS = {
  other: { chainId: 31_339, usualPort: 8547 },
  exchange: { chainId: 31_340, usualPort: 8548 },
} as const;
export type BridgeChainName = keyof typeof CHAINS;
export const BRIDGE_CHAINS = Object.keys(CHAINS) as readonly BridgeChainName[];

/** Less than the minimum is not moved on; all fees of one step together are no more than the ceiling. */
export const BOUNDS = {
  /** Of an arrival at the pool's chain: the service's five cents and a developer's part. */
  arrival: { minimum: dollars("2"), feeCeiling: dollars("1") },
  /** Of a burn on another chain, towards the pool. */
  burn: { minimum: dollars("2"), feeCeiling: dollars("0.5") },
  /** Of a burn on the pool's chain. */
  exit: { minimum: dollars("2"), feeCeiling: dollars("0.5") },
  /** Of a burn towards the exchange. */
  exchange: { minimum: dollars("5"), feeCeiling: dollars("0.5") },
} as const;

/** Blocks of the local chains on which nothing is taken back unless somebody makes a reorganisation. */
export const CONFIRMATIONS = 2;
/** Until the attester calls a block final; what is fast, it attests a block after its own. */
export const FINAL_BLOCKS = 8;
export const ALTCHAIN_DECIMALS = 6;
