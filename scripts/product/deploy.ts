// Puts the pool with its verifiers, its hasher and the venue for swaps on a chain, and for local chains the
// test dollar. Trusts the caller's choice of keys, signers and owner; a pool cannot be changed afterwards, so
// every argument is checked before money is spent.
import path from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { ContractFactory, NonceManager, Wallet, ZeroAddress, type Signer } from "ethers";
import {
  asAddress,
  asBytes32,
  ZERO_BYTES32,
  type Address,
  type Bytes32,
} from "../../shared/protocol/brands.ts";
import { toAddress, toHex } from "../../shared/protocol/bytes.ts";
import { keccak256 } from "../../shared/protocol/hash.ts";
import { KIND_NAMES, type Kind } from "../../shared/protocol/statements.ts";
import {
  verificationKeyBytes,
  verificationKeyHash,
  type VerificationKey,
} from "../../shared/protocol/verification-key.ts";
import { readKeys, verificationKeysFolder } from "../build/circuits/artefacts.ts";
import { wholeNumber } from "../build/command.ts";
import { loadArtifact } from "../build/contracts.ts";
import { LOCAL_CHAINS, refuseDevelopmentKeys } from "../build/circuits/key-purpose.ts";
import { SendingProvider } from "./receipt-by-time.ts";

export { readKeys };

const DAY_SECS = 86_400;
/** The pool's own SHORTEST_PROVED_DELAY and HEAD_START, and why: PoolSettings.sol. Said here before anything is paid for. */
const SHORTEST_PROVED_DELAY_SECS = 2 * DAY_SECS;
const HEAD_START_SECS = 2 * DAY_SECS;

/** A million of a token with six decimals. */
const DEFAULT_MINIMUM_CAP = 1_000_000_000_000n;

const HELP = `Usage: DEPLOYER_KEY=0x… tsx scripts/product/deploy.ts --rpc <url> --keys <folder> [--signer <address>]… --asset <address>…

Deploys the four verifiers, the two hashers, the pool's two modules and a pool, and prints one JSON object. The deployer's key is read
from the environment, never from the command line, where other users of the machine could see it.

  --keys <folder>            verification keys of a ceremony: <kind>.json for each of the four kinds
  --signer <address>         an enclave's signing address; may be given several times (default: nobody's, so that
                             the first one comes with its genesis document: operator signer register)
  --image <hash>             keccak256(PCR0 ‖ PCR1 ‖ PCR2) of the image that holds that signer's key; one for each
                             --signer, in the same order (default: none known, so that no image can be revoked)
  --bond <wei>               what stands for each signer and goes to whoever refutes it (default 0); paid by the deployer
                             for those of --signer
  --asset <address>          a token that may be deposited; may be given several times
  --minimum-cap <units>      what may leave of that asset in a day at least, also where a tenth of the balance is less;
                             one for each --asset, in the same order
  --threshold <n>            attestations that a statement needs (default 1); no more than there are signers
  --change-delay <seconds>   before a proposed signer, asset or executor may be admitted (default ${String(7 * DAY_SECS)},
                             at least two days more than the next; any on chains ${[...LOCAL_CHAINS].join(", ")})
  --proved-delay <seconds>   how old a root must be before a proof may use it without a signer (default ${String(3 * DAY_SECS)}, at
                             least ${String(SHORTEST_PROVED_DELAY_SECS)}; any on those chains)
  --guardian <address>       who may close the attested path for three days of ten (default: nobody)
  --executor <address>       the venue for swaps (default: none, unless the next option is given)
  --uniswap-factory <address>  deploys an executor over this Uniswap v3 first, and uses it
  --owner <address>          who may propose and remove signers, assets and executors (default: the deployer)
  --development              not for money: takes the committed keys, whose maker could forge any statement, also
                             by itself without --keys
  --help                     this text`;

