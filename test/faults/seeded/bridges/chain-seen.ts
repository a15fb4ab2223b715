/** What a chain itself says of its forwarders, notes, burns and mints, read from its logs without anything of the service's. */
import { Interface, type LogDescription } from "ethers";
import { nonceOf } from "../../../../scripts/stand-ins/venues/attester/completing.ts";
import { FORWARDERS_ABI, POOL_ABI } from "../../../../shared/contracts/abi.ts";
import { mustFromHex } from "../../../../shared/protocol/bytes.ts";
import { addressToWord, parseBurn, parseMessage } from "../../../../shared/protocol/host/cctp.ts";
import { unpaddedAddress } from "../../../../shared/protocol/host/forwarders.ts";
import { hex } from "../blocks.ts";
import type { Act, ChainSeen, ChainTotals } from "./observations.ts";
import type { LaneChain } from "./lane-chain.ts";
import type { BridgeFacts, ChainFacts, PlaceName } from "./world.ts";

const isEvent = (fragment: string): boolean => fragment.startsWith("event ");
const TOKEN = new Interface([
  "event Transfer(address indexed from, address indexed to, uint256 value)",
  "function balanceOf(address) view returns (uint256)",
  "function totalSupply() view returns (uint256)",
]);
const FORWARDERS = new Interface(FORWARDERS_ABI.filter(isEvent));
const POOL = new Interface(POOL_ABI.filter(isEvent));
const EXCHANGE = new Interface([
  "event MintAndForward(address indexed forwardRecipient, address indexed forwardingAddress, address indexed token, uint32 destinationId, uint256 amount)",
]);
const TRANSMITTER = new Interface([
  "event MessageSent(bytes message)",
  "event MessageReceived(address indexed caller, uint32 sourceDomain, bytes32 indexed nonce, bytes32 sender, uint32 indexed finalityThresholdExecuted, bytes messageBody)",
]);

interface Log {
  readonly address: string;
  readonly topics: readonly string[];
  readonly data: string;
  readonly transactionHash: string;
}

type Mutable = { -readonly [Key in keyof ChainSeen]: ChainSeen[Key][number][] };

export async function readChain(
  { rpc }: LaneChain,
  at: ChainFacts,
  { factory, entry, exchange }: BridgeFacts,
): Promise<ChainSeen> {
  const seen: Mutable = { transfers: [], wrong: [], burns: [], mints: [], acts: [], credits: [], named: [] };
  const pool = entry.pool.toLowerCase();
  // On another chain it may be anybody's.
  const forwarder = at.name === "exchange" ? exchange.forwarder : undefined;
  const ordinals = new Map<string, number>();
  const address = [
    at.usdc,
    at.wrong,
    factory,
    pool,
    at.transmitter,
    ...(forwarder === undefined ? [] : [forwarder]),
  ];
  // From the snapshot's own block, which is empty: a chain may have gone back to it.
  const range = { address, fromBlock: hex(at.height), toBlock: "latest" };
  for (const log of (await rpc("eth_getLogs", [range])) as readonly Log[]) {
    const read = (from: Interface): LogDescription | null =>
      from.parseLog({ topics: [...log.topics], data: log.data });
    const tx = log.transactionHash;
    switch (log.address.toLowerCase()) {
      case at.usdc:
      case at.wrong: {
        const event = read(TOKEN);
        if (event?.name !== "Transfer") break;
        const [from, to, amount] = event.args as unknown as [string, string, bigint];
        const moved = { from: from.toLowerCase(), to: to.toLowerCase(), amount, tx };
        (log.address.toLowerCase() === at.usdc ? seen.transfers : seen.wrong).push(moved);
        break;
      }
      case factory: {
        const act = actOf(read(FORWARDERS), at, tx);
        if (act !== undefined) seen.acts.push(act);
        break;
      }
      case pool: {
        const event = read(POOL);
        if (event?.name !== "Credited") break;
        const { leafIndex, npk, value } = event.args.toObject() as Record<string, bigint>;
        seen.credits.push({ leafIndex: Number(leafIndex), npk: npk!, value: value!, tx });
        break;
      }
      case forwarder: {
        const event = read(EXCHANGE);
        if (event?.name !== "MintAndForward") break;
        const [account, , , to, amount] = event.args as unknown as [string, string, string, bigint, bigint];
        // Each transaction of a scenario brings one message there at most.
        const nonce = seen.mints.find((one) => one.tx === tx)?.nonce ?? "none";
        seen.named.push({ account: account.toLowerCase(), isPerps: to === 0n, amount, nonce, tx });
        break;
      }
      case at.transmitter:
        takeMessage(seen, read(TRANSMITTER), { at, tx, ordinals });
    }
  }
  return seen;
}

