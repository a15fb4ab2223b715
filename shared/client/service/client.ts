/** The service's endpoints as typed functions. Requests and answers have the shapes of shared/api; no answer is passed on unchecked. */
import { bytesToHex, randomBytes } from "@noble/hashes/utils.js";
import type {
  BridgeAddress,
  BridgeDepositRequest,
  BridgeInRequest,
  BridgeOutRequest,
} from "../../api/bridges.ts";
import type { BridgeStatus } from "../../api/bridge-status.ts";
import type { ExchangeRequest, SessionResponse, WhoAmI } from "../../api/credentials.ts";
import type { Balance, History, MerkleRoot, MerkleTree, StreamEvent } from "../../api/data.ts";
import { ENDPOINTS } from "../../api/endpoints.ts";
import type { Health, Info } from "../../api/service.ts";
import type { SwapQuote, SwapQuoteRequest } from "../../api/swaps.ts";
import type {
  AttestDepositBody,
  AttestResponse,
  DepositBody,
  RelayBody,
  SpendBody,
  SwapBody,
  Ticket,
} from "../../api/transactions.ts";
import { streamEvents, type EventsOptions, type StreamTiming } from "./events.ts";
import { Transport, type Call, type CallOptions, type Delivery, type TransportOptions } from "./http.ts";
import { exchangeSession } from "./exchange.ts";
import { checkOptions, clientOptions, type Lists } from "../base/options.ts";
import { credentialSource, type Credential } from "./session.ts";
import { readTreeLevel, type TreeLevel, type TreePage } from "./tree-level.ts";

export interface ClientOptions extends Omit<TransportOptions, "credential"> {
  readonly credential: Credential;
  /** Longest that a session provider may take, in milliseconds. Default 30 s; then SESSION_PROVIDER_FAILED. */
  readonly providerMs?: number;
  readonly streamTiming?: StreamTiming;
}

export interface SubmitOptions extends CallOptions {
  /** Default: random, so that this call's own retries count as one. */
  readonly idempotencyKey?: string;
  /** Written by this client, for a caller who must know whether the request can have left the device. */
  readonly delivery?: Delivery;
}

export interface ChunkPage {
  readonly from: number;
  /** At most 16. */
  readonly limit: number;
  /** `sha256` of the last one of them. */
  readonly last: string;
  /** Of all of them together; more is refused. */
  readonly maxBytes: number;
}

export interface Client {
  readonly baseUrl: string;
  health(options?: CallOptions): Promise<Health>;
  info(options?: CallOptions & { readonly nonce?: string }): Promise<Info>;
  whoami(options?: CallOptions): Promise<WhoAmI>;
  /** Servers only: needs an API key. */
  createSession(
    request: { sub: string; perms: ("read" | "write")[]; ttl_secs: number },
    options?: CallOptions,
  ): Promise<SessionResponse>;
  /** Sent without this client's credential; see `identityProviderSession` for a client that lives on it. */
  exchangeSession(request: ExchangeRequest, options?: CallOptions): Promise<SessionResponse>;
  sequenceDeposit(body: DepositBody, options?: SubmitOptions): Promise<Ticket>;
  sequenceSpend(body: SpendBody, options?: SubmitOptions): Promise<Ticket>;
  sequenceSpend9(body: SpendBody, options?: SubmitOptions): Promise<Ticket>;
  sequenceSwap(body: SwapBody, options?: SubmitOptions): Promise<Ticket>;
  /** By its id, or by the hash of its statement when the answer with the id was lost. */
  ticket(idOrStatement: string, options?: CallOptions): Promise<Ticket>;
  /** Without an authorization the answer's transaction is good for the depositor alone to send. */
  attestDeposit(body: AttestDepositBody, options?: CallOptions): Promise<AttestResponse>;
  attestSpend(body: SpendBody, options?: CallOptions): Promise<AttestResponse>;
  attestSpend9(body: SpendBody, options?: CallOptions): Promise<AttestResponse>;
  attestSwap(body: SwapBody, options?: CallOptions): Promise<AttestResponse>;
  relay(body: RelayBody, options?: SubmitOptions): Promise<Ticket>;
  /** The service's word, unchecked beyond its form: `wallet.quote` checks it and makes an order of it. */
  quoteSwap(request: SwapQuoteRequest, options?: CallOptions): Promise<SwapQuote>;
  /** The service's word, unchecked beyond its form: `wallet.bridges` computes every address itself. */
  bridgeIn(body: BridgeInRequest, options?: SubmitOptions): Promise<BridgeAddress>;
  bridgeOut(body: BridgeOutRequest, options?: SubmitOptions): Promise<BridgeAddress>;
  /** For an address; a status is answered where the body brings a signature. */
  bridgeDeposit(body: BridgeDepositRequest, options?: SubmitOptions): Promise<BridgeAddress | BridgeStatus>;
  bridgeStatus(
    query: { readonly id?: string; readonly address?: string },
    options?: CallOptions,
  ): Promise<BridgeStatus>;
  merkleRoot(options?: CallOptions): Promise<MerkleRoot>;
  merkleTree(
    query: { level?: number; from?: number; limit?: number },
    options?: CallOptions,
  ): Promise<MerkleTree>;
  /** Every complete node of one level, in packed pages: see ./tree-level.ts. */
  treeLevel(wanted: TreeLevel, options?: CallOptions): AsyncGenerator<TreePage, void, undefined>;
  /** What of the history can be had in chunks. The service's word; see ../history/ for what a wallet checks of it. */
  history(options?: CallOptions): Promise<History>;
  /** Chunks one after the other, unchecked: `shared/api/history-chunk.ts` has their layout. */
  historyChunks(page: ChunkPage, options?: CallOptions): Promise<Uint8Array>;
  balance(address: string, options?: CallOptions): Promise<Balance>;
  openapi(options?: CallOptions): Promise<Record<string, unknown>>;
  /** Never ends by itself: reconnects and resumes until the signal aborts or the service refuses permanently. */
  events(options?: EventsOptions): AsyncGenerator<StreamEvent, void, undefined>;
}

