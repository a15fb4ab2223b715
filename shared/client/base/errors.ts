/**
 * Everything that this library throws on purpose, as two closed unions by `code`: what the service said
 * (`ApiProblem`) and what this side found (`ClientError`). Neither carries a credential, key or note.
 */
import { ERRORS, problem, type ErrorCode } from "../../api/errors.ts";

/** A problem answer of the service. `switch (problem.code)` is exhaustive. */
export class ApiProblem extends Error {
  override readonly name = "ApiProblem";
  readonly code: ErrorCode;
  readonly status: number;
  /** Whether the same request may succeed later. */
  readonly retryable: boolean;
  readonly requestId: string;
  /** Milliseconds the service asked to wait. */
  readonly retryAfterMs: number | undefined;
  /** Field errors of INVALID_REQUEST. */
  readonly fields: readonly { readonly path: string; readonly message: string }[];

  private constructor(
    body: ReturnType<typeof problem.parse>,
    status: number,
    retryAfterMs: number | undefined,
  ) {
    super(`${body.code}: ${body.detail}`);
    this.code = body.code;
    this.status = status;
    this.retryable = body.retryable;
    this.requestId = body.request_id;
    this.retryAfterMs = retryAfterMs;
    this.fields = body.errors ?? [];
  }

  /** Undefined when the body is no problem of this service: a load balancer's page, say. */
  static from(untrusted: unknown, status: number, retryAfterMs?: number): ApiProblem | undefined {
    const parsed = problem.safeParse(untrusted);
    if (!parsed.success || ERRORS[parsed.data.code].status !== status) return undefined;
    return new ApiProblem(parsed.data, status, retryAfterMs);
  }
}

export const CLIENT_ERRORS = {
  OPTIONS_INVALID: "the library was not called as it is documented",
  NETWORK: "no answer from the service",
  UNEXPECTED_ANSWER: "the answer does not have the documented form",
  SESSION_PROVIDER_FAILED: "the session-token provider gave no token",
  PIN_MISMATCH: "the service differs from what this client was configured for",
  BRIDGE_ADDRESS_MISMATCH:
    "the address that the service gives is not the one that this wallet computes; nothing may be sent there",
  BRIDGE_UNKNOWN: "this wallet has made no such bridge address",
  BRIDGE_UNPROVEN:
    "the service says that the money has become a note, and this wallet does not have the note",
  BRIDGE_FAILED: "the bridge request ended in another way than the one waited for",
  BURN_REFUSED: "the transaction to be signed is not the burn of this deposit; it was not signed",
  ENCLAVE_UNVERIFIED: "the service's enclaves did not prove that they run a program this client trusts",
  FEE_ABOVE_CEILING: "the service asks a higher fee than this client was configured to pay",
  CLOCK_WRONG: "the clock of this device differs from that of the service's enclaves",
  ARTEFACT_MISMATCH: "a proving artefact does not have the expected hash",
  PROOF_FAILED: "no proof could be made",
  WORKER_FORBIDDEN:
    "the content security policy forbids the prover's worker: its directive worker-src has to allow the worker's file, as 'self' does",
  WASM_FORBIDDEN:
    "the content security policy of the worker's file forbids WebAssembly: its directive script-src has to contain 'wasm-unsafe-eval'",
  WORKER_UNAVAILABLE: "the prover's worker did not start, or ended",
  KEY_INVALID: "not a key that a wallet can be made from",
  ADDRESS_INVALID: "not an address that can stand there",
  REQUEST_INVALID: "not a payment request that this version understands",
  REQUEST_ELSEWHERE: "the payment request is for another network or token",
  REQUEST_AMOUNT: "the payment request's amount is not a plain whole number that can be paid",
  REQUEST_EXPIRED: "the payment request's time is over",
  CONTACT_INVALID: "not a name that the address book can take",
  DISCLOSURE_IMPOSSIBLE: "this wallet cannot show that payment",
  DISCLOSURE_INVALID:
    "not a disclosure, or one that was changed or made by somebody who did not pay or receive it",
  DISCLOSURE_ELSEWHERE: "the disclosure is of another network's pool",
  DISCLOSURE_NOT_FOR_YOU: "the disclosure was made for another reader",
  DISCLOSURE_EXPIRED: "the disclosure's time is over",
  DISCLOSURE_UNFOUNDED: "the pool has no such payment, or has it no more",
  AMOUNT_INVALID: "not an amount this wallet can move",
  INSUFFICIENT_FUNDS: "the wallet does not hold that much",
  NEEDS_CONSOLIDATION:
    "the amount is spread over more notes than one payment can spend; consolidate first, or let the payment do it",
  FEATURE_OFF: "this instance of the service does not offer that",
  PATH_INVALID: "not a path of one or two known pools from the one token to the other",
  QUOTE_REFUSED: "the quote contradicts what was asked for, or itself",
  PRICE_TOO_LOW: "the quote's floor is below the least that the caller takes",
  NOTE_UNKNOWN: "the opening is of no note of this wallet in the tree",
  HISTORY_INCONSISTENT:
    "the chunks of the history that the service gives contradict its list, each other or the roots of the pool",
  STREAM_INCONSISTENT: "the event stream contradicts itself or the roots of the pool",
  TREE_INCONSISTENT: "the nodes that the service gives do not lead to its root",
  ROOT_UNVERIFIED: "nobody but the service says that the pool has this root",
  NODE_UNREACHABLE: "no answer from a chain node",
  CHAIN_DOUBTED: "what the chain node says is not believed",
  NOTES_YOUNG: "the money is there, but no proof may use it yet; nothing was sent",
  ADVANCE_EARLY: "the pool does not let anybody else extend its tree yet; nothing was sent",
  NOT_EXECUTED: "the transaction was mined or tried, and the pool did not do it",
  STORAGE_CORRUPT: "the stored wallet cannot be read",
  HISTORY_DAMAGED:
    "what is stored of the pool's history is damaged or missing; it can be read again: createWallet({ …, rebuild: true })",
  STORAGE_FOREIGN: "the stored wallet belongs to another key, pool or chain",
  STORAGE_FAILED: "the storage could not be read or written",
  NOTES_TAKEN:
    "other payments of this wallet kept taking the notes that this one had picked; nothing was sent",
  PAYMENT_UNRESOLVED:
    "a payment that the service refused may still be executed, and this one would not exclude it",
  EXECUTED_AFTER_REFUSAL:
    "a payment that the service had refused was executed after all; nothing was sent now",
  DEPOSIT_NOT_EXECUTED: "the depositor's transaction was mined, but the pool did not execute the deposit",
  OUTCOME_UNKNOWN: "no answer to the payment; it may still happen until its deadline",
  TICKET_FAILED: "the transaction ended without being executed",
  SIGNER_FAILED: "the depositor's signer did not do what it was asked",
  WALLET_CLOSED: "the wallet was closed",
  TIMED_OUT: "it did not happen in the time allowed",
} as const;
export type ClientErrorCode = keyof typeof CLIENT_ERRORS;

