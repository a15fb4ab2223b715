/**
 * Where CCTP is on a chain, and the burns there that may be this key's. A burn is on its way by its log alone: no balance
 * tells of it. So one whose log a node leaves out is not seen in that round, is where it was, and is found by a later one.
 */
import { FORWARDERS_ABI } from "../../../contracts/abi.ts";
import type { Address, Bytes32 } from "../../../protocol/brands.ts";
import { mustFromHex } from "../../../protocol/bytes.ts";
import { contractAbi } from "../../statements/execute-call.ts";
import type { EvmChain } from "./evm-chain.ts";

const CCTP = contractAbi([
  "function localMessageTransmitter() view returns (address)",
  "function localDomain() view returns (uint32)",
  "event DepositForBurn(address indexed burnToken, uint256 amount, address indexed depositor, bytes32 mintRecipient, uint32 destinationDomain, bytes32 destinationTokenMessenger, bytes32 destinationCaller, uint256 maxFee, uint32 indexed minFinalityThreshold, bytes hookData)",
]);
const BURNED = CCTP.getEvent("DepositForBurn")!.topicHash;
const FLUSHED = contractAbi(FORWARDERS_ABI).getEvent("Flushed")!.topicHash;
/** In one question. */
const MOST_DEPOSITORS = 500;

/** A chain where CCTP is. */
export interface CctpPlace {
  readonly chain: EvmChain;
  readonly messenger: Address;
  readonly transmitter: Address;
  readonly domain: number;
}

/** Undefined where the messenger is none. */
export async function cctpPlace(chain: EvmChain, messenger: Address): Promise<CctpPlace | undefined> {
  const found = await chain.read(CCTP, messenger, "localMessageTransmitter", []);
  if (found === undefined) return undefined;
  const transmitter = (found[0] as string).toLowerCase() as Address;
  const numbered = await chain.read(CCTP, transmitter, "localDomain", []);
  return numbered && { chain, messenger, transmitter, domain: Number(numbered[0]) };
}

export interface BurnFound {
  /** Of the chain where it is. */
  readonly domain: number;
  readonly transaction: string;
  readonly depositor: Address;
  readonly recipient: Bytes32;
  /** Who alone may deliver it; zero: anybody. */
  readonly caller: Bytes32;
  readonly destination: number;
  readonly amount: bigint;
  readonly hook: Uint8Array;
}

/**
 * Everybody's, where strangers burn towards an address of the pool's chain, the exchange for one: topics name depositor,
 * token and finality, and no recipient, so there is no narrower question. To be asked once a round.
 */
export async function burnsAt(
  { chain, messenger, domain }: CctpPlace,
  depositors: readonly string[] | null = null,
): Promise<BurnFound[]> {
  const logs = await chain.logs(messenger, [BURNED, null, depositors]);
  return logs.flatMap(({ topics, data, txHash }) => {
    const args = CCTP.parseLog({ topics, data })?.args;
    return args === undefined
      ? []
      : [
          {
            domain,
            transaction: txHash,
            depositor: (args["depositor"] as string).toLowerCase() as Address,
            recipient: args["mintRecipient"] as Bytes32,
            caller: args["destinationCaller"] as Bytes32,
            destination: Number(args["destinationDomain"]),
            amount: args["amount"] as bigint,
            hook: mustFromHex(args["hookData"] as string),
          },
        ];
  });
}

/**
 * Those of out-addresses alone, on the pool's chain. Which addresses are the key's, only the payees tell that their burns
 * name; but the factory names every out-address that has sent something on, and these are asked for as depositors.
 */
export async function burnsOfExits(place: CctpPlace, factory: Address): Promise<BurnFound[]> {
  const flushed = await place.chain.logs(factory, [FLUSHED]);
  const vaults = [...new Set(flushed.flatMap(({ topics }) => topics[1] ?? []))];
  const burns: BurnFound[][] = [];
  for (let at = 0; at < vaults.length; at += MOST_DEPOSITORS)
    burns.push(await burnsAt(place, vaults.slice(at, at + MOST_DEPOSITORS)));
  return burns.flat();
}
