// The wallet of a key on nodes alone, for the way out: its storage in a folder, its assets those that it has notes of.
import path from "node:path";
import { poolChain } from "../../shared/client/chain.ts";
import { pathToFileURL } from "node:url";
import {
  createProver,
  createWallet,
  type ChainOptions,
  type Prover,
  type TransactionSender,
  type Wallet,
  type WalletOptions,
  type WithoutService,
} from "../../shared/client/index.ts";
import { fileStorage, folderArtefacts, readManifest } from "../../shared/client/node/index.ts";
import type { Address } from "../../shared/protocol/brands.ts";
import { keyHashesIn } from "../deploy/pool.ts";

export interface Opening {
  readonly key: WalletOptions["key"];
  readonly chain: ChainOptions;
  readonly chainId: number;
  readonly pool: Address;
  /** Where what was read and what was sent is kept, sealed under the key. */
  readonly state: string;
  /** Folder of the verification keys by which the pool must name its circuits. */
  readonly verificationKeys: string;
  readonly prover: Prover;
  readonly sender: TransactionSender;
  readonly signal: AbortSignal;
}

export interface Opened {
  readonly wallet: Wallet;
  readonly alone: WithoutService;
  readonly assets: readonly Address[];
}

/** Reads everything once, and then knows which tokens there are. */
export async function openWallet(opening: Opening): Promise<Opened> {
  const { pool, sender, signal } = opening;
  const first = await walletOf(opening, [pool]);
  let assets: Address[];
  try {
    assets = (await (await first.withoutService(sender)).outlook({ signal })).map(({ asset }) => asset);
  } finally {
    await first.close();
  }
  const wallet = await walletOf(opening, assets.length === 0 ? [pool] : assets);
  return { wallet, alone: await wallet.withoutService(sender), assets };
}

async function walletOf(opening: Opening, assets: readonly Address[]): Promise<Wallet> {
  const { key, chain, chainId, pool, state, verificationKeys, prover } = opening;
  return createWallet({
    ...{ key, prover, chain: poolChain(chain), storage: fileStorage(path.join(state, "wallet.cloister")) },
    pins: {
      ...{ chainId, pool, assets, addressPrefix: "clo", enclaves: "unverified", feeCeiling: {} },
      verifyingKeys: await keyHashesIn(verificationKeys),
    },
  });
}

/** From a folder with a manifest.json, whose hashes decide which files are used. */
export async function proverFrom(folder: string): Promise<Prover> {
  const url = pathToFileURL(`${path.resolve(folder)}${path.sep}`);
  return createProver({ source: folderArtefacts(url), manifest: await readManifest(url) });
}
