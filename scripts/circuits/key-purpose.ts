// Keeps development keys off chains where money is: what a deployment asks before it writes a verification key
// into a contract that nobody can change afterwards.

import {
  developmentKeyAmong,
  developmentKeyHashes,
  type KeyHashes,
} from "../../proxy/chain/development-keys.ts";

/** anvil and Hardhat by default, our second local network, and ganache. */
const LOCAL_CHAINS: ReadonlySet<bigint> = new Set([31_337n, 31_338n, 1_337n]);

export interface KeyUse {
  readonly chainId: bigint;
  /** verifyingKeyHash by kind, as they will stand in the pool. */
  readonly keyHashes: KeyHashes;
  /** The operator said `--development`: a test network whose coins are worth nothing. */
  readonly development: boolean;
}

/** Throws for a key that one party made, unless the chain is a local one or the operator said so. */
export async function refuseDevelopmentKeys(use: KeyUse, known?: KeyHashes): Promise<void> {
  if (use.development || LOCAL_CHAINS.has(use.chainId)) return;
  const found = developmentKeyAmong(use.keyHashes, known ?? (await developmentKeyHashes()));
  if (found !== undefined)
    throw new Error(
      `the ${found} key is a development key, and chain ${String(use.chainId)} is no local one: whoever made the key ` +
        "can empty the pool. Use keys from a ceremony, or say --development for a network without money",
    );
}
