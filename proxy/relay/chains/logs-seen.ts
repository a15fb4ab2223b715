/** Which contracts of a chain the relay watches, and which of their events it reads. */
import { Interface } from "ethers";
import type { Key } from "./events.ts";

/** The contracts of one chain that are watched. Addresses in lower case. */
export interface WatchedContracts {
  readonly tokens: readonly string[];
  readonly forwarders: string;
  readonly cctp?: WatchedCctp | undefined;
  /** Contract of the exchange that credits its accounts; on its own chain only. */
  readonly exchange?: string | undefined;
}

export interface WatchedCctp {
  readonly domain: number;
  readonly messenger: string;
  readonly transmitter: string;
  /** The messengers of other domains, as far as they are known here. */
  readonly senders: Readonly<Record<number, Key>>;
}

export const words = new Interface([
  "event Transfer(address indexed from, address indexed to, uint256 value)",
  "event Touched(address indexed vault, address indexed token, uint256 amount, bool hasMinimum)",
  "event Swept(address indexed vault, uint64 leafIndex, uint256 amount, uint256 fees)",
  "event SweepSkipped(address indexed vault, bytes reason)",
  "event Forwarded(address indexed vault, uint256 amount)",
  "event Flushed(address indexed vault, uint256 amount)",
  "event Refunded(address indexed vault, address token, address to, uint256 amount)",
  "event Returned(address indexed vault, address token, uint64 leafIndex, uint256 amount)",
  "event MessageSent(bytes message)",
  "event MessageReceived(address indexed caller, uint32 sourceDomain, bytes32 indexed nonce, bytes32 sender, uint32 indexed finalityThresholdExecuted, bytes messageBody)",
  "event MintAndWithdraw(address indexed mintRecipient, uint256 amount, address indexed mintToken, uint256 feeCollected)",
  "event MintAndForward(address indexed forwardRecipient, address indexed forwardingAddress, address indexed token, uint32 destinationId, uint256 amount)",
]);

const topicsOf = (...names: string[]): string[] => names.map((name) => words.getEvent(name)!.topicHash);

export const [TRANSFER] = topicsOf("Transfer") as [string];
/** What Forwarders says of a vault; the vault is always the first topic after the name. */
export const OF_VAULTS = topicsOf(
  "Touched",
  "Swept",
  "SweepSkipped",
  "Forwarded",
  "Flushed",
  "Refunded",
  "Returned",
);
/** What CCTP and the exchange say, whomever it concerns. */
export const OF_MESSAGES = topicsOf("MessageSent", "MessageReceived", "MintAndWithdraw", "MintAndForward");