/**
 * Nobody's addresses: hashes, whose keys nobody has. A pool needs as many signers to begin with as it asks for, and
 * shows a genesis document only for one that is proposed. So it may begin with these; remove them once real ones are in.
 */
export function nobodies(count: number): readonly Address[] {
  return Array.from({ length: count }, (_, i) => {
    const text = `Cloister: no signer yet${i === 0 ? "" : ` ${String(i)}`}`;
    return toAddress(keccak256(new TextEncoder().encode(text)).slice(-20));
  });
}

export interface PoolSettings {
  /** Signing addresses of the enclaves accepted from the start. */
  readonly signers: readonly Address[];
  /** Attestations by distinct signers that a statement needs. */
  readonly threshold: number;
  /** Seconds between the proposal of a signer, asset or executor and the moment it may be admitted. */
  readonly changeDelay: number;
  readonly assets: readonly Address[];
  /** Seconds that a root must be old before a proof may use it. Default: half of `changeDelay`. */
  readonly provedDelay?: number;
  /** keccak256(PCR0 ‖ PCR1 ‖ PCR2) of each signer's image. Default: unknown. */
  readonly images?: readonly Bytes32[];
  /** Wei that stand for each signer. Default: none. */
  readonly signerBond?: bigint;
  /** Of each asset the least that may leave in a day. Default: a million of a token with six decimals. */
  readonly minimumCaps?: readonly bigint[];
  /** Default: nobody. */
  readonly guardian?: Address | undefined;
  /** Default: none, so no swaps. */
  readonly executor?: Address | undefined;
  /** Default: the deployer. */
  readonly owner?: Address | undefined;
  /** Deployed before, for these or other keys. Default: new ones for the committed keys. */
  readonly verifiers?: Readonly<Record<Kind, Address>>;
  /** Deployed before. Default: new ones. */
  readonly noteHasher?: Address;
  readonly treeHasher?: Address;
  readonly governance?: Address;
  readonly recovery?: Address;
}

export interface Deployed {
  readonly address: Address;
  /** Nothing of the contract is before this block, so indexers begin here. */
  readonly block: number;
}

export async function deployPool(wallet: Signer, settings: PoolSettings): Promise<Deployed> {
  const verifiers = settings.verifiers ?? (await deployVerifiers(wallet, await readKeys()));
  const { signers, assets, signerBond = 0n } = settings;
  const contract = async (name: string) => (await deployContract(wallet, name, [])).address;
  const configuration = {
    owner: settings.owner ?? (await wallet.getAddress()),
    guardian: settings.guardian ?? ZeroAddress,
    signers,
    images: settings.images ?? signers.map(() => ZERO_BYTES32),
    threshold: settings.threshold,
    signerBond,
    changeDelay: settings.changeDelay,
    provedDelay: settings.provedDelay ?? Math.floor(settings.changeDelay / 2),
    assets,
    minimumCaps: settings.minimumCaps ?? assets.map(() => DEFAULT_MINIMUM_CAP),
    executor: settings.executor ?? ZeroAddress,
    verifiers: KIND_NAMES.map((kind) => verifiers[kind]),
    noteHasher: settings.noteHasher ?? (await contract("PoseidonNoteHasher")),
    treeHasher: settings.treeHasher ?? (await contract("TreeHasher")),
    governance: settings.governance ?? (await contract("Governance")),
    recovery: settings.recovery ?? (await contract("Recovery")),
  };
  return deployContract(wallet, "Pool", [configuration], signerBond * BigInt(signers.length));
}

/** One verifier a kind, each with its key in its code. */
export async function deployVerifiers(
  wallet: Signer,
  keys: Readonly<Record<Kind, VerificationKey>>,
): Promise<Record<Kind, Address>> {
  return eachKind(async (kind) => {
    // What its constructor takes, and `verificationKeyHash` hashes.
    const bytes = toHex(verificationKeyBytes(keys[kind]));
    return (await deployContract(wallet, "Groth16Verifier", [bytes])).address;
  });
}

