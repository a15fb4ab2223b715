// The contracts behind the exchange's two doors, as it reads and calls them: money is credited for what these logs
// say, and leaves by these calls.
import { Interface, Signature, toBeHex } from "ethers";
import { z } from "zod";
import type { Address, Bytes32 } from "../../../../shared/protocol/brands.ts";
import { asAddress, asBytes32 } from "../../../../shared/protocol/host/text.ts";
import { wordToAddress } from "../../../../shared/protocol/host/cctp.ts";
import { FORWARD_TO } from "../../../../shared/protocol/host/cctp-forward.ts";
import type { JsonRpc } from "../json-rpc.ts";
import { bytes32Shape } from "../shapes.ts";
import type { Deposit } from "./desk.ts";
import type { ExchangeKeys } from "./keys.ts";
import type { Call } from "./sender.ts";
import type { ExchangeSettings } from "./settings.ts";
import type { Withdrawal } from "./state.ts";

type Own = ExchangeSettings["own"];
export type Bridge = NonNullable<ExchangeSettings["bridge"]>;

const FORWARDER = new Interface([
  "event Forwarded(address indexed recipient, uint32 destination, uint256 amount, bytes32 nonce)",
]);
const TOKEN = new Interface(["event Transfer(address indexed from, address indexed to, uint256 value)"]);
const MESSENGER = new Interface([
  "function depositForBurnWithHook(uint256 amount, uint32 destinationDomain, bytes32 mintRecipient, address burnToken, bytes32 destinationCaller, uint256 maxFee, uint32 minFinalityThreshold, bytes hookData)",
]);
const BRIDGE = new Interface([
  "function messageOf(address user, address destination, uint64 usd, uint64 nonce) view returns (bytes32)",
  "function requestedWithdrawals(bytes32) view returns (address user, address destination, uint64 usd, uint64 nonce, uint64 requestedTime)",
  "function finalizedWithdrawals(bytes32) view returns (bool)",
  "function withdrawalsInvalidated(bytes32) view returns (bool)",
  "function disputePeriodSeconds() view returns (uint64)",
  "function batchedRequestWithdrawals((address user, address destination, uint64 usd, uint64 nonce, (uint256 r, uint256 s, uint8 v)[] signatures)[] requests)",
  "function batchedFinalizeWithdrawals(bytes32[] messages)",
]);

// ---------------------------------------------------------------- in

const logShape = z.array(
  z.object({ topics: z.array(bytes32Shape), data: z.string(), transactionHash: z.string() }),
);
type Log = z.output<typeof logShape>[number];

interface Range {
  readonly from: number;
  readonly to: number;
}

/** What the forwarder has passed on, each to the account that its hook named. */
export async function forwardedIn(rpc: JsonRpc, own: Own, range: Range): Promise<Deposit[]> {
  const logs = await logsOf(rpc, range, own.forwarder, [FORWARDER.getEvent("Forwarded")!.topicHash]);
  return logs.flatMap((log): Deposit[] => {
    const said = FORWARDER.parseLog(log)?.args;
    const account = asAddress(said?.["recipient"]);
    if (said === undefined || account === undefined) return [];
    const to = said["destination"] === BigInt(FORWARD_TO.spot) ? "spot" : "perps";
    return [{ account, amount: said["amount"] as bigint, to, door: "cctp", hash: log.transactionHash }];
  });
}

/** Transfers to the old bridge. They credit who sent them, whoever that was. */
export async function transferredIn(rpc: JsonRpc, bridge: Bridge, range: Range): Promise<Deposit[]> {
  const topics = [TOKEN.getEvent("Transfer")!.topicHash, null, wordOf(bridge.address)];
  const logs = await logsOf(rpc, range, bridge.usdc, topics);
  return logs.flatMap((log): Deposit[] => {
    const sender = log.topics[1];
    const account = sender === undefined ? undefined : wordToAddress(sender);
    if (account === undefined) return [];
    return [{ account, amount: BigInt(log.data), to: "perps", door: "bridge", hash: log.transactionHash }];
  });
}

