// The chain of a local network, as commands and demonstrations use it: its coins cost nothing. DEVELOPMENT ONLY.
import { JsonRpcProvider, toBeHex } from "ethers";
import type { NetworkEntry } from "../base/stack-file.ts";

export function chainOf({ chain_rpc, chain_id }: NetworkEntry, pollingInterval = 200): JsonRpcProvider {
  return new JsonRpcProvider(chain_rpc, chain_id, {
    staticNetwork: true,
    cacheTimeout: -1,
    pollingInterval,
  });
}

/** The account holds so many of the smallest units then. */
export async function giveCoins(chain: JsonRpcProvider, address: string, coins: bigint): Promise<void> {
  await chain.send("anvil_setBalance", [address, toBeHex(coins)]);
}
