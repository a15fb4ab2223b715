/**
 * The HTTP surface as one table: method, path, who may call, request and answer shapes, possible codes.
 * The proxy guards and parses by it, the OpenAPI document is printed from it, and a test compares it
 * with the specification's list.
 */
import { z } from "zod";
import { sessionRequest, sessionResponse, whoami } from "./credentials.ts";
import { balance, balanceQuery, eventsQuery, merkleRoot, merkleTree, merkleTreeQuery } from "./data.ts";
import type { ErrorCode } from "./errors.ts";
import { health, info, infoQuery } from "./service.ts";
import { attestResponse, depositBody, relayBody, spendBody, ticket, ticketPath } from "./transactions.ts";

/** Dated; additive changes only under one date. */
export const API_VERSION = "2026-11-20";
/** Largest request body in bytes. */
export const MAX_BODY_BYTES = 262_144;

/** `api-key`: an API key only. `read`/`write`: an API key, or a session with that permission. */
export type Access = "api-key" | "read" | "write";

export interface Endpoint {
  readonly method: "GET" | "POST";
  /** In OpenAPI's spelling: `/sequence/ticket/{ticket_id}`. */
  readonly path: string;
  readonly summary: string;
  readonly access: Access;
  readonly params?: z.ZodType;
  readonly query?: z.ZodType;
  readonly body?: z.ZodType;
  /** Answer bodies by success status; `null` where it is no JSON. */
  readonly responses: Readonly<Record<number, z.ZodType | null>>;
  readonly codes: readonly ErrorCode[];
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
] as const;

export const ENDPOINTS = {
  health: {
    method: "GET",
    path: "/health",
    summary: "Liveness",
    access: "read",
    responses: { 200: health, 503: health },
    codes: [],
  },
  info: {
    method: "GET",
    path: "/info",
    summary: "Chain, pool, features, circuits and enclaves of this instance",
    access: "read",
    query: infoQuery,
    responses: { 200: info },
    codes: ["ENCLAVE_UNAVAILABLE", "CHAIN_UNAVAILABLE"],
  },
  whoami: {
    method: "GET",
    path: "/whoami",
    summary: "The developer or session the credential belongs to, its limits and fees",
    access: "read",
    responses: { 200: whoami },
    codes: [],
  },
  createSession: {
    method: "POST",
    path: "/session",
    summary: "Mint a short-lived session token for a user",
    access: "api-key",
    body: sessionRequest,
    responses: { 201: sessionResponse },
    codes: [],
  },
  sequenceDeposit: {
    method: "POST",
    path: "/sequence/deposit-shield",
    summary: "Verify and submit a deposit, in order",
    access: "write",
    body: depositBody,
    responses: { 202: ticket, 200: ticket },
    codes: [...statementCodes, ...acceptCodes],
  },
  sequenceSpend: {
    method: "POST",
    path: "/sequence/spend",
    summary: "Verify and submit a transfer or withdrawal",
    access: "write",
    body: spendBody,
    responses: { 202: ticket, 200: ticket },
    codes: [...statementCodes, ...acceptCodes],
  },
  ticket: {
    method: "GET",
    path: "/sequence/ticket/{ticket_id}",
    summary: "Status of a submitted transaction",
    access: "read",
    params: ticketPath,
    responses: { 200: ticket },
    codes: ["TICKET_UNKNOWN"],
  },
  attestDeposit: {
    method: "POST",
    path: "/attest/deposit-shield",
    summary: "Attest a deposit without submitting it",
    access: "write",
    body: depositBody,
    responses: { 200: attestResponse },
    codes: statementCodes,
  },
  attestSpend: {
    method: "POST",
    path: "/attest/spend",
    summary: "Attest a transfer or withdrawal without submitting it",
    access: "write",
    body: spendBody,
    responses: { 200: attestResponse },
    codes: statementCodes,
  },
  relay: {
    method: "POST",
    path: "/relay",
    summary: "Submit an already attested transaction",
    access: "write",
    body: relayBody,
    responses: { 202: ticket, 200: ticket },
    codes: [...statementCodes, ...acceptCodes, "ATTESTATION_INVALID"],
  },
  merkleRoot: {
    method: "GET",
    path: "/merkle/root",
    summary: "The pool's current Merkle root",
    access: "read",
    responses: { 200: merkleRoot },
    codes: ["CHAIN_UNAVAILABLE"],
  },
  merkleTree: {
    method: "GET",
    path: "/merkle/tree",
    summary: "Nodes of one level of the tree, in pages",
    access: "read",
    query: merkleTreeQuery,
    responses: { 200: merkleTree },
    codes: ["CHAIN_UNAVAILABLE", "NOT_ACCEPTABLE"],
  },
  events: {
    method: "GET",
    path: "/events/stream",
    summary: "Server-sent events of pool activity",
    access: "read",
    query: eventsQuery,
    responses: { 200: null },
    codes: ["RATE_LIMITED"],
  },
  balance: {
    method: "GET",
    path: "/balance/usdc",
    summary: "Public USDC balance of an address",
    access: "read",
    query: balanceQuery,
    responses: { 200: balance },
    codes: ["CHAIN_UNAVAILABLE"],
  },
  openapi: {
    method: "GET",
    path: "/openapi.json",
    summary: "This document",
    access: "read",
    responses: { 200: z.record(z.string(), z.unknown()) },
    codes: [],
  },
} as const satisfies Record<string, Endpoint>;

export type EndpointName = keyof typeof ENDPOINTS;
