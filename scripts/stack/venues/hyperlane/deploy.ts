/**
 * Hyperlane's core and a warp route of one token on a local chain: mailbox, tree of messages, and a module that
 * believes one validator. Both ends of the route hold the token itself, so what arrives is paid from what lies there.
 */
import { Contract, ContractFactory, ZeroAddress, zeroPadValue, type Signer } from "ethers";
import { bytecodeOf, type HyperlaneContract } from "./artefacts.ts";

export interface HyperlaneEnd {
  /** Hyperlane's number of the chain; here the chain id. */
  readonly domain: number;
  readonly mailbox: string;
  readonly merkleTreeHook: string;
  readonly ism: string;
  /** Takes the fee of every message that leaves; its owner may change it. */
  readonly protocolFee: string;
  /** The warp route: what a forwarder of protocol 1 names as its messenger. */
  readonly route: string;
}

const ISM_FACTORY = [
  "function deploy(address[] validators, uint8 threshold) returns (address)",
  "function getAddress(address[] validators, uint8 threshold) view returns (address)",
];
const MAILBOX = ["function initialize(address owner, address ism, address hook, address requiredHook)"];
const ROUTE = [
  "function initialize(address hook, address ism, address owner)",
  "function enrollRemoteRouter(uint32 domain, bytes32 router)",
];

export async function deployHyperlane(
  owner: Signer,
  domain: number,
  token: string,
  validator: string,
  /** Wei for each message, and the most that it may become. */
  fee: { readonly amount: bigint; readonly most: bigint } = { amount: 0n, most: 0n },
): Promise<HyperlaneEnd> {
  const self = await owner.getAddress();
  const mailbox = await deploy(owner, "mailbox", ["uint32"], [domain]);
  const merkleTreeHook = await deploy(owner, "merkleTreeHook", ["address"], [mailbox]);
  const ofFee = ["uint256", "uint256", "address", "address"];
  const protocolFee = await deploy(owner, "protocolFee", ofFee, [fee.most, fee.amount, self, self]);
  const factory = new Contract(await deploy(owner, "ismFactory", [], []), ISM_FACTORY, owner);
  await call(factory, "deploy", [validator], 1);
  const ism = String(await factory.getFunction("getAddress(address[],uint8)").staticCall([validator], 1));
  await call(new Contract(mailbox, MAILBOX, owner), "initialize", self, ism, protocolFee, merkleTreeHook);
  const terms = ["address", "uint256", "uint256", "address"];
  const route = await deploy(owner, "collateralRoute", terms, [token, 1, 1, mailbox]);
  await call(new Contract(route, ROUTE, owner), "initialize", ZeroAddress, ZeroAddress, self);
  return { domain, mailbox, merkleTreeHook, ism, protocolFee, route };
}

/** Each end takes messages of the other alone. */
export async function enroll(owner: Signer, end: HyperlaneEnd, other: HyperlaneEnd): Promise<void> {
  const router = zeroPadValue(other.route, 32);
  await call(new Contract(end.route, ROUTE, owner), "enrollRemoteRouter", other.domain, router);
}

async function deploy(
  owner: Signer,
  contract: HyperlaneContract,
  types: readonly string[],
  values: readonly unknown[],
): Promise<string> {
  const constructor = { type: "constructor", inputs: types.map((type) => ({ type })) };
  const made = await new ContractFactory([constructor], bytecodeOf(contract), owner).deploy(...values);
  await made.waitForDeployment();
  return made.getAddress();
}

async function call(contract: Contract, name: string, ...values: unknown[]): Promise<void> {
  await (await contract.getFunction(name).send(...values)).wait();
}
