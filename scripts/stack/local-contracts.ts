// Contracts and signers of a local network, as they have to be for the enclave that runs: deployed once with its image, a
// signer registered by its birth certificate when a new one was born, a new image proposed and admitted when the enclave
// was built anew. The stack owns the pool here; in production that is an operator's act, and registering is anybody's.
import { Contract, JsonRpcProvider, NonceManager, toBeHex, Wallet, type Signer } from "ethers";
import { POOL_ABI } from "../../shared/contracts/abi.ts";
import type { Address, Bytes32 } from "../../shared/protocol/brands.ts";
import { keccakHex } from "../../shared/protocol/hash.ts";
import { mustFromHex } from "../../shared/protocol/bytes.ts";
import { imageOf, VERIFIER_KINDS } from "../../shared/protocol/host/registration.ts";
import { loadArtifact } from "../build/contracts.ts";
import type { SignerPair } from "../../proxy/api/enclave-link/signer-pair.ts";
import {
  committedKeyHashes,
  deployPool,
  deployTestUsdc,
  deployVerifiers,
  keyHashesIn,
  type ImageOfKind,
  type PoolSettings,
  readKeys,
} from "../deploy/pool.ts";
import { act, waitForTime } from "../operator/admissions.ts";
import { readImages, readSigners } from "../operator/pool-signers.ts";
import { kmsKeyIn, registerSigner, settledBlockHash } from "../operator/registration.ts";
import type { Anvil } from "../stand-ins/anvil.ts";
import { developmentAttestations } from "./development-registration.ts";
import type { KnownImage } from "./development-signer.ts";
import { giveCoins } from "../stand-ins/local-chain.ts";
import { deployVenue } from "./local-venue.ts";
import { NETWORKS } from "./networks.ts";
import { madeByOlderVersion, type NetworkName, StackError } from "../base/stack-file.ts";
import { type Deployment, type NetworkFolder } from "./stack-folder.ts";

/** So short that a new enclave need not be waited for. */
const CHANGE_DELAY_SECS = 1;
const RICH = 10_000n * 10n ** 18n;

export interface KnownEnclave {
  readonly image: KnownImage;
  readonly pair: SignerPair;
}

export interface Settling {
  readonly name: NetworkName;
  readonly folder: NetworkFolder;
  readonly chain: Anvil;
  readonly blockTimeSecs: number;
  readonly existing: Deployment | undefined;
  /** Each with its image, and its verified pair; a new one was born for a block of this chain. */
  readonly enclaves: readonly KnownEnclave[];
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
  settling: Settling,
  provider: JsonRpcProvider,
  owner: NonceManager,
): Promise<Deployment> {
  const { name, folder, enclaves, threshold, blockTimeSecs, verificationKeys, poolTerms = {} } = settling;
  await giveCoins(provider, await owner.getAddress(), RICH);
  const sender = new Wallet(await folder.secrets.text("sender.key"));
  await giveCoins(provider, sender.address, RICH);
  const usdc = (await deployTestUsdc(owner)).address;
  const venue = NETWORKS[name].swaps ? await deployVenue(owner, usdc) : undefined;
  const tokens = [{ symbol: "USDC", address: usdc, decimals: 6 }, ...(venue?.tokens ?? [])];
  const pool = await deployPool(owner, {
    images: imagesOf(enclaves).map(kindOf),
    attestations: await developmentAttestations(owner),
    threshold,
    changeDelay: CHANGE_DELAY_SECS,
    assets: tokens.map(({ address }) => address),
    ...poolTerms,
    ...(venue === undefined ? {} : { executor: venue.swaps.executor }),
    ...(verificationKeys === undefined
      ? {}
      : { verifiers: await deployVerifiers(owner, await readKeys(verificationKeys)) }),
  });
  await registerSigners(provider, owner, pool.address, enclaves);
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
    signers: signersOf(enclaves),
  };
}

