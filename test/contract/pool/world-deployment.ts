// Puts a pool with its tokens and parts on a chain of its own, as a test wants them. Also at the address of the test
// vectors' pool, so that their real proofs are for it.
import {
  Contract,
  NonceManager,
  toBeHex,
  Wallet,
  type JsonRpcProvider,
  type JsonRpcSigner,
  type Signer,
} from "ethers";
import type { Setting } from "../../support/drafts.ts";
import { attester, type Attester } from "../../../scripts/stack/pool-transaction.ts";
import {
  committedKeyHashes,
  deployContract,
  deployTestUsdc,
  deployVerifiers,
  readKeys,
  type PoolSettings,
} from "../../../scripts/deploy/pool.ts";
import { deployPoolWithSigners } from "../../../scripts/stack/development-registration.ts";
import { loadArtifact } from "../../../scripts/build/contracts.ts";
import { POOL_ABI } from "../../../shared/contracts/abi.ts";
import type { Address } from "../../../shared/protocol/brands.ts";
import { asAddress } from "../../../shared/protocol/host/text.ts";
import { KIND_NAMES, type Kind } from "../../../shared/protocol/statements.ts";
import { verificationKeyHash, type VerificationKey } from "../../../shared/protocol/verification-key.ts";
import { STORY } from "../vectors/story.ts";
import { openMarket, type Market } from "./market.ts";

/** The largest cap there is. */
const NO_BRAKE = 2n ** 104n - 1n;

export interface WorldOptions {
  readonly attesters?: readonly Attester[];
  readonly threshold?: number;
  readonly changeDelay?: number;
  readonly provedDelay?: number;
  readonly signerBond?: bigint;
  readonly guardian?: Address;
  /** By name, of each attester. Default: an image of its own. */
  readonly imageNames?: readonly string[];
  /** Of each attester its kind of verifier. Default: by turns. */
  readonly kinds?: readonly number[];
  /** Of every asset. Default: so high that nobody meets a brake. */
  readonly minimumCap?: bigint;
  /** Artifacts to deploy and list beside the test dollar. */
  readonly moreAssets?: readonly string[];
  /** Uniswap v3 with liquidity, its tokens listed, its executor in use. */
  readonly withMarket?: boolean;
  /** Artifact of another executor to begin with. */
  readonly executor?: string;
  /**
   * Where the test vectors' pool stands, with their three test dollars, so that their statements and real proofs are for
   * this one: told-world.ts plays them.
   */
  readonly asTold?: boolean;
  /** Instead of the committed ones. */
  readonly keys?: Readonly<Record<Kind, VerificationKey>>;
  /** With what `draftOf` needs for every kind: a venue that pays, a second dollar, an approval, some money. */
  readonly forAllKinds?: boolean;
}

export interface Deployment {
  readonly pool: Contract;
  readonly usdc: Contract;
  readonly owner: JsonRpcSigner;
  readonly moreAssets: readonly Address[];
  readonly executor: Address | undefined;
  readonly market: Market | undefined;
  readonly setting: Setting;
}

export async function deployWorld(
  provider: JsonRpcProvider,
  chainId: bigint,
  options: WorldOptions,
): Promise<Deployment> {
  const owner = await provider.getSigner(0);
  const { keys, asTold = false, attesters = [attester(0)] } = options;
  const deployer = asTold ? await toldDeployer(provider) : owner;
  const usdc = (await deployTestUsdc(deployer)).address;
  const moreAssets: Address[] = [];
  for (const name of options.moreAssets ?? [])
    moreAssets.push((await deployContract(deployer, name, [])).address);
  const market = options.withMarket === true ? await openMarket(owner, usdc) : undefined;
  const executor =
    options.executor === undefined
      ? market?.executor
      : (await deployContract(owner, options.executor, [])).address;
  const assets = [usdc, ...moreAssets, ...(market === undefined ? [] : [market.weth, market.token])];
  const pool = await deployPoolWithSigners(deployer, {
    owner: asAddress(owner.address),
    ...(asTold ? await toldParts(owner) : {}),
    ...(keys === undefined ? {} : { verifiers: await deployVerifiers(owner, keys) }),
    signers: attesters.map(({ address }) => address),
    registrar: owner,
    threshold: options.threshold ?? 1,
    changeDelay: options.changeDelay ?? 100,
    ...given(options, "provedDelay", "signerBond", "guardian", "imageNames", "kinds"),
    assets,
    minimumCaps: assets.map(() => options.minimumCap ?? NO_BRAKE),
    ...(executor === undefined ? {} : { executor }),
  });
  const verifyingKeyHashes =
    keys === undefined ? await committedKeyHashes() : eachKind((kind) => verificationKeyHash(keys[kind]));
  return {
    pool: new Contract(pool.address, POOL_ABI, owner),
    usdc: new Contract(usdc, (await loadArtifact("TestUSDC")).abi, owner),
    ...{ owner, moreAssets, executor, market },
    setting: {
      home: { chainId, pool: pool.address },
      deadline: 4_000_000_000n,
      verifyingKeyHashes,
      attesters,
    },
  };
}

/** Its first four contracts stand where the vectors say: three test dollars, then the pool. */
async function toldDeployer(provider: JsonRpcProvider): Promise<Signer> {
  const deployer = new NonceManager(new Wallet(STORY.keys.deployer, provider));
  await provider.send("anvil_setBalance", [await deployer.getAddress(), toBeHex(10n ** 20n)]);
  return deployer;
}

/** What the pool is made of, deployed by somebody else. */
async function toldParts(
  owner: Signer,
): Promise<
  Pick<PoolSettings, "verifiers" | "noteHasher" | "treeHasher" | "governance" | "recovery" | "signerRegistry">
> {
  const place = async (name: string) => (await deployContract(owner, name, [])).address;
  return {
    verifiers: await deployVerifiers(owner, await readKeys()),
    noteHasher: await place("PoseidonNoteHasher"),
    treeHasher: await place("TreeHasher"),
    governance: await place("Governance"),
    recovery: await place("Recovery"),
    signerRegistry: await place("SignerRegistry"),
  };
}

function eachKind<T>(of: (kind: Kind) => T): Record<Kind, T> {
  return Object.fromEntries(KIND_NAMES.map((kind) => [kind, of(kind)])) as Record<Kind, T>;
}

/** Those of the options that are given. */
function given<Name extends keyof WorldOptions>(
  options: WorldOptions,
  ...names: Name[]
): Pick<WorldOptions, Name> {
  return Object.fromEntries(
    names.filter((name) => options[name] !== undefined).map((name) => [name, options[name]]),
  ) as Pick<WorldOptions, Name>;
}