/** DEVELOPMENT ONLY: a token that anybody may mint. */
export async function deployTestUsdc(wallet: Signer): Promise<Deployed> {
  return deployContract(wallet, "TestUSDC", []);
}

export async function deployContract(
  wallet: Signer,
  name: string,
  args: readonly unknown[],
  value = 0n,
): Promise<Deployed> {
  const { abi, bytecode } = await loadArtifact(name);
  const factory = new ContractFactory(abi as never, bytecode, wallet);
  const contract = await factory.deploy(...args, { value });
  const receipt = await contract.deploymentTransaction()?.wait();
  const address = asAddress(receipt?.contractAddress);
  if (receipt === undefined || receipt === null || address === undefined)
    throw new Error(`${name} was not deployed`);
  return { address, block: receipt.blockNumber };
}

/** Hashes of the keys in shared/protocol/verification-keys, by which pool and enclave name the circuits. */
export function committedKeyHashes(): Promise<Record<Kind, Bytes32>> {
  return keyHashesIn(verificationKeysFolder);
}

/** Of another folder's keys. */
export async function keyHashesIn(folder: string): Promise<Record<Kind, Bytes32>> {
  const keys = await readKeys(folder);
  return eachKind(async (kind) => verificationKeyHash(keys[kind]));
}

/** One after the other: the caller's wallet may count its transactions itself. */
async function eachKind<T>(make: (kind: Kind) => Promise<T>): Promise<Record<Kind, T>> {
  const made: [Kind, T][] = [];
  for (const kind of KIND_NAMES) made.push([kind, await make(kind)]);
  return Object.fromEntries(made) as Record<Kind, T>;
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      rpc: { type: "string" },
      keys: { type: "string" },
      signer: { type: "string", multiple: true, default: [] },
      asset: { type: "string", multiple: true, default: [] },
      image: { type: "string", multiple: true, default: [] },
      bond: { type: "string", default: "0" },
      "minimum-cap": { type: "string", multiple: true, default: [] },
      "proved-delay": { type: "string", default: String(3 * DAY_SECS) },
      guardian: { type: "string" },
      threshold: { type: "string", default: "1" },
      "change-delay": { type: "string", default: String(7 * DAY_SECS) },
      executor: { type: "string" },
      "uniswap-factory": { type: "string" },
      owner: { type: "string" },
      development: { type: "boolean", default: false },
      help: { type: "boolean" },
    },
  });
  if (values.help === true) {
    console.log(HELP);
    return;
  }
  const deployerKey = process.env["DEPLOYER_KEY"];
  if (values.rpc === undefined || deployerKey === undefined) {
    throw new Error("--rpc and the environment's DEPLOYER_KEY are needed; see --help");
  }
  if (values.keys === undefined && !values.development) {
    throw new Error("--keys is needed: the committed keys are for development only; see --help");
  }
  if (values.executor !== undefined && values["uniswap-factory"] !== undefined) {
    throw new Error("--executor and --uniswap-factory exclude each other");
  }
  const threshold = wholeNumber("--threshold", values.threshold);
  const signers = values.signer.map((text) => address(text, "--signer"));
  const settings = {
    signers: signers.length === 0 ? nobodies(threshold) : signers,
    threshold,
    changeDelay: wholeNumber("--change-delay", values["change-delay"]),
    provedDelay: wholeNumber("--proved-delay", values["proved-delay"]),
    signerBond: units(values.bond, "--bond"),
    assets: values.asset.map((text) => address(text, "--asset")),
    minimumCaps: values["minimum-cap"].map((text) => units(text, "--minimum-cap")),
    ...(values.image.length === 0 ? {} : { images: values.image.map((text) => bytes32(text, "--image")) }),
    guardian: optionalAddress(values.guardian, "--guardian"),
    owner: optionalAddress(values.owner, "--owner"),
  };
  refuseThreshold(threshold, settings.signers);
  refuseUneven("--minimum-cap", settings.minimumCaps, "--asset", settings.assets);
  if (settings.images !== undefined) refuseUneven("--image", settings.images, "--signer", settings.signers);
  const given = optionalAddress(values.executor, "--executor");
  const factory = optionalAddress(values["uniswap-factory"], "--uniswap-factory");
  const keys = await readKeys(values.keys);

  const provider = new SendingProvider(values.rpc);
  const { chainId } = await provider.getNetwork();
  refuseShortDelays(settings, chainId);
  const keyHashes = new Map(KIND_NAMES.map((kind) => [kind, verificationKeyHash(keys[kind])]));
  const { development } = values;
  await refuseDevelopmentKeys({ chainId, keyHashes, keys: new Map(Object.entries(keys)), development });
  const wallet = new NonceManager(new Wallet(deployerKey, provider));
  const executor =
    factory === undefined ? given : (await deployContract(wallet, "UniswapV3Executor", [factory])).address;
  const verifiers = await deployVerifiers(wallet, keys);
  const pool = await deployPool(wallet, { ...settings, verifiers, executor });
  provider.destroy();
  const made = { chain_id: String(chainId), pool: pool.address, block: pool.block };
  console.log(JSON.stringify({ ...made, executor: executor ?? null }));
}

