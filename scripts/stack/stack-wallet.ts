// A wallet of the client library on the local stack, with the pins that the stack's own file gives.
import { poolChain } from "../../shared/client/chain.ts";
import {
  createWallet,
  memoryStorage,
  type BridgePins,
  type Pins,
  type Prover,
  type Wallet,
  type WalletOptions,
} from "../../shared/client/index.ts";
import { committedKeyHashes } from "../deploy/pool.ts";
import type { BridgesEntry, NetworkEntry } from "../base/stack-file.ts";

/** The most that this client lets be charged, about a dollar in smallest units; besides, a hundredth of a swap, and with a developer of its own of what is deposited or withdrawn. */
const FLAT_CEILINGS: Readonly<Record<string, bigint>> = {
  USDC: 1_000_000n,
  EURC: 1_000_000n,
  WETH: 400_000_000_000_000n,
};
const DEVELOPER_BPS = 100;
const SWAP_CEILING = { flat: 0n, bps: 100 };

export interface StackWalletOptions extends Pick<
  WalletOptions,
  "client" | "chain" | "prover" | "storage" | "now"
> {
  readonly seed: Uint8Array;
  /** Shielded address that may receive fees beside the service's: the sink of the developer whose app this is. */
  readonly developerSink?: string;
  readonly bridges?: BridgePins;
}

export function openStackWallet(network: NetworkEntry, options: StackWalletOptions): Promise<Wallet> {
  const { seed, developerSink, bridges, ...parts } = options;
  return createWallet({
    ...parts,
    key: { seed },
    rpc: network.wallet_rpc ?? network.chain_rpc,
    pins: { ...pinsOf(network, developerSink), ...(bridges === undefined ? {} : { bridges }) },
  });
}

/** One that no service stands behind: it reads the chain, and pays `withoutService`. */
export async function openWalletAlone(
  network: NetworkEntry,
  { seed, prover }: Pick<StackWalletOptions, "seed"> & { readonly prover: Prover },
): Promise<Wallet> {
  const { chain_rpc: rpc, deployment_block: fromBlock } = network;
  return createWallet({
    ...{ key: { seed }, prover, storage: memoryStorage() },
    chain: poolChain({ rpc, fromBlock, finality: 0, pollMs: 200 }),
    pins: { ...pinsOf(network), verifyingKeys: await committedKeyHashes() },
  });
}

export function pinsOf(network: NetworkEntry, developerSink?: string): Pins {
  return {
    chainId: network.chain_id,
    pool: network.pool,
    assets: network.tokens.map(({ address }) => address),
    addressPrefix: network.address_prefix,
    enclaves: {
      measurements: [network.enclave, network.second_enclave].flatMap((one) => one?.measurement ?? []),
      roots: [network.enclave.attestation_root],
    },
    feeCeiling: {},
    feeCeilings: Object.fromEntries(
      network.tokens.map(({ symbol, address }) => [address, ceilingsOf(symbol, developerSink !== undefined)]),
    ),
    feeSinks: [network.service_address, ...(developerSink === undefined ? [] : [developerSink])],
    ...(network.bridges === undefined ? {} : { bridges: bridgePins(network.usdc, network.bridges) }),
  };
}

/** Everything that goes into a bridge address, from the stack's own file and not from the service. */
export function bridgePins(usdc: string, bridges: BridgesEntry): NonNullable<Pins["bridges"]> {
  const { home, chains, perpvenue, altchain, arrival } = bridges;
  const { messenger } = home;
  return {
    factory: bridges.factory,
    vaultCodeHash: bridges.vault_code_hash,
    collector: bridges.collector,
    assets: { [usdc]: amounts(arrival) },
    lanes: chains.map((chain) => ({
      ...{ chainId: chain.chain_id, domain: home.domain },
      ...{ token: chain.usdc, messenger: chain.messenger, ...amounts(chain.lane) },
    })),
    exits: {
      perpvenue: {
        ...{ messenger, domain: perpvenue.domain, caller: perpvenue.forwarder },
        ...amounts(perpvenue.exit),
      },
      chains: chains.map(({ chain_id, domain, exit }) => ({
        ...{ messenger, chainId: chain_id, domain },
        ...amounts(exit),
      })),
    },
    altchain: { mint: altchain.mint, decimals: altchain.decimals, domain: home.domain },
  };
}

const amounts = (written: { readonly minimum: string; readonly feeCeiling: string }) => ({
  minimum: BigInt(written.minimum),
  feeCeiling: BigInt(written.feeCeiling),
});

/** A developer may take a part of a public amount; of a private one nobody does here. */
function ceilingsOf(symbol: string, hasDeveloper: boolean): Pins["feeCeiling"] {
  const flat = { flat: FLAT_CEILINGS[symbol] ?? 0n, bps: 0 };
  const part = hasDeveloper ? { ...flat, bps: DEVELOPER_BPS } : flat;
  return { deposit: part, transfer: flat, withdraw: part, swap: SWAP_CEILING };
}
