// Keeps development keys off chains where money is: what a deployment asks before it writes a verification key
// into a contract that nobody can change afterwards.

import {
  benchmarkKeyAmong,
  developmentKeyAmong,
  developmentKeyHashes,
  type KeyHashes,
} from "../../../proxy/base/chain/development-keys.ts";
import type { VerificationKey } from "../../../shared/protocol/verification-key.ts";

/** anvil and Hardhat by default, our second local network, and ganache. The pool knows the same ids. */
export const LOCAL_CHAINS: ReadonlySet<bigint> = new Set([31_337n, 31_338n, 1_337n]);

export interface KeyUse {
  readonly chainId: bigint;
  /** verifyingKeyHash by kind, as they will stand in the pool. */
  readonly keyHashes: KeyHashes;
  /** The keys themselves, where they are at hand: a benchmark key shows in itself. */
  readonly keys?: ReadonlyMap<string, VerificationKey>;
  /** The operator said `--development`: a test network whose coins are worth nothing. */
  readonly development: boolean;
}

/** Throws for a key that one party made, or of which everybody knows all, unless the chain is a local one or the operator said so. */
export async function refuseDevelopmentKeys(use: KeyUse, known?: KeyHashes): Promise<void> {
  if (use.development || LOCAL_CHAINS.has(use.chainId)) return;
  const found =
    benchmarkKeyAmong(use.keys ?? new Map<string, VerificationKey>()) ??
    developmentKeyAmong(use.keyHashes, known ?? (await developmentKeyHashes()));
  if (found !== undefined)
    throw new Error(
      `the ${found} key is a development key, and chain ${String(use.chainId)} is no local one: whoever made the key ` +
        "can empty the pool. Use keys from a ceremony, or say --development for a network without money",
    );
}
