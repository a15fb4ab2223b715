/**
 * Warp routes: what they are paid for a message, and money that is between their two ends. Delivery there is the relayers'
 * work: what a validator signs is not asked for here.
 */
import type { Address } from "../../../protocol/brands.ts";
import { asAddress } from "../../../protocol/host/text.ts";
import { paddedAddress, PROTOCOLS } from "../../../protocol/host/forwarders.ts";
import { contractAbi } from "../../execute-call.ts";
import type { BridgePins } from "../pinned.ts";
import type { Attempt, EvmChain } from "./evm-chain.ts";
import type { Held } from "./held.ts";
import type { Place } from "./places.ts";

const ROUTE = contractAbi([
  "function quoteGasPayment(uint32 domain) view returns (uint256)",
  "event SentTransferRemote(uint32 indexed destination, bytes32 indexed recipient, uint256 amount)",
  "event ReceivedTransferRemote(uint32 indexed origin, bytes32 indexed recipient, uint256 amount)",
]);
const [SENT, RECEIVED] = ["SentTransferRemote", "ReceivedTransferRemote"].map(
  (name) => ROUTE.getEvent(name)!.topicHash,
);
/** Whoever owns a route sets its price, and the sender's account pays. */
const MOST_POSTAGE = 10_000_000_000_000_000n;

/** Wei, or why it is not to be paid. */
export async function postageOf(
  { chain, call, place: { at } }: Held,
  most = MOST_POSTAGE,
): Promise<bigint | Extract<Attempt, { state: "refused" }>> {
  const way =
    call[0] === "flush" && at.direction === "out"
      ? at.terms.exit
      : call[0] === "forward" && at.direction === "in"
        ? at.source?.terms.lanes[call[1][1] as number]
        : undefined;
  if (way?.protocol !== PROTOCOLS.warpRoute) return 0n;
  const quoted = await chain.read(ROUTE, way.messenger, "quoteGasPayment", [way.domain]);
  const price = quoted?.[0] as bigint | undefined;
  if (price === undefined) return { state: "refused", reason: "the route does not say what it costs" };
  return price <= most ? price : { state: "refused", reason: `the route asks for ${price} wei` };
}

/** In words, for each address at home that more was sent to than has come. */
export async function onTheWay(
  places: readonly Place[],
  { home, others }: { readonly home: EvmChain; readonly others: ReadonlyMap<number, EvmChain> },
  { lanes, exits }: BridgePins,
): Promise<string[]> {
  const incoming = places.flatMap(({ at }) => (at.direction === "in" && at.source !== undefined ? [at] : []));
  const words: string[] = [];
  for (const { chainId, protocol, messenger } of lanes) {
    const chain = others.get(chainId);
    const ends = [asAddress(messenger), homeEnd(exits, chainId)] as const;
    if (protocol !== PROTOCOLS.warpRoute || chain === undefined || incoming.length === 0) continue;
    if (ends[0] === undefined || ends[1] === undefined) continue;
    const recipients = incoming.map(({ address }) => paddedAddress(address));
    const sent = await sums(chain, ends[0], [SENT, null, recipients]);
    const received = await sums(home, ends[1], [RECEIVED, null, recipients]);
    for (const { address } of incoming) {
      const missing = (sent.get(address) ?? 0n) - (received.get(address) ?? 0n);
      if (missing > 0n)
        words.push(`${missing} on the way from chain ${chainId} to ${address}: relayers deliver it`);
    }
  }
  return words;
}

/** Only exits name it. */
function homeEnd({ chains }: BridgePins["exits"], chainId: number): Address | undefined {
  const exit = chains.find((one) => one.chainId === chainId && one.protocol === PROTOCOLS.warpRoute);
  return asAddress(exit?.messenger);
}

async function sums(
  chain: EvmChain,
  route: Address,
  topics: readonly unknown[],
): Promise<ReadonlyMap<Address, bigint>> {
  const found = new Map<Address, bigint>();
  for (const log of await chain.logs(route, topics)) {
    const args = ROUTE.parseLog(log)?.args;
    const address = asAddress(`0x${String(args?.["recipient"]).slice(26)}`);
    if (args !== undefined && address !== undefined)
      found.set(address, (found.get(address) ?? 0n) + (args["amount"] as bigint));
  }
  return found;
}