export class ClientError extends Error {
  override readonly name = "ClientError";
  readonly code: ClientErrorCode;

  constructor(code: ClientErrorCode, detail?: string, options?: ErrorOptions) {
    super(`${code}: ${CLIENT_ERRORS[code]}${detail === undefined ? "" : ` (${detail})`}`, options);
    this.code = code;
  }
}

/**
 * Whether the service, or this library, said just that. By name and not by class: what is loaded later may have come with
 * a copy of this file of its own.
 */
/** By its name: a part of the library that is loaded late may be another copy of this file. */
export function isProblem(error: unknown): boolean {
  return error instanceof Error && error.name === "ApiProblem";
}

export function hasCode(error: unknown, code: ErrorCode | ClientErrorCode): boolean {
  if (!(error instanceof Error) || !["ApiProblem", "ClientError"].includes(error.name)) return false;
  return (error as { readonly code?: unknown }).code === code;
}

/** Said of this try alone, before anything is taken: it is the same request's next try that may be. */
const NOT_NOW: readonly ErrorCode[] = ["ENCLAVE_UNAVAILABLE", "QUEUE_FULL", "RATE_LIMITED"];

/** Whether the service says no to the request, however often it was sent under its idempotency key. */
export function isNo(error: unknown): boolean {
  if (!(error instanceof ApiProblem)) return false;
  return error.status < 500 && error.status !== 429 && error.code !== "IDEMPOTENCY_IN_PROGRESS";
}

/** Whether the service says that it has not taken the try that it answers. */
export function isNotTaken(error: unknown): boolean {
  return isNo(error) || (error instanceof ApiProblem && NOT_NOW.includes(error.code));
}

/** For code of the application's: what it throws is told under a code of ours. */
export async function underCode<T>(
  code: ClientErrorCode,
  detail: string | undefined,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    throw cause instanceof ClientError ? cause : new ClientError(code, detail, { cause });
  }
}
