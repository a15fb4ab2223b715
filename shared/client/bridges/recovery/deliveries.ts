/**
 * Burns on one chain that have not been minted on the other yet. Everything is read from the chains but the attestation,
 * which its API gives to anybody; whether it is one, the contract that mints decides.
 */
import * as z from "../../../api/zod.ts";
import { ZERO_BYTES32, type Address, type Bytes32 } from "../../../protocol/brands.ts";
import { mustFromHex } from "../../../protocol/bytes.ts";
import { fromHex } from "../../../protocol/host/text.ts";
import { parseBurn, parseMessage, wordToAddress } from "../../../protocol/host/cctp.ts";
import { boundedBody } from "../../base/bounded-body.ts";
import { ClientError } from "../../base/errors.ts";
import { contractAbi } from "../../statements/execute-call.ts";
import { readBaseUrl } from "../../base/reaching.ts";
import type { Attempt, EvmChain } from "./evm-chain.ts";

const CCTP = contractAbi([
  "function localMessageTransmitter() view returns (address)",
  "function localDomain() view returns (uint32)",
  "function usedNonces(bytes32) view returns (uint256)",
  "function receiveMessage(bytes message, bytes attestation) returns (bool)",
  // Of a contract that alone may deliver, such as the exchange's.
  "function relay(bytes message, bytes attestation)",
  "event DepositForBurn(address indexed burnToken, uint256 amount, address indexed depositor, bytes32 mintRecipient, uint32 destinationDomain, bytes32 destinationTokenMessenger, bytes32 destinationCaller, uint256 maxFee, uint32 indexed minFinalityThreshold, bytes hookData)",
  "error Error(string)",
]);
const BURNED = CCTP.getEvent("DepositForBurn")!.topicHash;

const ANSWER_BYTES = 4 << 20;
const PATIENCE_MS = 20_000;
/** Attested. Whatever else is in the list is not there yet: of a pending one the API says nulls. */
const attestedMessage = z.object({
  message: z.string(),
  attestation: z.string(),
  status: z.literal("complete"),
});
const answer = z.object({ messages: z.array(z.unknown()) });

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

/** A burn that mints to `recipient`, or whose money was at `depositor`. */
export interface BurnFound {
  readonly transaction: string;
  readonly depositor: Address;
  readonly recipient: Bytes32;
  readonly destination: number;
  readonly amount: bigint;
  readonly hook: Uint8Array;
}

export async function burnsAt({ chain, messenger }: CctpPlace): Promise<BurnFound[]> {
  const logs = await chain.logs(messenger, [BURNED]);
  return logs.flatMap(({ topics, data, txHash }) => {
    const args = CCTP.parseLog({ topics, data })?.args;
    return args === undefined
      ? []
      : [
          {
            transaction: txHash,
            depositor: (args["depositor"] as string).toLowerCase() as Address,
            recipient: args["mintRecipient"] as Bytes32,
            destination: Number(args["destinationDomain"]),
            amount: args["amount"] as bigint,
            hook: mustFromHex(args["hookData"] as string),
          },
        ];
  });
}

export type Delivery =
  | { readonly state: "delivered" }
  | { readonly state: "pending"; readonly reason: string }
  | { readonly state: "attempted"; readonly amount: bigint; readonly attempt: Attempt };

export class Attestations {
  readonly #base: string;
  readonly #fetch: typeof fetch;
  readonly #signal: AbortSignal | undefined;

  /** Throws OPTIONS_INVALID. */
  constructor(base: string, ask: typeof fetch | undefined, signal: AbortSignal | undefined) {
    this.#base = readBaseUrl(base, "attestations");
    this.#fetch = async (input, init) => (ask ?? fetch)(input, init);
    this.#signal = signal;
  }

  /** Every message of that transaction to that recipient. */
  async deliver(
    sourceDomain: number,
    transaction: string,
    recipient: Bytes32,
    places: ReadonlyMap<number, CctpPlace>,
  ): Promise<Delivery[]> {
    const query = `transactionHash=${encodeURIComponent(transaction)}`;
    const found = await this.#ask(`/v2/messages/${sourceDomain}?${query}`);
    if (found === undefined) return [{ state: "pending", reason: "nobody has attested it yet" }];
    const { data } = answer.safeParse(found);
    if (data === undefined)
      throw new ClientError("UNEXPECTED_ANSWER", "attestations are not of the documented form");
    const deliveries: Delivery[] = [];
    for (const untrusted of data.messages) {
      const one = attestedMessage.safeParse(untrusted).data;
      if (one === undefined) {
        deliveries.push({ state: "pending", reason: "its burn is not final enough for the attester" });
        continue;
      }
      const delivery = await this.#one(one, recipient, places);
      if (delivery !== undefined) deliveries.push(delivery);
    }
    return deliveries;
  }

  async #one(
    { message: text, attestation }: { readonly message: string; readonly attestation: string },
    recipient: Bytes32,
    places: ReadonlyMap<number, CctpPlace>,
  ): Promise<Delivery | undefined> {
    const message = parseMessage(fromHex(text));
    const burn = parseBurn(message?.body);
    if (message === undefined || burn?.mintRecipient !== recipient) return undefined;
    const to = places.get(message.destinationDomain);
    if (to === undefined)
      return {
        state: "pending",
        reason: `no node of the chain of domain ${message.destinationDomain} was given`,
      };
    const used = await to.chain.read(CCTP, to.transmitter, "usedNonces", [message.nonce]);
    if (used === undefined || used[0] !== 0n) return { state: "delivered" };
    const { number } = await to.chain.head();
    if (burn.expirationBlock !== 0n && BigInt(number) >= burn.expirationBlock) {
      await this.#ask(`/v2/reattest/${message.nonce}`, "POST");
      return { state: "pending", reason: "its attestation had expired and was asked for again" };
    }
    const caller =
      message.destinationCaller === ZERO_BYTES32 ? undefined : wordToAddress(message.destinationCaller);
    const attempt =
      caller === undefined
        ? await to.chain.attempt(CCTP, to.transmitter, "receiveMessage", [text, attestation])
        : await to.chain.attempt(CCTP, caller, "relay", [text, attestation]);
    return { state: "attempted", amount: burn.amount, attempt };
  }

  /** Undefined for what is not known. */
  async #ask(path: string, method: "GET" | "POST" = "GET"): Promise<unknown> {
    const ending = AbortSignal.any([
      AbortSignal.timeout(PATIENCE_MS),
      ...(this.#signal === undefined ? [] : [this.#signal]),
    ]);
    try {
      const response = await this.#fetch(this.#base + path, { method, signal: ending });
      if (response.status === 404 || (method === "POST" && response.status === 400)) return undefined;
      if (!response.ok) throw new Error(`status ${response.status}`);
      const bytes = await boundedBody(response, ANSWER_BYTES, ending, () => undefined);
      return bytes && (JSON.parse(new TextDecoder().decode(bytes)) as unknown);
    } catch (cause) {
      this.#signal?.throwIfAborted();
      throw new ClientError("NODE_UNREACHABLE", "the attestation API", { cause });
    }
  }
}
