/**
 * Logs of one block, in order, as events. A log is an event only when the contract that may say it has said it: anybody
 * can write a log that looks like one from a contract of his own.
 */
import type { Result } from "ethers";
import { ChainUnreachable } from "../../base/chain/json-rpc.ts";
import type { RawLog } from "../../base/chain/provider.ts";
import { readBurnMessage, readReceived } from "./burn-message.ts";
import { keyOf, type BridgeEvent, type Key } from "./events.ts";
import { OF_VAULTS, TRANSFER, words, type WatchedCctp, type WatchedContracts } from "./logs-seen.ts";

/** What one transaction has said so far that only a later log of it makes an event. */
interface Pending {
  readonly tx: string;
  mint?: { readonly recipient: Key; readonly amount: bigint; readonly fee: bigint } | undefined;
  /** Nonce of the message that the exchange's contract has received and not said yet for whom. */
  received?: string | undefined;
}

type Said = { readonly name: string; readonly args: Result } | undefined;

const lower = (value: unknown): string => String(value).toLowerCase();

/** One for each block. */
export function createReader(contracts: WatchedContracts): (log: RawLog) => readonly BridgeEvent[] {
  const tokens = new Set(contracts.tokens);
  let pending: Pending = { tx: "" };

  return (log) => {
    if (pending.tx !== log.txHash) pending = { tx: log.txHash };
    const by = log.address.toLowerCase();
    if (by === contracts.forwarders) {
      const said = OF_VAULTS.includes(log.topics[0] ?? "") ? parse(log) : undefined;
      return said === undefined ? [] : ofForwarders(said.name, said.args);
    }
    const { cctp } = contracts;
    let event: BridgeEvent | undefined;
    if (tokens.has(by)) event = ofToken(by, log);
    else if (by === contracts.exchange) event = ofExchange(parse(log), tokens, pending);
    else if (by === cctp?.transmitter) {
      const said = parse(log);
      noteReceipt(said, contracts.exchange, pending);
      event = ofTransmitter(said, cctp, pending);
    } else if (by === cctp?.messenger) noteMint(parse(log), pending);
    return event === undefined ? [] : [event];
  };
}

function parse(log: RawLog): Said {
  try {
    return words.parseLog({ topics: [...log.topics], data: log.data }) ?? undefined;
  } catch (cause) {
    throw new ChainUnreachable("a log of a known contract has another form", { cause });
  }
}

/** A token may have other events, also by our names; and without indexed parties (as ERC-721's id) it is none of ours. */
function ofToken(token: string, log: RawLog): BridgeEvent | undefined {
  if (log.topics[0] !== TRANSFER || log.topics.length !== 3) return undefined;
  const args = parse(log)?.args;
  if (args === undefined) return undefined;
  const [from, to, amount] = [
    keyOf(String(args["from"])),
    keyOf(String(args["to"])),
    args["value"] as bigint,
  ];
  // Anybody may move nothing between any two addresses, at the price of gas.
  return amount === 0n ? undefined : { kind: "moved", token, from, to, amount };
}

/** Its own word names an account and no message; the one that it has received just before is meant. */
function ofExchange(said: Said, tokens: ReadonlySet<string>, pending: Pending): BridgeEvent | undefined {
  if (said?.name !== "MintAndForward") return undefined;
  const { args } = said;
  const { received: nonce } = pending;
  pending.received = undefined;
  if (nonce === undefined || !tokens.has(lower(args["token"]))) return undefined;
  const account = keyOf(String(args["forwardRecipient"]));
  return { kind: "credited", account, nonce, amount: args["amount"] as bigint };
}

function ofForwarders(name: string, args: Result): readonly BridgeEvent[] {
  const vault = keyOf(String(args["vault"]));
  const amount = args["amount"] as bigint;
  switch (name) {
    case "Touched":
      return [
        {
          kind: "touched",
          vault,
          token: lower(args["token"]),
          hasMinimum: args["hasMinimum"] as boolean,
        },
      ];
    case "Swept": {
      const fees = args["fees"] as bigint;
      return [{ kind: "swept", vault, leafIndex: Number(args["leafIndex"]), amount, fees }];
    }
    case "SweepSkipped":
      return [{ kind: "skipped", vault, reason: String(args["reason"]) }];
    case "Refunded": {
      const [token, to] = [lower(args["token"]), lower(args["to"])];
      return [{ kind: "refunded", vault, token, to, amount }];
    }
    case "Returned": {
      const token = lower(args["token"]);
      return [{ kind: "returned", vault, token, leafIndex: Number(args["leafIndex"]), amount }];
    }
    default:
      return [{ kind: "left", vault, amount }];
  }
}

function ofTransmitter(
  said: Said,
  { domain, messenger, senders }: WatchedCctp,
  pending: Pending,
): BridgeEvent | undefined {
  if (said?.name === "MessageSent") {
    const message = String(said.args["message"]);
    const parsed = readBurnMessage(message);
    // `sendMessage` is anybody's: only what the messenger sent has burned something.
    if (parsed === undefined || parsed.header.sender !== keyOf(messenger)) return undefined;
    const { header, terms } = parsed;
    if (header.sourceDomain !== domain) return undefined;
    return { kind: "burned", burn: terms, minFinality: header.minFinalityThreshold, message };
  }
  if (said?.name !== "MessageReceived") return undefined;
  const { args } = said;
  const { mint } = pending;
  pending.mint = undefined;
  const sourceDomain = Number(args["sourceDomain"]);
  const burn = readReceived({ sourceDomain, destinationDomain: domain }, String(args["messageBody"]));
  // Whatever else is carried in the transaction, the messenger mints and the transmitter says so without a word between.
  if (mint === undefined || burn === undefined) return undefined;
  if (mint.recipient !== burn.recipient || mint.amount + mint.fee !== burn.amount) return undefined;
  const sender = senders[sourceDomain];
  if (sender !== undefined && sender !== lower(args["sender"])) return undefined;
  return { kind: "minted", burn, nonce: lower(args["nonce"]), amount: mint.amount };
}

/**
 * By its caller a message is the exchange's own: others may receive theirs in the same transaction, before, between and
 * behind, but between its receipt and its word the exchange's contract calls nobody who could have it receive another.
 */
function noteReceipt(said: Said, exchange: string | undefined, pending: Pending): void {
  if (said?.name === "MessageReceived" && lower(said.args["caller"]) === exchange)
    pending.received = lower(said.args["nonce"]);
}

/** The minter's word comes just before the transmitter's, in the same call. */
function noteMint(said: Said, pending: Pending): void {
  if (said?.name !== "MintAndWithdraw") return;
  const { args } = said;
  const [amount, fee] = [args["amount"] as bigint, args["feeCollected"] as bigint];
  pending.mint = { recipient: keyOf(String(args["mintRecipient"])), amount, fee };
}