async function resume(
  existing: Deployment,
  { enclaves }: Settling,
  provider: JsonRpcProvider,
  owner: NonceManager,
): Promise<Deployment> {
  if ((await provider.getCode(existing.pool)) === "0x")
    throw new StackError("the saved chain does not hold the pool. Begin again with: npm start -- --fresh");
  const pool = existing.pool;
  for (const image of imagesOf(enclaves)) await admitImage(provider, owner, pool, image);
  await registerSigners(provider, owner, pool, enclaves);
  await removeFormer(provider, owner, pool, signersOf(enclaves), existing.signers);
  return { ...existing, signers: signersOf(enclaves) };
}

const signersOf = (enclaves: readonly KnownEnclave[]): Address[] => enclaves.map(({ pair }) => pair.signer);

/** Each once. */
function imagesOf(enclaves: readonly KnownEnclave[]): KnownImage[] {
  return [...new Set(enclaves.map(({ image }) => image))];
}

function kindOf({ measurement, program }: KnownImage): ImageOfKind {
  return { image: imageOf(measurement), kind: VERIFIER_KINDS[program] };
}

/** Of an enclave that was built anew: proposed, and admitted after the pool's delay. */
async function admitImage(
  provider: JsonRpcProvider,
  owner: Signer,
  pool: Address,
  known: KnownImage,
): Promise<void> {
  const { image, kind } = kindOf(known);
  const find = async () => (await readImages(provider, pool)).find((one) => one.image === image);
  const before = await find();
  if (before?.standing === "admitted") return;
  // "expired": a folder that was left between the two steps for more than a week.
  if (before?.standing !== "proposed") {
    const terms = { kind, commit: "this tree", buildCommand: "npm run build" };
    await act(owner, pool, "image", "propose", image, terms);
  }
  await waitForTime(provider, (await find())?.admissibleAt ?? 0);
  await act(owner, pool, "image", "admit", image);
}

/** Those that the pool does not have, each by its birth certificate. */
async function registerSigners(
  provider: JsonRpcProvider,
  sender: Signer,
  pool: Address,
  enclaves: readonly KnownEnclave[],
): Promise<void> {
  const contract = new Contract(pool, POOL_ABI, provider);
  for (const { image, pair } of enclaves) {
    if ((await contract.getFunction("isSigner")(pair.signer)) === true) continue;
    const kmsKey = kmsKeyIn(image.configuration);
    await registerSigner(sender, { pool, document: pair.birthCertificate, kmsKey });
  }
}

/** Only when the others are in: the pool is never without. */
async function removeFormer(
  provider: JsonRpcProvider,
  owner: Signer,
  pool: Address,
  now: readonly Address[],
  former: readonly Address[],
): Promise<void> {
  const known = await readSigners(provider, pool);
  for (const gone of former) {
    const isIn = known.some(({ signer, standing }) => signer === gone && standing === "admitted");
    if (!now.includes(gone) && isIn) await act(owner, pool, "signer", "remove", gone);
  }
}

/** Whether a pool on this chain has it; a pair that it has not, and whose certificate has aged, is of no use. */
export async function isRegistered(chain: Anvil, pool: Address, signer: Address): Promise<boolean> {
  const provider = new JsonRpcProvider(chain.url, chain.chainId, { staticNetwork: true, cacheTimeout: -1 });
  try {
    return (await new Contract(pool, POOL_ABI, provider).getFunction("isSigner")(signer)) === true;
  } finally {
    provider.destroy();
  }
}

/**
 * The challenge of a birth that registers its signer on that chain. Of blocks from before its start, Anvil gives contracts
 * another hash than it gives callers, so two are made first.
 */
export async function birthChallenge(chain: Anvil): Promise<Bytes32> {
  const provider = new JsonRpcProvider(chain.url, chain.chainId, { staticNetwork: true, cacheTimeout: -1 });
  try {
    await provider.send("anvil_mine", [toBeHex(2)]);
    return await settledBlockHash(provider);
  } finally {
    provider.destroy();
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
