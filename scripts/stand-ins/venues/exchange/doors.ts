// The contracts on the exchange's chain, as it reads and calls them: money is credited for what the forwarder's logs
// say, and leaves by the messenger.
import { Interface, toBeHex } from "ethers";
import { z } from "zod";
import type { Address } from "../../../../shared/protocol/brands.ts";
import { asAddress } from "../../../../shared/protocol/host/text.ts";
import { FORWARD_TO } from "../../../../shared/protocol/host/cctp-forward.ts";
import { addressToWord, FINALITY } from "../../../../shared/protocol/host/cctp.ts";
import type { JsonRpc } from "../json-rpc.ts";
import { bytes32Shape } from "../shapes.ts";
import type { Deposit } from "./desk.ts";
import type { Call } from "./sender.ts";
import type { ExchangeSettings } from "./settings.ts";
import type { Withdrawal } from "./state.ts";

type Own = ExchangeSettings["own"];

const FORWARDER = new Interface([
  "event MintAndForward(address indexed forwardRecipient, address indexed forwardingAddress, address indexed token, uint32 destinationId, uint256 amount)",
]);
const MESSENGER = new Interface([
  "function depositForBurnWithHook(uint256 amount, uint32 destinationDomain, bytes32 mintRecipient, address burnToken, bytes32 destinationCaller, uint256 maxFee, uint32 minFinalityThreshold, bytes hookData)",
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
  const topics = [FORWARDER.getEvent("MintAndForward")!.topicHash, null, null, addressToWord(own.usdc)];
  const logs = await logsOf(rpc, range, own.forwarder, topics);
  return logs.flatMap((log): Deposit[] => {
    const said = FORWARDER.parseLog(log)?.args;
    const account = asAddress(said?.["forwardRecipient"]);
    if (said === undefined || account === undefined) return [];
    const to = said["destinationId"] === BigInt(FORWARD_TO.perps) ? "perps" : "spot";
    return [{ account, amount: said["amount"] as bigint, to, hash: log.transactionHash }];
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

/** Waits until it is final, whatever it offers. Anyone may deliver it: no caller is named. */
export function burnCall({ messenger, usdc }: Own, { amount, way }: Withdrawal): Call {
  const { domain, recipient, max_fee, hook } = way;
  const anyone = wordOf(`0x${"00".repeat(20)}` as Address);
  const args = [amount, domain, recipient, usdc, anyone, max_fee, FINALITY.final, hook];
  return { to: messenger, data: MESSENGER.encodeFunctionData("depositForBurnWithHook", args) };
}

function wordOf(address: Address): string {
  return `0x${"00".repeat(12)}${address.slice(2)}`;
}

function toQuantity(value: number): string {
  return value === 0 ? "0x0" : `0x${toBeHex(value).replace(/^0x0*/, "")}`;
}
