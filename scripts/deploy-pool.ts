// Puts the pool, and for local chains the test dollar, on a chain. Trusts the caller's choice of signers
// and owner; a pool cannot be changed afterwards, so every argument is checked before money is spent.
import { readFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { ContractFactory, JsonRpcProvider, Wallet, type Signer } from "ethers";
import { asAddress, type Address, type Bytes32 } from "../shared/protocol/brands.ts";
import { KIND_NAMES, type Kind } from "../shared/protocol/statements.ts";
import { parseVerificationKey, verificationKeyHash } from "../shared/protocol/verification-key.ts";
import { loadArtifact } from "./build-contracts.ts";

const HELP = `Usage: DEPLOYER_KEY=0x… tsx scripts/deploy-pool.ts --rpc <url> --signer <address>… --asset <address>…

Deploys a pool with the committed verification keys and prints one JSON object. The deployer's key is read
from the environment, never from the command line, where other users of the machine could see it.

  --signer <address>       an enclave's signing address; may be given several times
  --asset <address>        a token that may be deposited; may be given several times
  --threshold <n>          attestations that a statement needs (default 1)
  --signer-delay <seconds> before a proposed signer may be added (default ${String(7 * 86_400)})
  --owner <address>        who may propose and remove signers (default: the deployer)
  --help                   this text`;

export interface PoolSettings {
  /** Signing addresses of the enclaves accepted from the start. */
  readonly signers: readonly Address[];
  /** Attestations by distinct signers that a statement needs. */
  readonly threshold: number;
  /** Seconds between a signer's proposal and the moment it may be added. */
  readonly signerDelay: number;
  readonly assets: readonly Address[];
  readonly verifyingKeyHashes: Readonly<Record<Kind, Bytes32>>;
  /** Default: the deployer. */
  readonly owner?: Address;
}

export interface Deployed {
  readonly address: Address;
  /** Nothing of the contract is before this block, so indexers begin here. */
  readonly block: number;
}

export async function deployPool(wallet: Signer, settings: PoolSettings): Promise<Deployed> {
  const owner = settings.owner ?? (await wallet.getAddress());
  return deployContract(wallet, "Pool", [
    owner,
    settings.signers,
    settings.threshold,
    settings.signerDelay,
    settings.assets,
    KIND_NAMES.map((kind) => settings.verifyingKeyHashes[kind]),
  ]);
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
export async function committedKeyHashes(): Promise<Record<Kind, Bytes32>> {
  const folder = path.join(
    path.dirname(fileURLToPath(import.meta.url)),
    "..",
    "shared",
    "protocol",
    "verification-keys",
  );
  const hashOf = async (kind: Kind): Promise<Bytes32> =>
    verificationKeyHash(
      parseVerificationKey(JSON.parse(await readFile(path.join(folder, `${kind}.json`), "utf8"))),
    );
  return { "deposit-shield": await hashOf("deposit-shield"), spend: await hashOf("spend") };
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      rpc: { type: "string" },
      signer: { type: "string", multiple: true, default: [] },
      asset: { type: "string", multiple: true, default: [] },
      threshold: { type: "string", default: "1" },
      "signer-delay": { type: "string", default: String(7 * 86_400) },
      owner: { type: "string" },
      help: { type: "boolean" },
    },
  });
  if (values.help === true) {
    console.log(HELP);
    return;
  }
  const key = process.env["DEPLOYER_KEY"];
  if (values.rpc === undefined || key === undefined) {
    throw new Error("--rpc and the environment's DEPLOYER_KEY are needed; see --help");
  }
  const provider = new JsonRpcProvider(values.rpc);
  const pool = await deployPool(new Wallet(key, provider), {
    signers: values.signer.map((text) => address(text, "--signer")),
    threshold: wholeNumber(values.threshold, "--threshold"),
    signerDelay: wholeNumber(values["signer-delay"], "--signer-delay"),
    assets: values.asset.map((text) => address(text, "--asset")),
    verifyingKeyHashes: await committedKeyHashes(),
    ...(values.owner === undefined ? {} : { owner: address(values.owner, "--owner") }),
  });
  const { chainId } = await provider.getNetwork();
  provider.destroy();
  console.log(JSON.stringify({ chain_id: String(chainId), pool: pool.address, block: pool.block }));
}

function address(text: string, option: string): Address {
  const parsed = asAddress(text);
  if (parsed === undefined) throw new Error(`${option} is not an address`);
  return parsed;
}

function wholeNumber(text: string, option: string): number {
  if (!/^(0|[1-9][0-9]{0,8})$/.test(text)) throw new Error(`${option} is not a whole number`);
  return Number(text);
}

if (process.argv[1] !== undefined && path.resolve(process.argv[1]) === fileURLToPath(import.meta.url))
  await main();
