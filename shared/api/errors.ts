/** Every code a client can see, with its HTTP status and whether the same request may succeed later. A new row is an API change. */
import * as z from "zod";

export const ERRORS = {
  INVALID_REQUEST: { status: 400, retryable: false, title: "The request does not have the documented form" },
  UNSUPPORTED_VERSION: { status: 400, retryable: false, title: "This API-Version is unknown" },
  MISSING_CREDENTIAL: { status: 401, retryable: false, title: "A credential is needed" },
  INVALID_CREDENTIAL: {
    status: 401,
    retryable: false,
    title: "The credential is malformed, forged or revoked",
  },
  SESSION_EXPIRED: { status: 401, retryable: true, title: "The session token has expired" },
  FORBIDDEN: { status: 403, retryable: false, title: "The credential does not allow this" },
  SWAPS_DISABLED: { status: 403, retryable: false, title: "Swaps are off on this instance" },
  FEATURE_DISABLED: { status: 403, retryable: false, title: "This feature is off on this instance" },
  NOT_FOUND: { status: 404, retryable: false, title: "There is nothing at this path" },
  TICKET_UNKNOWN: { status: 404, retryable: false, title: "No ticket of yours has this id or statement" },
  APP_UNKNOWN: { status: 404, retryable: false, title: "No identity-provider app has this id" },
  BRIDGE_UNKNOWN: { status: 404, retryable: false, title: "No bridge request of yours has this id" },
  METHOD_NOT_ALLOWED: { status: 405, retryable: false, title: "The path exists, but not with this method" },
  NOT_ACCEPTABLE: {
    status: 406,
    retryable: false,
    title: "None of the accepted media types can be produced",
  },
  BODY_TOO_LARGE: { status: 413, retryable: false, title: "The body is larger than allowed" },
  UNSUPPORTED_MEDIA_TYPE: { status: 415, retryable: false, title: "The body must be application/json" },
  NULLIFIER_SPENT: { status: 409, retryable: false, title: "A note of this transaction is already spent" },
  NULLIFIER_PENDING: {
    status: 409,
    retryable: false,
    title: "Another transaction that uses this note is under way",
  },
  IDEMPOTENCY_IN_PROGRESS: {
    status: 409,
    retryable: true,
    title: "A request with this key is still running",
  },
  IDEMPOTENCY_MISMATCH: {
    status: 422,
    retryable: false,
    title: "This idempotency key belongs to another body",
  },
  PROOF_INVALID: { status: 422, retryable: false, title: "The proof does not verify" },
  ROOT_UNKNOWN: { status: 422, retryable: true, title: "The pool does not know this Merkle root" },
  CONTEXT_MISMATCH: { status: 422, retryable: false, title: "The proof is bound to other terms" },
  FEE_MISSING: { status: 422, retryable: false, title: "A required fee note was not opened" },
  FEE_TOO_LOW: { status: 422, retryable: false, title: "A fee note is below the fee in force" },
  AUTHORIZATION_INVALID: { status: 422, retryable: false, title: "The depositor did not sign this transfer" },
  ATTESTATION_INVALID: {
    status: 422,
    retryable: false,
    title: "Too few attestations by signers that the pool accepts",
  },
  AMOUNT_TOO_SMALL: { status: 422, retryable: false, title: "The amount is below the minimum" },
  ASSET_UNSUPPORTED: { status: 422, retryable: false, title: "The pool does not hold this asset" },
  ROUTE_UNAVAILABLE: { status: 422, retryable: true, title: "There is no swap route at the moment" },
  RATE_LIMITED: { status: 429, retryable: true, title: "Too many requests" },
  INTERNAL: { status: 500, retryable: true, title: "A fault of ours" },
  ENCLAVE_UNAVAILABLE: { status: 503, retryable: true, title: "The enclave is unreachable or busy" },
  STORE_UNAVAILABLE: { status: 503, retryable: true, title: "The store is unreachable" },
  PRICE_UNAVAILABLE: { status: 503, retryable: true, title: "A price that this needs is not known yet" },
  CHAIN_UNAVAILABLE: { status: 503, retryable: true, title: "The chain is unreachable" },
  QUEUE_FULL: { status: 503, retryable: true, title: "Too many transactions are waiting" },
} as const satisfies Record<string, { status: number; retryable: boolean; title: string }>;

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

/** RFC 9457 problem details, media type application/problem+json. */
export const problem = z
  .object({
    type: z.string().meta({ description: "`about:blank` or a URI reference that names the kind of problem" }),
    title: z.string(),
    status: z.int(),
    detail: z.string(),
    code: z.enum(ERROR_CODES).meta({ description: "The machine-readable code" }),
    retryable: z.boolean(),
    request_id: z.string(),
    errors: z
      .array(z.object({ path: z.string(), message: z.string() }))
      .optional()
      .meta({ description: "Field errors of INVALID_REQUEST" }),
    policy: z.string().optional().meta({ description: "RATE_LIMITED: name of the limit that was hit" }),
  })
  .meta({ id: "Problem" });
export type Problem = z.infer<typeof problem>;
