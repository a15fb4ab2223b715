/** Every code a client can see, with its HTTP status and whether a repetition helps. A new row is an API change. */
import * as z from "zod";

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