/** Throws OPTIONS_INVALID. */
export function createClient(options: ClientOptions): Client {
  checkOptions(clientOptions satisfies Lists<ClientOptions>, options, "createClient");
  const transport = new Transport({
    ...options,
    credential: credentialSource(options.credential, options.providerMs),
  });
  const submit = ({ idempotencyKey, signal, delivery }: SubmitOptions = {}): Call => ({
    idempotencyKey: idempotencyKey ?? bytesToHex(randomBytes(16)),
    signal,
    ...(delivery === undefined ? {} : { delivery }),
  });

  return {
    baseUrl: transport.baseUrl,
    health: (call) => transport.call(ENDPOINTS.health, call),
    info: ({ nonce, signal } = {}) => transport.call(ENDPOINTS.info, { query: { nonce }, signal }),
    whoami: (call) => transport.call(ENDPOINTS.whoami, call),
    createSession: (body, call) => transport.call(ENDPOINTS.createSession, { ...call, body }),
    exchangeSession: (body, call) => exchangeSession(options, body, call),
    sequenceDeposit: (body, call) => transport.call(ENDPOINTS.sequenceDeposit, { ...submit(call), body }),
    sequenceSpend: (body, call) => transport.call(ENDPOINTS.sequenceSpend, { ...submit(call), body }),
    sequenceSpend9: (body, call) => transport.call(ENDPOINTS.sequenceSpend9, { ...submit(call), body }),
    sequenceSwap: (body, call) => transport.call(ENDPOINTS.sequenceSwap, { ...submit(call), body }),
    ticket: (idOrStatement, call) =>
      transport.call(ENDPOINTS.ticket, { ...call, params: { ticket_id: idOrStatement } }),
    attestDeposit: (body, call) => transport.call(ENDPOINTS.attestDeposit, { ...call, body }),
    attestSpend: (body, call) => transport.call(ENDPOINTS.attestSpend, { ...call, body }),
    attestSpend9: (body, call) => transport.call(ENDPOINTS.attestSpend9, { ...call, body }),
    attestSwap: (body, call) => transport.call(ENDPOINTS.attestSwap, { ...call, body }),
    relay: (body, call) => transport.call(ENDPOINTS.relay, { ...submit(call), body }),
    quoteSwap: (body, call) => transport.call(ENDPOINTS.swapQuote, { ...call, body, onlyAsks: true }),
    bridgeIn: (body, call) => transport.call(ENDPOINTS.bridgeFromVenue, { ...submit(call), body }),
    bridgeOut: (body, call) => transport.call(ENDPOINTS.bridgeToVenue, { ...submit(call), body }),
    bridgeDeposit: (body, call) => transport.call(ENDPOINTS.bridgeFromChain, { ...submit(call), body }),
    bridgeStatus: (query, call) => transport.call(ENDPOINTS.bridgeStatus, { ...call, query }),
    merkleRoot: (call) => transport.call(ENDPOINTS.merkleRoot, call),
    merkleTree: (query, call) => transport.call(ENDPOINTS.merkleTree, { ...call, query }),
    treeLevel: (wanted, call = {}) => readTreeLevel(transport, wanted, call),
    history: (call) => transport.call(ENDPOINTS.history, call),
    historyChunks: ({ maxBytes, ...query }, call) =>
      transport.call(ENDPOINTS.historyChunks, { ...call, query: { ...query }, packed: { maxBytes } }),
    balance: (address, call) => transport.call(ENDPOINTS.balance, { ...call, query: { address } }),
    openapi: (call) => transport.call(ENDPOINTS.openapi, call),
    events: (call = {}) => streamEvents(transport, call, options.streamTiming),
  };
}
