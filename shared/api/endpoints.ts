/**
 * The HTTP surface as one table: method, path, who may call, request and answer shapes, possible codes.
 * The proxy guards and parses by it, the OpenAPI document is printed from it, and a test compares it
 * with the specification's list.
 */
import * as z from "./zod.ts";
import {
  bridgeAddress,
  bridgeDepositRequest,
  bridgeInRequest,
  bridgeOutRequest,
  bridgeQuery,
} from "./bridges.ts";
import { bridgeStatus } from "./bridge-status.ts";
import { exchangeRequest, sessionRequest, sessionResponse, whoami } from "./credentials.ts";
import {
  balance,
  balanceQuery,
  eventsQuery,
  history,
  historyChunksQuery,
  merkleRoot,
  merkleTree,
  merkleTreeQuery,
} from "./data.ts";
import type { ErrorCode } from "./errors.ts";
import { health, info, infoQuery } from "./service.ts";
import type { Kind } from "../protocol/statements.ts";
import { swapQuote, swapQuoteRequest } from "./swaps.ts";
import {
  ATTEST_BODIES,
  attestResponse,
  relayBody,
  SEQUENCE_BODIES,
  ticket,
  ticketPath,
} from "./transactions.ts";

/** Dated; additive changes only under one date. */
export const API_VERSION = "2026-11-20";
/** Largest request body in bytes. */
export const MAX_BODY_BYTES = 262_144;

/**
 * `api-key`: an API key only. `read`/`write`: an API key, or a session with that permission. `none`: no
 * credential, and one is refused.
 */
export type Access = "none" | "api-key" | "read" | "write";

/**
 * What a request passes before the handler, each in the order of the endpoint's row. `access`: who may call, what is
 * switched off, a query where there is none. `proofs`: who sent many false ones has to wait. `body`: JSON, within the
 * bounds. `swaps`: a swap where those are off, by the body alone. `once`: Idempotency-Key.
 */
export type Step = "access" | "proofs" | "body" | "swaps" | "once";

export interface Endpoint {
  readonly method: "GET" | "POST";
  /** In OpenAPI's spelling: `/sequence/ticket/{ticket_id}`. */
  readonly path: string;
  readonly summary: string;
  readonly access: Access;
  readonly steps: readonly Step[];
  readonly params?: z.ZodType;
  readonly query?: z.ZodType;
  readonly body?: z.ZodType;
  /** Answer bodies by success status; `null` where it is a stream. None where bytes are all there is. */
  readonly responses: Readonly<Record<number, z.ZodType | null>>;
  readonly codes: readonly ErrorCode[];
  /** The answer as bytes, for who asks for that media type. */
  readonly packedType?: "application/octet-stream";
  /** What the bytes are. */
  readonly packedText?: string;
  /** The answer has an ETag, and and its conditions are honoured: If-None-Match with 304, If-Match with 412. */
  readonly hasEtag?: true;
  /** Switched by the instance's configuration; off, every request is refused with this code. */
  readonly offCode?: "SWAPS_DISABLED" | "FEATURE_DISABLED";
}

const statementCodes = [
  "NULLIFIER_SPENT",
  "NULLIFIER_PENDING",
  "PROOF_INVALID",
  "ROOT_UNKNOWN",
  "CONTEXT_MISMATCH",
  "FEE_MISSING",
  "FEE_TOO_LOW",
  "AUTHORIZATION_INVALID",
  "AMOUNT_TOO_SMALL",
  "ASSET_UNSUPPORTED",
  "ENCLAVE_UNAVAILABLE",
  "CHAIN_UNAVAILABLE",
] as const satisfies readonly ErrorCode[];
const acceptCodes = [
  "QUEUE_FULL",
  "STORE_UNAVAILABLE",
  "IDEMPOTENCY_IN_PROGRESS",
  "IDEMPOTENCY_MISMATCH",
] as const satisfies readonly ErrorCode[];

const bridgeCodes = [
  "BRIDGES_FULL",
  "ASSET_UNSUPPORTED",
  "VENUE_UNAVAILABLE",
  "CHAIN_UNAVAILABLE",
  "STORE_UNAVAILABLE",
  "IDEMPOTENCY_IN_PROGRESS",
  "IDEMPOTENCY_MISMATCH",
] as const satisfies readonly ErrorCode[];