function logsOf(
  rpc: JsonRpc,
  { from, to }: Range,
  address: Address,
  topics: readonly (string | null)[],
): Promise<Log[]> {
  const filter = { address, topics, fromBlock: toQuantity(from), toBlock: toQuantity(to) };
  return rpc.call(logShape, "eth_getLogs", [filter]);
}

// ---------------------------------------------------------------- out

/** Anyone may deliver it: no caller is named. */
export function burnCall(
  { messenger, usdc }: Own,
  finality: number,
  { amount, way }: Withdrawal,
): Call | undefined {
  if (way.kind !== "cctp") return undefined;
  const { domain, recipient, max_fee, hook } = way;
  const anyone = wordOf(`0x${"00".repeat(20)}` as Address);
  const args = [amount, domain, recipient, usdc, anyone, max_fee, finality, hook];
  return { to: messenger, data: MESSENGER.encodeFunctionData("depositForBurnWithHook", args) };
}

/** A withdrawal by the old bridge as the bridge itself has it. */
export interface BridgeView {
  readonly message: Bytes32;
  /** Seconds of the chain's clock; undefined before it was asked for. */
  readonly payableAfter: number | undefined;
  readonly isPaid: boolean;
  readonly isStopped: boolean;
}

/** `block`: as of then. */
export async function bridgeView(
  rpc: JsonRpc,
  bridge: Bridge,
  withdrawal: Withdrawal,
  block: number,
): Promise<BridgeView> {
  const ask = async (name: string, args: readonly unknown[]): Promise<readonly unknown[]> => {
    const call = { to: bridge.address, data: BRIDGE.encodeFunctionData(name, args) };
    return BRIDGE.decodeFunctionResult(
      name,
      await rpc.call(z.string(), "eth_call", [call, toQuantity(block)]),
    );
  };
  const [message] = await ask("messageOf", requestOf(withdrawal));
  const hash = asBytes32(message);
  if (hash === undefined) throw new TypeError("not the bridge");
  const [, , , , requestedTime] = await ask("requestedWithdrawals", [hash]);
  const [period] = await ask("disputePeriodSeconds", []);
  const [isPaid] = await ask("finalizedWithdrawals", [hash]);
  const [isStopped] = await ask("withdrawalsInvalidated", [hash]);
  const asked = Number(requestedTime);
  return {
    message: hash,
    payableAfter: asked === 0 ? undefined : asked + Number(period),
    isPaid: isPaid === true,
    isStopped: isStopped === true,
  };
}

export function requestCall(
  { address }: Bridge,
  { validators }: ExchangeKeys,
  withdrawal: Withdrawal,
  message: Bytes32,
): Call {
  const [user, destination, usd, nonce] = requestOf(withdrawal);
  const signatures = validators.map(({ key }) => {
    const { r, s, v } = Signature.from(key.sign(message));
    return { r, s, v };
  });
  const request = { user, destination, usd, nonce, signatures };
  return { to: address, data: BRIDGE.encodeFunctionData("batchedRequestWithdrawals", [[request]]) };
}

export function finalizeCall({ address }: Bridge, message: Bytes32): Call {
  return { to: address, data: BRIDGE.encodeFunctionData("batchedFinalizeWithdrawals", [[message]]) };
}

function requestOf({ user, way, amount, nonce }: Withdrawal): readonly [Address, Address, bigint, number] {
  if (way.kind !== "bridge") throw new TypeError("not by the bridge");
  return [user, way.destination, amount, nonce];
}

function wordOf(address: Address): string {
  return `0x${"00".repeat(12)}${address.slice(2)}`;
}

function toQuantity(value: number): string {
  return value === 0 ? "0x0" : `0x${toBeHex(value).replace(/^0x0*/, "")}`;
}
