// A wallet of the client library on the local stack, with the pins that the stack's own file gives.
import {
  createWallet,
  poolRootVerifier,
  type Client,
  type Pins,
  type Prover,
  type Wallet,
  type WalletStorage,
} from "../../shared/client/index.ts";
import type { NetworkEntry } from "../product/stack-file.ts";

/** The most that this client lets be charged, about a dollar in smallest units; besides, a hundredth of a swap, and with a developer of its own of what is deposited or withdrawn. */
const FLAT_CEILINGS: Readonly<Record<string, bigint>> = {
  USDC: 1_000_000n,
  EURC: 1_000_000n,
  WETH: 400_000_000_000_000n,
};
const DEVELOPER_BPS = 100;
const SWAP_CEILING = { flat: 0n, bps: 100 };

export interface StackWalletOptions {
  readonly seed: Uint8Array;
  readonly client: Client;
  readonly prover: Prover;
  readonly storage: WalletStorage;
  /** Shielded address that may receive fees beside the service's: the sink of the developer whose app this is. */
  readonly developerSink?: string;
  /** Unix seconds; for a chain whose clock was moved. */
  readonly now?: () => number;
}

export function openStackWallet(network: NetworkEntry, options: StackWalletOptions): Promise<Wallet> {
  const { seed, client, prover, storage, developerSink, now } = options;
  return createWallet({
    key: { seed },
    client,
    prover,
    storage,
    // Income is believed when the chain itself has the root, whatever the service says.
    verifyRoot: poolRootVerifier(network.chain_rpc, network.chain_id, network.pool),
    pins: pinsOf(network, developerSink),
    ...(now === undefined ? {} : { now }),
  });
}

export function pinsOf(network: NetworkEntry, developerSink?: string): Pins {
  return {
    chainId: network.chain_id,
    pool: network.pool,
    assets: network.tokens.map(({ address }) => address),
    addressPrefix: network.address_prefix,
    enclaves: {
      measurements: [network.enclave.measurement],
      roots: [network.enclave.attestation_root],
    },
    feeCeiling: {},
    feeCeilings: Object.fromEntries(
      network.tokens.map(({ symbol, address }) => [address, ceilingsOf(symbol, developerSink !== undefined)]),
    ),
    feeSinks: [network.service_address, ...(developerSink === undefined ? [] : [developerSink])],
  };
}

/** A developer may take a part of a public amount; of a private one nobody does here. */
function ceilingsOf(symbol: string, hasDeveloper: boolean): Pins["feeCeiling"] {
  const flat = { flat: FLAT_CEILINGS[symbol] ?? 0n, bps: 0 };
  const part = hasDeveloper ? { ...flat, bps: DEVELOPER_BPS } : flat;
  return { deposit: part, transfer: flat, withdraw: part, swap: SWAP_CEILING };
}