/** 201 for a new request, 200 for one that there is already. */
function bridgeAddressFor<const Path extends string>(path: Path, summary: string, body: z.ZodType) {
  return {
    method: "POST",
    path,
    summary,
    access: "write",
    steps: ["access", "body", "once"],
    body,
    responses: { 201: bridgeAddress, 200: bridgeAddress },
    offCode: "FEATURE_DISABLED",
  } as const;
}

function sequence<K extends Kind>(kind: K, what: string) {
  return {
    method: "POST",
    path: `/sequence/${kind}`,
    summary: `Verify and submit ${what}, in order`,
    access: "write",
    steps: ["access", "proofs", "body", "once"],
    body: SEQUENCE_BODIES[kind],
    responses: { 202: ticket, 200: ticket },
    codes: [...statementCodes, ...acceptCodes],
  } as const satisfies Endpoint;
}

function attest<K extends Kind>(kind: K, what: string) {
  return {
    method: "POST",
    path: `/attest/${kind}`,
    summary: `Attest ${what} without submitting it`,
    access: "write",
    steps: ["access", "proofs", "body"],
    body: ATTEST_BODIES[kind],
    responses: { 200: attestResponse },
    codes: statementCodes,
  } as const satisfies Endpoint;
}

function reading<const Path extends string>(path: Path, summary: string) {
  return { method: "GET", path, summary, access: "read", steps: ["access"] } as const;
}

