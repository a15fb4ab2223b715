/** What whoever meets an error can do: for the document, which says the same of every operation. */
import type { ErrorCode } from "../errors.ts";

const SAME_AGAIN = "Send the same request again after `Retry-After` seconds, with the same Idempotency-Key";

export const REMEDIES: Readonly<Record<ErrorCode, string>> = {
  INVALID_REQUEST:
    "Correct the fields that `errors` names; a corrected body needs an Idempotency-Key of its own",
  UNSUPPORTED_VERSION: "Leave `API-Version` out, or send the one of this document",
  MISSING_CREDENTIAL: "Send `X-API-Key` (servers) or `Authorization: Bearer` (everybody else)",
  INVALID_CREDENTIAL: "Sign in again; with an API key, ask the developer or operator whether it was revoked",
  SESSION_EXPIRED: "Get a new session token from the developer's server, and send the request again",
  FORBIDDEN:
    "Use a credential that may do this. From a browser: the page's origin must be registered for the developer, and an API key is never taken",
  SWAPS_DISABLED: "Use an instance whose `features.swaps` in GET /info is true",
  FEATURE_DISABLED: "Use an instance whose `features` in GET /info have it",
  NOT_FOUND: "Correct the path",
  TICKET_UNKNOWN:
    "Look for it with the credential that made it, by its statement hash; if there is none, the payment was never accepted",
  APP_UNKNOWN: "Correct `app_id`, or have the app registered by the operator",
  BRIDGE_UNKNOWN: "Ask with the credential that made the request, by its id or any of its addresses",
  METHOD_NOT_ALLOWED: "Use a method that `Allow` names",
  NOT_ACCEPTABLE: "Accept `application/json`, or the other type that the operation has",
  PRECONDITION_FAILED: "Ask again without `If-Match`",
  BODY_TOO_LARGE: "Send no more than `limits.body_bytes` of GET /info",
  UNSUPPORTED_MEDIA_TYPE: "Send `Content-Type: application/json`",
  NULLIFIER_SPENT:
    "Read the stream again: the note is gone. Pay from others. It may be this very payment, already executed",
  NULLIFIER_PENDING:
    "Wait for the other ticket to end. If it is your own, ask for it by its statement hash; else pay from other notes",
  BRIDGE_STATE: "Ask GET /bridge/status: it says what the request waits for",
  IDEMPOTENCY_IN_PROGRESS: SAME_AGAIN,
  IDEMPOTENCY_MISMATCH: "Draw a new Idempotency-Key: another body is another request",
  PROOF_INVALID:
    "Compare public signals, kind and circuit hashes with GET /info, and make the proof anew. Many of them in a minute put a user off",
  ROOT_UNKNOWN:
    "Take the newest root, with paths of its tree, and prove again: another statement, another Idempotency-Key",
  CONTEXT_MISMATCH:
    "`context` must be the hash of exactly this chain, pool, kind, deadline and ext (see Building a request); prove again",
  FEE_MISSING: "Read GET /whoami, make the fee's note an output, and open it in `fees`",
  FEE_TOO_LOW: "Read GET /whoami again: fees have changed. Show the user the new fee, then prove again",
  AUTHORIZATION_INVALID:
    "The depositor signs EIP-3009's ReceiveWithAuthorization over these very terms, with the statement hash as nonce",
  ATTESTATION_INVALID: "Ask /attest anew: signers have changed, or there are fewer than `threshold`",
  AMOUNT_TOO_SMALL: "Take at least `limits.minimums` of GET /info",
  ASSET_UNSUPPORTED: "Take a token of `assets` in GET /info",
  ROUTE_UNAVAILABLE: "Try again in a while, with less, or between other tokens",
  ACCOUNT_UNKNOWN: "Open the account at the exchange first, or correct it",
  BRIDGES_FULL: "Use an address that is open already, or wait until one is no longer watched",
  RATE_LIMITED: "Wait `Retry-After` seconds; `policy` says which limit it was (see Limits)",
  INTERNAL: `${SAME_AGAIN}; if it stays, tell the operator the \`request_id\``,
  ENCLAVE_UNAVAILABLE: SAME_AGAIN,
  STORE_UNAVAILABLE: `${SAME_AGAIN}. Whether it was accepted, GET /sequence/ticket/{statement hash} tells`,
  PRICE_UNAVAILABLE: SAME_AGAIN,
  CHAIN_UNAVAILABLE: SAME_AGAIN,
  VENUE_UNAVAILABLE: SAME_AGAIN,
  QUEUE_FULL: SAME_AGAIN,
};
