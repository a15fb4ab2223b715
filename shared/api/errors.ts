/** Every code a client can see, with its HTTP status and whether a repetition helps. A new row is an API change. */
import * as z from "./zod.ts";

interface Refusal {
  readonly status: number;
  /** Whether the same request may succeed later. */
  readonly retryable: boolean;
  readonly title: string;
}

const final = (status: number, title: string): Refusal => ({ status, retryable: false, title });
const passing = (status: number, title: string): Refusal => ({ status, retryable: true, title });

export const ERRORS = {
  INVALID_REQUEST: final(400, "The request does not have the documented form"),
  UNSUPPORTED_VERSION: final(400, "This API-Version is unknown"),
  MISSING_CREDENTIAL: final(401, "A credential is needed"),
  INVALID_CREDENTIAL: final(401, "The credential is malformed, forged or revoked"),
  SESSION_EXPIRED: passing(401, "The session token has expired"),
  FORBIDDEN: final(403, "The credential does not allow this"),
  SWAPS_DISABLED: final(403, "Swaps are off on this instance"),
  FEATURE_DISABLED: final(403, "This feature is off on this instance"),
  NOT_FOUND: final(404, "There is nothing at this path"),
  TICKET_UNKNOWN: final(404, "No ticket of yours has this id or statement"),
  APP_UNKNOWN: final(404, "No identity-provider app has this id"),
  BRIDGE_UNKNOWN: final(404, "No bridge request of yours has this id or address"),
  METHOD_NOT_ALLOWED: final(405, "The path exists, but not with this method"),
  NOT_ACCEPTABLE: final(406, "None of the accepted media types can be produced"),
  PRECONDITION_FAILED: final(412, "If-Match names another answer than there is now"),
  BODY_TOO_LARGE: final(413, "The body is larger than allowed"),
  UNSUPPORTED_MEDIA_TYPE: final(415, "The body must be application/json"),
  NULLIFIER_SPENT: final(409, "A note of this transaction is already spent"),
  NULLIFIER_PENDING: final(409, "Another transaction that uses this note is under way"),
  BRIDGE_STATE: final(409, "The bridge request does not wait for a signature"),
  IDEMPOTENCY_IN_PROGRESS: passing(409, "A request with this key is still running"),
  IDEMPOTENCY_MISMATCH: final(422, "This idempotency key belongs to another body"),
  PROOF_INVALID: final(422, "The proof does not verify"),
  ROOT_UNKNOWN: passing(422, "The pool does not know this Merkle root"),
  CONTEXT_MISMATCH: final(422, "The proof is bound to other terms"),
  FEE_MISSING: final(422, "A required fee note was not opened"),
  FEE_TOO_LOW: final(422, "A fee note is below the fee in force"),
  AUTHORIZATION_INVALID: final(422, "The depositor did not sign this transfer"),
  ATTESTATION_INVALID: final(422, "Too few attestations by signers that the pool accepts"),
  AMOUNT_TOO_SMALL: final(422, "The amount is below the minimum"),
  ASSET_UNSUPPORTED: final(422, "The pool does not hold this asset"),
  ROUTE_UNAVAILABLE: passing(422, "There is no swap route at the moment"),
  ACCOUNT_UNKNOWN: final(422, "The exchange knows no such account"),
  BRIDGES_FULL: passing(429, "Too many bridge addresses are open"),
  RATE_LIMITED: passing(429, "Too many requests"),
  INTERNAL: passing(500, "A fault of ours"),
  ENCLAVE_UNAVAILABLE: passing(503, "The enclave is unreachable or busy"),
  STORE_UNAVAILABLE: passing(503, "The store is unreachable"),
  PRICE_UNAVAILABLE: passing(503, "A price that this needs is not known yet"),
  CHAIN_UNAVAILABLE: passing(503, "The chain is unreachable"),
  VENUE_UNAVAILABLE: passing(503, "The venue of this bridge is unreachable or paused"),
  QUEUE_FULL: passing(503, "Too many transactions are waiting"),
} satisfies Record<string, Refusal>;

export type ErrorCode = keyof typeof ERRORS;
export const ERROR_CODES = Object.keys(ERRORS) as [ErrorCode, ...ErrorCode[]];

/** What a ticket can say while it waits and end with. Those of the table above mean the same here. */
export const TICKET_ERROR_CODES = [
  "NULLIFIER_SPENT",
  "ROOT_UNKNOWN",
  "ASSET_UNSUPPORTED",
  "AUTHORIZATION_USED",
  "AUTHORIZATION_EXPIRED",
  "INSUFFICIENT_FUNDS",
  "DEADLINE_PASSED",
  "TRANSFER_REFUSED",
  "SLIPPAGE_EXCEEDED",
  "ROUTE_UNAVAILABLE",
  "REJECTED",
] as const;
export type TicketErrorCode = (typeof TICKET_ERROR_CODES)[number];
/** For the document: what each means, and what its owner can do. */
export const TICKET_ERROR_TEXTS = {
  NULLIFIER_SPENT: "Another statement spent a note of this one. Look at your notes again and pay from others",
  ROOT_UNKNOWN: "The pool does not know the root (any more). Prove again on the newest one",
  ASSET_UNSUPPORTED: "The pool does not take the asset for this now. Withdrawals are always possible",
  AUTHORIZATION_USED:
    "The depositor's authorization was used elsewhere or cancelled. Sign a new deposit, if it was not this one that used it",
  AUTHORIZATION_EXPIRED: "The authorization is past its valid_before. Sign a new deposit",
  INSUFFICIENT_FUNDS:
    "The depositor does not hold the amount. Fund the account; it is tried until the deadline",
  DEADLINE_PASSED: "It was not executed in time. The notes are free: pay again",
  TRANSFER_REFUSED:
    "The token refused the transfer, or the pool lets no more of it out today. It is tried until the deadline",
  SLIPPAGE_EXCEEDED:
    "The swap would bring less than its floor. It is tried until the deadline; or take a lower floor",
  ROUTE_UNAVAILABLE:
    "The venue does not execute the swap. It is tried until the deadline; or take another path",
  REJECTED: "The pool refused the statement for good; `detail` has its reason. Make another one",
} satisfies Record<TicketErrorCode, string>;

/** RFC 9457 problem details, media type application/problem+json. */
export const problem = z
  .object({
    type: z.string().meta({ description: "`about:blank` or a URI reference that names the kind of problem" }),
    title: z.string().describe("What the code means, in words; the same for every occurrence"),
    status: z.int().describe("The HTTP status once more"),
    detail: z.string().describe("What was wrong this time, for people; no program should read it"),
    code: z.enum(ERROR_CODES).meta({
      description: "The machine-readable code; new ones may come. See Errors",
      "x-enumDescriptions": Object.fromEntries(ERROR_CODES.map((each) => [each, ERRORS[each].title])),
    }),
    retryable: z.boolean().describe("Whether the very same request may succeed later"),
    request_id: z.string().describe("Also in X-Request-Id; quote it when you ask the operator"),
    errors: z
      .array(
        z.object({
          path: z.string().describe("The field, such as `ext.ciphertexts[2]`"),
          message: z.string().describe("What is wrong with it"),
        }),
      )
      .optional()
      .meta({ description: "Field errors of INVALID_REQUEST" }),
    policy: z.string().optional().meta({ description: "RATE_LIMITED: name of the limit that was hit" }),
  })
  .meta({ id: "Problem", description: "Every refusal: problem details by RFC 9457" });
export type Problem = z.infer<typeof problem>;