export const ENDPOINTS = {
  health: {
    ...reading("/health", "Liveness"),
    responses: { 200: health, 503: health },
    codes: [],
  },
  info: {
    ...reading("/info", "Chain, pool, features, circuits and enclaves of this instance"),
    query: infoQuery,
    responses: { 200: info },
    codes: ["ENCLAVE_UNAVAILABLE", "CHAIN_UNAVAILABLE"],
  },
  whoami: {
    ...reading("/whoami", "The developer or session the credential belongs to, its limits and fees"),
    responses: { 200: whoami },
    codes: [],
  },
  createSession: {
    method: "POST",
    path: "/session",
    summary: "Mint a short-lived session token for a user",
    access: "api-key",
    steps: ["access", "body"],
    body: sessionRequest,
    responses: { 201: sessionResponse },
    codes: [],
  },
  sessionExchange: {
    method: "POST",
    path: "/session/exchange",
    summary: "Exchange an identity provider's access token for a session",
    access: "none",
    steps: ["access", "body"],
    body: exchangeRequest,
    responses: { 201: sessionResponse },
    codes: ["APP_UNKNOWN", "STORE_UNAVAILABLE"],
  },
  sequenceDeposit: sequence("deposit-shield", "a deposit"),
  sequenceSpend: sequence("spend", "a transfer or withdrawal"),
  sequenceSpend9: sequence("spend9", "a transfer or withdrawal of up to nine notes"),
  sequenceSwap: {
    ...sequence("private-swap", "a private swap"),
    codes: [...statementCodes, ...acceptCodes, "ROUTE_UNAVAILABLE"],
    offCode: "SWAPS_DISABLED",
  },
  ticket: {
    ...reading(
      "/sequence/ticket/{ticket_id}",
      "Status of a submitted transaction, by its ticket or its statement",
    ),
    params: ticketPath,
    responses: { 200: ticket },
    codes: ["TICKET_UNKNOWN"],
  },
  attestDeposit: attest("deposit-shield", "a deposit"),
  attestSpend: attest("spend", "a transfer or withdrawal"),
  attestSpend9: attest("spend9", "a transfer or withdrawal of up to nine notes"),
  attestSwap: {
    ...attest("private-swap", "a private swap"),
    codes: [...statementCodes, "ROUTE_UNAVAILABLE"],
    offCode: "SWAPS_DISABLED",
  },
  relay: {
    method: "POST",
    path: "/relay",
    summary: "Submit an already attested transaction",
    access: "write",
    steps: ["access", "proofs", "body", "swaps", "once"],
    body: relayBody,
    responses: { 202: ticket, 200: ticket },
    codes: [...statementCodes, ...acceptCodes, "ATTESTATION_INVALID", "ROUTE_UNAVAILABLE", "SWAPS_DISABLED"],
  },
  swapQuote: {
    method: "POST",
    path: "/swap/quote",
    summary: "Route, expected output, floor and fees of a private swap",
    access: "read",
    steps: ["access", "body"],
    body: swapQuoteRequest,
    responses: { 200: swapQuote },
    codes: [
      "ROUTE_UNAVAILABLE",
      "AMOUNT_TOO_SMALL",
      "ASSET_UNSUPPORTED",
      "PRICE_UNAVAILABLE",
      "CHAIN_UNAVAILABLE",
    ],
    offCode: "SWAPS_DISABLED",
  },
  bridgeFromVenue: {
    ...bridgeAddressFor(
      "/bridge/perpvenue/in-address",
      "Address for funds from the perpetuals exchange, and from any other EVM chain of GET /info",
      bridgeInRequest,
    ),
    codes: bridgeCodes,
  },
  bridgeToVenue: {
    ...bridgeAddressFor(
      "/bridge/perpvenue/out-address",
      "Address for a withdrawal to the perpetuals exchange, or to another EVM chain of GET /info",
      bridgeOutRequest,
    ),
    codes: [...bridgeCodes, "ACCOUNT_UNKNOWN"],
  },
  bridgeFromChain: {
    ...bridgeAddressFor(
      "/bridge/altchain/deposit-address",
      "Address for funds from the other blockchain; also takes the signature that its status asks for",
      bridgeDepositRequest,
    ),
    responses: { 201: bridgeAddress, 200: z.union([bridgeAddress, bridgeStatus]) },
    codes: [...bridgeCodes, "BRIDGE_UNKNOWN", "BRIDGE_STATE"],
  },
  bridgeStatus: {
    ...reading("/bridge/status", "Progress of a bridge request, by its id or one of its addresses"),
    query: bridgeQuery,
    responses: { 200: bridgeStatus },
    codes: ["BRIDGE_UNKNOWN", "STORE_UNAVAILABLE"],
    offCode: "FEATURE_DISABLED",
  },
  merkleRoot: {
    ...reading("/merkle/root", "The pool's current Merkle root"),
    responses: { 200: merkleRoot },
    codes: ["CHAIN_UNAVAILABLE"],
  },
  merkleTree: {
    ...reading("/merkle/tree", "Nodes of one level of the tree, in pages"),
    query: merkleTreeQuery,
    responses: { 200: merkleTree },
    codes: ["CHAIN_UNAVAILABLE", "NOT_ACCEPTABLE"],
    packedType: "application/octet-stream",
    packedText: "The nodes, 32 bytes each, big-endian",
    hasEtag: true,
  },
  history: {
    ...reading("/history", "What of the pool's history can be had in chunks"),
    responses: { 200: history },
    codes: ["CHAIN_UNAVAILABLE"],
    hasEtag: true,
  },
  historyChunks: {
    ...reading("/history/chunks", "Chunks of the history, as bytes"),
    query: historyChunksQuery,
    responses: {},
    codes: ["NOT_FOUND", "CHAIN_UNAVAILABLE", "NOT_ACCEPTABLE"],
    packedType: "application/octet-stream",
    packedText: "The chunks one after the other, each as long as /history says; see The history in chunks",
    hasEtag: true,
  },
  events: {
    ...reading("/events/stream", "Server-sent events of pool activity"),
    query: eventsQuery,
    responses: { 200: null },
    codes: ["RATE_LIMITED"],
  },
  balance: {
    ...reading("/balance/usdc", "Public USDC balance of an address"),
    query: balanceQuery,
    responses: { 200: balance },
    codes: ["CHAIN_UNAVAILABLE"],
  },
  openapi: {
    ...reading("/openapi.json", "This document"),
    responses: { 200: z.record(z.string(), z.unknown()) },
    codes: [],
    hasEtag: true,
  },
} as const satisfies Record<string, Endpoint>;

export type EndpointName = keyof typeof ENDPOINTS;