/** A pool that asks for more signatures than anybody can give would hold what is deposited, permanently. */
export function refuseThreshold(threshold: number, signers: readonly Address[]): void {
  if (threshold === 0) throw new Error("--threshold must be at least 1: nobody's word would be needed");
  if (new Set(signers).size !== signers.length) throw new Error("--signer names an address twice");
  if (threshold > signers.length) {
    throw new Error(
      `--threshold ${String(threshold)} is more than the ${String(signers.length)} signers can give; name more --signer`,
    );
  }
}

/**
 * With hardly any, whoever holds the owner's key empties the pool before anybody can look or leave, and a forged note
 * is spent by a proof before anybody can refute it.
 */
export function refuseShortDelays(
  { changeDelay, provedDelay }: { readonly changeDelay: number; readonly provedDelay: number },
  chainId: bigint,
): void {
  if (LOCAL_CHAINS.has(chainId)) return;
  const refuse = (option: string, least: number) => {
    throw new Error(
      `${option} must be at least ${String(least)} on chain ${String(chainId)}: ` +
        "the pool refuses less where money can be; see --help",
    );
  };
  if (provedDelay < SHORTEST_PROVED_DELAY_SECS) refuse("--proved-delay", SHORTEST_PROVED_DELAY_SECS);
  if (changeDelay < provedDelay + HEAD_START_SECS) refuse("--change-delay", provedDelay + HEAD_START_SECS);
}

function refuseUneven(
  option: string,
  given: readonly unknown[],
  of: string,
  named: readonly unknown[],
): void {
  if (given.length === named.length) return;
  throw new Error(`${String(given.length)} times ${option} for ${String(named.length)} times ${of}`);
}

function units(text: string, option: string): bigint {
  if (/^\d{1,31}$/u.test(text)) return BigInt(text);
  throw new Error(`${option} is not a whole number of units`);
}

function bytes32(text: string, option: string): Bytes32 {
  const parsed = asBytes32(text);
  if (parsed === undefined) throw new Error(`${option} is not 32 bytes in hex`);
  return parsed;
}

function optionalAddress(text: string | undefined, option: string): Address | undefined {
  return text === undefined ? undefined : address(text, option);
}

function address(text: string, option: string): Address {
  const parsed = asAddress(text);
  if (parsed === undefined) throw new Error(`${option} is not an address`);
  return parsed;
}

if (process.argv[1] !== undefined && path.resolve(process.argv[1]) === fileURLToPath(import.meta.url))
  await main();
