// Puts the pool with its verifiers, its hasher and the venue for swaps on a chain, and for local chains the
// test dollar. Trusts the caller's choice of keys, signers and owner; a pool cannot be changed afterwards, so
// every argument is checked before money is spent.
import path from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { ContractFactory, JsonRpcProvider, NonceManager, Wallet, ZeroAddress, type Signer } from "ethers";
import { asAddress, type Address, type Bytes32 } from "../../shared/protocol/brands.ts";
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

export { readKeys };

const DAY_SECS = 86_400;
/** The pool's own SHORTEST_DELAY, and why: Admissions.sol. Said here before anything is paid for. */
const SHORTEST_DELAY_SECS = 2 * DAY_SECS;

const HELP = `Usage: DEPLOYER_KEY=0x… tsx scripts/product/deploy.ts --rpc <url> --keys <folder> [--signer <address>]… --asset <address>…

Deploys the four verifiers, the note hasher and a pool, and prints one JSON object. The deployer's key is read
from the environment, never from the command line, where other users of the machine could see it.

  --keys <folder>            verification keys of a ceremony: <kind>.json for each of the four kinds
  --signer <address>         an enclave's signing address; may be given several times (default: nobody's, so that
                             the first one comes with its genesis document: operator signer register)
  --asset <address>          a token that may be deposited; may be given several times
  --threshold <n>            attestations that a statement needs (default 1); no more than there are signers
  --change-delay <seconds>   before a proposed signer, asset or executor may be admitted (default ${String(7 * DAY_SECS)},
                             at least ${String(SHORTEST_DELAY_SECS)}; any on chains ${[...LOCAL_CHAINS].join(", ")})
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
  /** Default: none, so no swaps. */
  readonly executor?: Address | undefined;
  /** Default: the deployer. */
  readonly owner?: Address | undefined;
  /** Deployed before, for these or other keys. Default: new ones for the committed keys. */
  readonly verifiers?: Readonly<Record<Kind, Address>>;
  /** Deployed before. Default: a new one. */
  readonly noteHasher?: Address;
}

export interface Deployed {
  readonly address: Address;
  /** Nothing of the contract is before this block, so indexers begin here. */
  readonly block: number;
}

export async function deployPool(wallet: Signer, settings: PoolSettings): Promise<Deployed> {
  const verifiers = settings.verifiers ?? (await deployVerifiers(wallet, await readKeys()));
  const noteHasher = settings.noteHasher ?? (await deployContract(wallet, "PoseidonNoteHasher", [])).address;
  return deployContract(wallet, "Pool", [
    {
      owner: settings.owner ?? (await wallet.getAddress()),
      signers: settings.signers,
      threshold: settings.threshold,
      changeDelay: settings.changeDelay,
      assets: settings.assets,
      executor: settings.executor ?? ZeroAddress,
      verifiers: KIND_NAMES.map((kind) => verifiers[kind]),
      noteHasher,
    },
  ]);
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
  const contract = await new ContractFactory(abi as never, bytecode, wallet).deploy(...args);
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
    assets: values.asset.map((text) => address(text, "--asset")),
    owner: optionalAddress(values.owner, "--owner"),
  };
  refuseThreshold(threshold, settings.signers);
  const given = optionalAddress(values.executor, "--executor");
  const factory = optionalAddress(values["uniswap-factory"], "--uniswap-factory");
  const keys = await readKeys(values.keys);

  const provider = new JsonRpcProvider(values.rpc);
  const { chainId } = await provider.getNetwork();
  refuseShortDelay(settings.changeDelay, chainId);
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

/** With no delay, or hardly any, whoever holds the owner's key empties the pool before anybody can look. */
export function refuseShortDelay(changeDelay: number, chainId: bigint): void {
  if (changeDelay >= SHORTEST_DELAY_SECS || LOCAL_CHAINS.has(chainId)) return;
  throw new Error(
    `--change-delay must be at least ${String(SHORTEST_DELAY_SECS)} on chain ${String(chainId)}: ` +
      "the pool refuses less where money can be; see --help",
  );
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
