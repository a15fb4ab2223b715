// Contracts and signers of a local network, as they have to be for the enclave that runs: deployed once, a
// signer registered with its genesis document when a new one was born. The stack owns the pool here; in
// production that is an operator's act.
import { JsonRpcProvider, NonceManager, Wallet, type Signer } from "ethers";
import type { Address } from "../../shared/protocol/brands.ts";
import { keccakHex } from "../../shared/protocol/hash.ts";
import { mustFromHex } from "../../shared/protocol/bytes.ts";
import { loadArtifact } from "../build/contracts.ts";
import type { SignerPair } from "../../proxy/enclave-link/signer-pair.ts";
import {
  committedKeyHashes,
  deployPool,
  deployTestUsdc,
  deployVerifiers,
  keyHashesIn,
  nobodies,
  type PoolSettings,
  readKeys,
} from "../product/deploy.ts";
import {
  addSigner,
  proposeSigner,
  readSigners,
  removeSigner,
  waitForTime,
} from "../product/operator/pool-signers.ts";
import type { Anvil } from "./anvil.ts";
import { giveCoins } from "./local-chain.ts";
import { deployVenue } from "./local-venue.ts";
import { NETWORKS } from "./networks.ts";
import { madeByOlderVersion, type NetworkName, StackError } from "../product/stack-file.ts";
import { type Deployment, type NetworkFolder } from "./stack-folder.ts";

/** So short that a new enclave need not be waited for. */
const CHANGE_DELAY_SECS = 1;
const RICH = 10_000n * 10n ** 18n;

export interface Settling {
  readonly name: NetworkName;
  readonly folder: NetworkFolder;
  readonly chain: Anvil;
  readonly blockTimeSecs: number;
  readonly existing: Deployment | undefined;
  /** Verified, one of each enclave. */
  readonly pairs: readonly SignerPair[];
  /** Signers that the pool asks for; fixed when it is deployed. */
  readonly threshold: number;
  /** Folder of the keys that the pool goes by. Default: the committed ones. */
  readonly verificationKeys?: string | undefined;
  readonly poolTerms?: PoolTerms | undefined;
}

/** What a demonstration wants otherwise of its pool. A longer delay passes by the chain's clock, not by ours. */
export type PoolTerms = Partial<
  Pick<PoolSettings, "changeDelay" | "provedDelay" | "minimumCaps" | "signerBond" | "guardian">
>;

export async function settleContracts(settling: Settling): Promise<Deployment> {
  const { chain, folder, existing } = settling;
  const provider = new JsonRpcProvider(chain.url, chain.chainId, {
    staticNetwork: true,
    cacheTimeout: -1,
    pollingInterval: 25,
  });
  try {
    const wallet = new Wallet(await folder.secrets.text("owner.key"), provider);
    const owner = new NonceManager(wallet);
    const now =
      existing === undefined
        ? await deploy(settling, provider, owner)
        : await resume(existing, settling, provider, owner);
    await folder.writeDeployment(now);
    return now;
  } finally {
    provider.destroy();
  }
}

/** To be asked before anything starts. Throws with advice when the folder's chain holds other contracts or circuits. */
export async function requireContinuable(
  folder: NetworkFolder,
  existing: Deployment,
  verificationKeys?: string,
): Promise<void> {
  if (existing.contracts !== (await fingerprint(verificationKeys)))
    throw madeByOlderVersion(folder.inside("deployment.json"));
}

async function deploy(
  { name, folder, pairs, threshold, blockTimeSecs, verificationKeys, poolTerms = {} }: Settling,
  provider: JsonRpcProvider,
  owner: NonceManager,
): Promise<Deployment> {
  await giveCoins(provider, await owner.getAddress(), RICH);
  const sender = new Wallet(await folder.secrets.text("sender.key"));
  await giveCoins(provider, sender.address, RICH);
  const usdc = (await deployTestUsdc(owner)).address;
  const venue = NETWORKS[name].swaps ? await deployVenue(owner, usdc) : undefined;
  const tokens = [{ symbol: "USDC", address: usdc, decimals: 6 }, ...(venue?.tokens ?? [])];
  const former = nobodies(threshold);
  const pool = await deployPool(owner, {
    signers: former,
    threshold,
    changeDelay: CHANGE_DELAY_SECS,
    assets: tokens.map(({ address }) => address),
    ...poolTerms,
    ...(venue === undefined ? {} : { executor: venue.swaps.executor }),
    ...(verificationKeys === undefined
      ? {}
      : { verifiers: await deployVerifiers(owner, await readKeys(verificationKeys)) }),
  });
  const { changeDelay = CHANGE_DELAY_SECS } = poolTerms;
  await registerSigners(provider, owner, pool.address, pairs, former, async () => {
    if (changeDelay > CHANGE_DELAY_SECS) await provider.send("evm_increaseTime", [changeDelay]);
    await provider.send("evm_mine", []);
  });
  await provider.send("evm_setAutomine", [false]);
  await provider.send("evm_setIntervalMining", [blockTimeSecs]);
  return {
    contracts: await fingerprint(verificationKeys),
    chain_id: NETWORKS[name].chainId,
    pool: pool.address,
    deployment_block: pool.block,
    threshold,
    ...venue,
    tokens,
    signers: pairs.map(({ signer }) => signer),
  };
}

async function resume(
  existing: Deployment,
  { pairs }: Settling,
  provider: JsonRpcProvider,
  owner: NonceManager,
): Promise<Deployment> {
  if ((await provider.getCode(existing.pool)) === "0x")
    throw new StackError("the saved chain does not hold the pool. Begin again with: npm start -- --fresh");
  await registerSigners(provider, owner, existing.pool, pairs, existing.signers);
  return { ...existing, signers: pairs.map(({ signer }) => signer) };
}

/** Adds the signers that the pool does not have, and only then removes the former ones: the pool is never without. */
export async function registerSigners(
  provider: JsonRpcProvider,
  owner: Signer,
  pool: Address,
  pairs: readonly SignerPair[],
  former: readonly Address[],
  passTime?: () => Promise<unknown>,
): Promise<void> {
  const find = async (wanted: Address) =>
    (await readSigners(provider, pool)).find((one) => one.signer === wanted);
  for (const { signer, birthCertificate } of pairs) {
    const before = await find(signer);
    // A folder that was left between the two steps for more than a week.
    if (before === undefined || before.standing === "expired")
      await proposeSigner(owner, pool, signer, birthCertificate);
    const known = await find(signer);
    if (known?.standing === "proposed") {
      await waitForTime(provider, known.admissibleAt ?? 0, passTime);
      await addSigner(owner, pool, signer);
    }
  }
  const now = pairs.map(({ signer }) => signer);
  for (const gone of former) {
    if (!now.includes(gone) && (await find(gone))?.standing === "admitted")
      await removeSigner(owner, pool, gone);
  }
}

/** Of the pool's code and the circuits it accepts: with others, this version's proxy and wallets could not use it. */
async function fingerprint(verificationKeys: string | undefined): Promise<string> {
  const { bytecode } = await loadArtifact("Pool");
  const hashes = await (verificationKeys === undefined
    ? committedKeyHashes()
    : keyHashesIn(verificationKeys));
  const circuits = new TextEncoder().encode(JSON.stringify(hashes));
  return keccakHex(mustFromHex(bytecode), circuits);
}
