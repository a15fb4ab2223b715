// The attester's documented HTTP API: paths, shapes and words of its answers. Anybody may ask; what it shows of a
// message is what the message says.
import { z } from "zod";
import type { Bytes32 } from "../../../../shared/protocol/brands.ts";
import { toHex } from "../../../../shared/protocol/bytes.ts";
import { FINALITY, parseBurn, parseMessage, wordToAddress } from "../../../../shared/protocol/host/cctp.ts";
import type { VenueAnswer, VenueRequest } from "../json-server.ts";
import { bytes32Shape, bytesShape } from "../shapes.ts";
import type { Entry } from "./book.ts";
import { fastFeeBps, type AttesterSettings } from "./settings.ts";

export interface AttesterApi {
  readonly settings: AttesterSettings;
  readonly publicKeys: readonly string[];
  entries(): readonly Entry[];
  /** "unknown": no such message; "refused": it is final already, or cannot be renewed now. */
  reattest(nonce: Bytes32): Promise<"done" | "unknown" | "refused">;
  /** Unix seconds until which it answers nothing and attests nothing. */
  away(until: number): void;
  isAway(): boolean;
}

const MESSAGES = /^\/v2\/messages\/([0-9]{1,10})$/;
const REATTEST = /^\/v2\/reattest\/(0x[0-9a-fA-F]{64})$/;
const FEES = /^\/v2\/burn\/USDC\/fees\/([0-9]{1,10})\/([0-9]{1,10})$/;

const awayBody = z.strictObject({ until: z.number().min(0) });

export async function answerAttester(api: AttesterApi, request: VenueRequest): Promise<VenueAnswer> {
  const { method, path, query, body } = request;
  if (method === "POST" && path === "/dev/away") {
    const read = awayBody.safeParse(body);
    if (!read.success) return refusal(400, "Wants {until} in Unix seconds");
    api.away(read.data.until);
    return { status: 200, body: { until: read.data.until } };
  }
  if (api.isAway()) return refusal(503, "Service unavailable");
  if (method === "GET") {
    const messages = MESSAGES.exec(path);
    if (messages !== null) return messagesOf(api.entries(), Number(messages[1]), query);
    const fees = FEES.exec(path);
    if (fees !== null) return feesOf(api.settings, Number(fees[1]), Number(fees[2]));
    if (path === "/v2/publicKeys")
      return {
        status: 200,
        body: { publicKeys: api.publicKeys.map((publicKey) => ({ publicKey, cctpVersion: 2 })) },
      };
  }
  const reattest = REATTEST.exec(path);
  if (method === "POST" && reattest !== null) return reattested(api, bytes32Shape.parse(reattest[1]));
  return refusal(404, "Not found");
}

async function reattested(api: AttesterApi, nonce: Bytes32): Promise<VenueAnswer> {
  switch (await api.reattest(nonce)) {
    case "done":
      return { status: 200, body: { message: "Re-attestation successfully requested for nonce.", nonce } };
    case "unknown":
      return refusal(404, "Message not found");
    case "refused":
      return refusal(400, "Message cannot be re-attested");
  }
}

function messagesOf(entries: readonly Entry[], domain: number, query: URLSearchParams): VenueAnswer {
  const transaction = query.get("transactionHash");
  const nonce = query.get("nonce")?.toLowerCase();
  if (transaction === null && nonce === undefined)
    return refusal(400, "At least one of transactionHash or nonce is required");
  // Other blockchains' hashes tell capitals apart.
  const wanted = transaction?.startsWith("0x") === true ? transaction.toLowerCase() : transaction;
  const found = entries
    .filter(
      (entry) =>
        entry.domain === domain &&
        (wanted === null || entry.transaction === wanted) &&
        (nonce === undefined || entry.nonce === nonce),
    )
    .sort((a, b) => a.ordinal - b.ordinal);
  if (found.length === 0) return refusal(404, "Message not found");
  return { status: 200, body: { messages: found.map(shown) } };
}

function shown(entry: Entry): object {
  const { attested, delay_reason: delayReason } = entry;
  // Of a pending one the public API says next to nothing.
  if (attested === null)
    return {
      ...{ attestation: "PENDING", message: null, decodedMessage: null, eventNonce: null, cctpVersion: 2 },
      ...{ status: "pending_confirmations", delayReason },
    };
  return {
    message: attested.message,
    eventNonce: entry.nonce,
    attestation: attested.attestation,
    decodedMessage: decoded(attested.message),
    cctpVersion: 2,
    status: "complete",
    delayReason,
  };
}

/** The body too, when it reads as a burn: whoever wrote it, and whatever it says. */
function decoded(hex: string): object | null {
  const message = parseMessage(bytesShape.parse(hex));
  if (message === undefined) return null;
  const burn = parseBurn(message.body);
  return {
    sourceDomain: String(message.sourceDomain),
    destinationDomain: String(message.destinationDomain),
    nonce: message.nonce,
    sender: party(message.sender),
    recipient: party(message.recipient),
    destinationCaller: party(message.destinationCaller),
    minFinalityThreshold: String(message.minFinalityThreshold),
    finalityThresholdExecuted: String(message.finalityThresholdExecuted),
    messageBody: toHex(message.body),
    decodedMessageBody:
      burn === undefined
        ? null
        : {
            burnToken: party(burn.burnToken),
            mintRecipient: party(burn.mintRecipient),
            amount: String(burn.amount),
            messageSender: party(burn.messageSender),
            maxFee: String(burn.maxFee),
            feeExecuted: String(burn.feeExecuted),
            expirationBlock: String(burn.expirationBlock),
            hookData: toHex(burn.hookData),
          },
  };
}

/** An EVM chain's address as one, everything else as the word that it is. */
function party(word: Bytes32): string {
  return wordToAddress(word) ?? word;
}

function feesOf(settings: AttesterSettings, source: number, destination: number): VenueAnswer {
  const domains = [...settings.chains, ...(settings.altchain === null ? [] : [settings.altchain])].map(
    ({ domain }) => domain,
  );
  if (!domains.includes(source) || !domains.includes(destination) || source === destination)
    return refusal(404, "No fees for these domains");
  return {
    status: 200,
    body: [
      { finalityThreshold: FINALITY.fast, minimumFee: fastFeeBps(settings, source, destination) },
      { finalityThreshold: FINALITY.final, minimumFee: 0 },
    ],
  };
}

function refusal(code: number, message: string): VenueAnswer {
  return { status: code, body: { code, message } };
}
