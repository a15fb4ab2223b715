// Puts the pool with its verifiers, its hasher and the venue for swaps on a chain, and for local chains the
// test dollar. Trusts the caller's choice of keys, images and owner; a pool cannot be changed afterwards, so
// every argument is checked before money is spent.
import { readFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import {
  Contract,
  ContractFactory,
  type JsonRpcProvider,
  NonceManager,
  Wallet,
  ZeroAddress,
  type Signer,
} from "ethers";
import { parseConfiguration } from "../../enclave/configuration.ts";
import { ATTESTATIONS_ABI } from "../../shared/contracts/abi.ts";
import type { Address, Bytes32 } from "../../shared/protocol/brands.ts";
import { asAddress, asBytes32 } from "../../shared/protocol/host/text.ts";
import { toHex } from "../../shared/protocol/bytes.ts";
import { VERIFIER_KINDS } from "../../shared/protocol/host/registration.ts";
import { KIND_NAMES, type Kind } from "../../shared/protocol/statements.ts";
import {
  verificationKeyBytes,
  verificationKeyHash,
  type VerificationKey,
} from "../../shared/protocol/verification-key.ts";
import { readKeys, verificationKeysFolder } from "../build/circuits/artefacts.ts";
import { wholeNumber } from "../base/command.ts";
import { loadArtifact } from "../build/contracts.ts";
import { LOCAL_CHAINS, refuseDevelopmentKeys } from "../build/circuits/key-purpose.ts";
import { developmentConfiguration, refuseDevelopment } from "../image/configuration.ts";
import { SendingProvider } from "../base/receipt-by-time.ts";

export { readKeys };

const DAY_SECS = 86_400;
/** The pool's own SHORTEST_PROVED_DELAY and HEAD_START, and why: PoolSettings.sol. Said here before anything is paid for. */
const SHORTEST_PROVED_DELAY_SECS = 2 * DAY_SECS;
const HEAD_START_SECS = 2 * DAY_SECS;

/** A million. */
async function defaultMinimumCap(wallet: Signer, asset: Address): Promise<bigint> {
  const token = new Contract(asset, ["function decimals() view returns (uint8)"], wallet);
  const decimals = (await token
    .getFunction("decimals")()
    .catch(() => 6)) as bigint | number;
  return 10n ** (6n + BigInt(decimals));
}

/** Shorter than the certificate lives that signs a document, long enough for a chain that is slow. */
const MAX_DOCUMENT_AGE_SECS = 3_600;

const HELP = `Usage: DEPLOYER_KEY=0x… tsx scripts/deploy/pool.ts --rpc <url> --keys <folder> --configuration <file> [--image <kind>:<hash>]… --asset <address>…

Deploys the four verifiers, the two hashers, what verifies attestation documents, the pool's three modules and a pool, and prints one
JSON object. The deployer's key is read from the environment, never from the command line, where other users of the machine could see it.

  --keys <folder>            verification keys of a ceremony: <kind>.json for each of the four kinds
  --configuration <file>     an image's configuration.json: names the root of the platforms whose documents register signers;
                             it cannot be changed later
  --image <kind>:<hash>      an image that may vouch from the start: first or second (which verifier it runs), and
                             keccak256(PCR0 ‖ PCR1 ‖ PCR2); may be given several times (default: none, so that the first waits for
                             --change-delay: operator image propose). Its signers come by operator signer register
  --attestations <address>   what verifies documents, deployed before (default: a new one under the configuration's root)
  --revoker <address>        who may revoke certificates in a new one, and nothing else (default: the owner)
  --max-document-age <seconds>  after which a document registers nobody any more (default ${String(MAX_DOCUMENT_AGE_SECS)})
  --bond <wei>               what stands for each signer and goes to whoever refutes it (default 0); paid by whoever registers it
  --asset <address>          a token that may be deposited; may be given several times
  --minimum-cap <units>      what may leave of that asset in 24 hours at least, also where a tenth of the balance is less;
                             one for each --asset, in the same order
  --threshold <n>            attestations that a statement needs (default 1); from 2 on, of both kinds of verifier
  --change-delay <seconds>   before a proposed image, asset or executor may be admitted (default ${String(7 * DAY_SECS)},
                             at least two days more than the next; any on chains ${[...LOCAL_CHAINS].join(", ")})
  --proved-delay <seconds>   how old a root must be before a proof may use it without a signer (default ${String(3 * DAY_SECS)}, at
                             least ${String(SHORTEST_PROVED_DELAY_SECS)}; any on those chains)
  --guardian <address>       who may close the attested path for three days of ten (default: nobody)
  --executor <address>       the venue for swaps (default: none, unless the next option is given)
  --uniswap-factory <address>  deploys an executor over this Uniswap v3 first, and uses it
  --owner <address>          who may propose and remove images, assets and executors (default: the deployer)
  --development              not for money: takes the committed keys, whose maker could forge any statement, also
                             by itself without --keys, and the development configuration, also without --configuration
  --help                     this text`;

/** Code that may vouch: keccak256(PCR0 ‖ PCR1 ‖ PCR2), and which verifier it is. */
export interface ImageOfKind {
  readonly image: Bytes32;
  readonly kind: number;
}

export interface PoolSettings {
  /** Admitted from the start; whose signers they are proves that by registering. Default: none. */
  readonly images?: readonly ImageOfKind[];
  /** Verifies the documents by which signers register, see `deployAttestations`. */
  readonly attestations: Address;
  /** Seconds. Default: an hour. */
  readonly maxDocumentAge?: number;
  /** Attestations by distinct signers that a statement needs; from two on, of both kinds. */
  readonly threshold: number;
  /** Seconds between the proposal of an image, asset or executor and the moment it may be admitted. */
  readonly changeDelay: number;
  readonly assets: readonly Address[];
  /** Seconds that a root must be old before a proof may use it. Default: half of `changeDelay`. */
  readonly provedDelay?: number;
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
  readonly signerRegistry?: Address;
}

export interface Deployed {
  readonly address: Address;
  /** Nothing of the contract is before this block, so indexers begin here. */
  readonly block: number;
}

export async function deployPool(wallet: Signer, settings: PoolSettings): Promise<Deployed> {
  const verifiers = settings.verifiers ?? (await deployVerifiers(wallet, await readKeys()));
  const { images = [], assets } = settings;
  const contract = async (name: string) => (await deployContract(wallet, name, [])).address;
  const configuration = {
    owner: settings.owner ?? (await wallet.getAddress()),
    guardian: settings.guardian ?? ZeroAddress,
    images: images.map(({ image }) => image),
    kinds: images.map(({ kind }) => kind),
    threshold: settings.threshold,
    signerBond: settings.signerBond ?? 0n,
    changeDelay: settings.changeDelay,
    provedDelay: settings.provedDelay ?? Math.floor(settings.changeDelay / 2),
    assets,
    minimumCaps:
      settings.minimumCaps ?? (await Promise.all(assets.map((asset) => defaultMinimumCap(wallet, asset)))),
    executor: settings.executor ?? ZeroAddress,
    verifiers: KIND_NAMES.map((kind) => verifiers[kind]),
    noteHasher: settings.noteHasher ?? (await contract("PoseidonNoteHasher")),
    treeHasher: settings.treeHasher ?? (await contract("TreeHasher")),
    governance: settings.governance ?? (await contract("Governance")),
    recovery: settings.recovery ?? (await contract("Recovery")),
    signerRegistry: settings.signerRegistry ?? (await contract("SignerRegistry")),
    attestations: settings.attestations,
    maxDocumentAge: settings.maxDocumentAge ?? MAX_DOCUMENT_AGE_SECS,
  };
  return deployContract(wallet, "Pool", [configuration]);
}

export interface AttestationTerms {
  /** SHA-256 of the DER of the root under which documents are believed, permanently. */
  readonly root: Bytes32;
  /** May revoke certificates, and nothing else. */
  readonly revoker: Address;
}

/** What verifies attestation documents, for any number of pools. */
export async function deployAttestations(
  wallet: Signer,
  { root, revoker }: AttestationTerms,
): Promise<Address> {
  const p384 = (await deployContract(wallet, "P384", [])).address;
  return (await deployContract(wallet, "NitroAttestations", [root, revoker, p384])).address;
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
): Promise<Deployed> {
  const { abi, bytecode } = await loadArtifact(name);
  const factory = new ContractFactory(abi, bytecode, wallet);
  const contract = await factory.deploy(...args);
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
      configuration: { type: "string" },
      attestations: { type: "string" },
      revoker: { type: "string" },
      "max-document-age": { type: "string", default: String(MAX_DOCUMENT_AGE_SECS) },
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
  const images = values.image.map(imageOfKind);
  const root = await platformRoot(values);
  const settings = {
    images,
    maxDocumentAge: wholeNumber("--max-document-age", values["max-document-age"]),
    threshold,
    changeDelay: wholeNumber("--change-delay", values["change-delay"]),
    provedDelay: wholeNumber("--proved-delay", values["proved-delay"]),
    signerBond: units(values.bond, "--bond"),
    assets: values.asset.map((text) => address(text, "--asset")),
    minimumCaps: values["minimum-cap"].map((text) => units(text, "--minimum-cap")),
    guardian: optionalAddress(values.guardian, "--guardian"),
    owner: optionalAddress(values.owner, "--owner"),
  };
  refuseThreshold(threshold, images);
  refuseUneven("--minimum-cap", settings.minimumCaps, "--asset", settings.assets);
  const given = optionalAddress(values.executor, "--executor");
  const before = optionalAddress(values.attestations, "--attestations");
  const factory = optionalAddress(values["uniswap-factory"], "--uniswap-factory");
  const keys = await readKeys(values.keys);

  const provider = new SendingProvider(values.rpc);
  const { chainId } = await provider.getNetwork();
  refuseShortDelays(settings, chainId);
  const keyHashes = new Map(KIND_NAMES.map((kind) => [kind, verificationKeyHash(keys[kind])]));
  const { development } = values;
  await refuseDevelopmentKeys({ chainId, keyHashes, keys: new Map(Object.entries(keys)), development });
  if (before !== undefined) await refuseRoot(provider, before, root);
  const wallet = new NonceManager(new Wallet(deployerKey, provider));
  const revoker =
    optionalAddress(values.revoker, "--revoker") ??
    settings.owner ??
    address(await wallet.getAddress(), "--owner");
  const executor =
    factory === undefined ? given : (await deployContract(wallet, "UniswapV3Executor", [factory])).address;
  const verifiers = await deployVerifiers(wallet, keys);
  const attestations = before ?? (await deployAttestations(wallet, { root, revoker }));
  const pool = await deployPool(wallet, { ...settings, verifiers, executor, attestations });
  provider.destroy();
  const made = { chain_id: String(chainId), pool: pool.address, block: pool.block, attestations };
  console.log(JSON.stringify({ ...made, executor: executor ?? null }));
}

/** `first:0x…` or `second:0x…`. */
function imageOfKind(text: string): ImageOfKind {
  const [name = "", hash = ""] = text.split(":");
  if (!(name in VERIFIER_KINDS)) throw new Error("--image takes first:HASH or second:HASH");
  return { kind: VERIFIER_KINDS[name as keyof typeof VERIFIER_KINDS], image: bytes32(hash, "--image") };
}

/** With images to begin with, they can give what is asked; without any, none can yet. */
export function refuseThreshold(threshold: number, images: readonly ImageOfKind[]): void {
  if (threshold === 0) throw new Error("--threshold must be at least 1: nobody's word would be needed");
  if (new Set(images.map(({ image }) => image)).size !== images.length)
    throw new Error("--image names an image twice");
  if (threshold > 1 && new Set(images.map(({ kind }) => kind)).size === 1)
    throw new Error(
      `--threshold ${String(threshold)} takes signatures of both kinds of verifier; name an --image of each`,
    );
}

/** SHA-256 of the root of platforms that the images believe. */
async function platformRoot(values: {
  readonly configuration?: string | undefined;
  readonly development: boolean;
  readonly keys?: string | undefined;
}): Promise<Bytes32> {
  if (values.configuration === undefined && !values.development)
    throw new Error("--configuration is needed: it names the platforms whose documents register signers");
  const text =
    values.configuration === undefined
      ? await developmentConfiguration(values.keys)
      : await readFile(values.configuration, "utf8");
  const configuration = parseConfiguration(text);
  if (!values.development) await refuseDevelopment(configuration);
  return bytes32(`0x${configuration.attestationRoot}`, "the root");
}

/** Another root would believe other platforms than the images do. */
async function refuseRoot(provider: JsonRpcProvider, attestations: Address, root: Bytes32): Promise<void> {
  const contract = new Contract(attestations, ATTESTATIONS_ABI, provider);
  if ((await contract.getFunction("rootHash")()) !== root)
    throw new Error("--attestations verifies documents under another root than the configuration's");
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
