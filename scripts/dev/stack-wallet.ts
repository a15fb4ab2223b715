// A wallet of the client library on the local stack, with the pins that the stack's own file gives.
import {
  createWallet,
  poolRootVerifier,
  type Client,
  type Prover,
  type Wallet,
  type WalletStorage,
} from "../../shared/client/index.ts";
import type { StackFile } from "./stack-folder.ts";

/** The most that this client lets a service charge: one test dollar. */
const CEILING = { flat: 1_000_000n, bps: 0 };

export interface StackWalletOptions {
  readonly seed: Uint8Array;
  readonly client: Client;
  readonly prover: Prover;
  readonly storage: WalletStorage;
}

export function openStackWallet(
  network: StackFile["networks"]["first"],
  options: StackWalletOptions,
): Promise<Wallet> {
  const { seed, client, prover, storage } = options;
  return createWallet({
    key: { seed },
    client,
    prover,
    storage,
    // Income is believed when the chain itself has the root, whatever the service says.
    verifyRoot: poolRootVerifier(network.chain_rpc, network.chain_id, network.pool),
    pins: {
      chainId: network.chain_id,
      pool: network.pool,
      assets: [network.usdc],
      addressPrefix: network.address_prefix,
      feeCeiling: { deposit: CEILING, transfer: CEILING, withdraw: CEILING },
      feeSinks: [network.service_address],
    },
  });
}