function actOf(event: LogDescription | null, { usdc }: ChainFacts, tx: string): Act | undefined {
  if (event === null || event.name === "Touched" || event.name === "SweepSkipped") return undefined;
  const { vault, token, to, amount, fees, leafIndex } = event.args.toObject() as {
    readonly [name in "vault" | "token" | "to"]?: string;
  } & { readonly [name in "amount" | "fees" | "leafIndex"]?: bigint };
  const lower = token?.toLowerCase();
  return {
    kind: event.name as Act["kind"],
    vault: vault!.toLowerCase(),
    token: lower === usdc ? undefined : lower,
    to: to?.toLowerCase(),
    ...{ amount: amount ?? 0n, fees: fees ?? 0n, tx },
    leafIndex: leafIndex === undefined ? undefined : Number(leafIndex),
  };
}

interface Spot {
  readonly at: ChainFacts;
  readonly tx: string;
  /** Of the messages of each transaction: anybody's count. */
  readonly ordinals: Map<string, number>;
}

function takeMessage(seen: Mutable, event: LogDescription | null, { at, tx, ordinals }: Spot): void {
  if (event?.name === "MessageSent") {
    const ordinal = ordinals.get(tx) ?? 0;
    ordinals.set(tx, ordinal + 1);
    const bytes = mustFromHex(String(event.args["message"]));
    const message = parseMessage(bytes);
    const burn = message && parseBurn(message.body);
    // What somebody else writes is no burn, whatever it says.
    if (burn === undefined || message?.sender !== addressToWord(at.messenger)) return;
    const recipient = unpaddedAddress(burn.mintRecipient) ?? burn.mintRecipient;
    const nonce = nonceOf(at.domain, tx, ordinal, bytes);
    seen.burns.push({ nonce, recipient, amount: burn.amount, tx });
  }
  if (event?.name === "MessageReceived") {
    const burn = parseBurn(mustFromHex(String(event.args["messageBody"])));
    if (burn === undefined) return;
    const recipient = unpaddedAddress(burn.mintRecipient) ?? burn.mintRecipient;
    const nonce = String(event.args["nonce"]);
    seen.mints.push({ nonce, recipient, amount: burn.amount, fee: burn.feeExecuted, tx });
  }
}

export async function readTotals(
  { rpc }: LaneChain,
  at: ChainFacts,
  vaults: readonly string[],
): Promise<ChainTotals> {
  const nonce = async (tag: string): Promise<number> =>
    Number(await rpc("eth_getTransactionCount", [at.sender, tag]));
  return {
    supply: await supplyOf({ rpc }, at),
    vaults: new Map(
      await Promise.all(vaults.map(async (vault) => [vault, await balanceOf({ rpc }, at, vault)] as const)),
    ),
    nonces: { mined: await nonce("latest"), pending: await nonce("pending") },
  };
}

type Asking = Pick<LaneChain, "rpc">;

export async function supplyOf({ rpc }: Asking, { usdc }: ChainFacts): Promise<bigint> {
  const call = { to: usdc, data: TOKEN.encodeFunctionData("totalSupply") };
  return BigInt((await rpc("eth_call", [call, "latest"])) as string);
}

export async function balanceOf({ rpc }: Asking, { usdc }: ChainFacts, of: string): Promise<bigint> {
  const call = { to: usdc, data: TOKEN.encodeFunctionData("balanceOf", [of]) };
  return BigInt((await rpc("eth_call", [call, "latest"])) as string);
}

export type AllSeen = Readonly<Record<PlaceName, ChainSeen>>;
