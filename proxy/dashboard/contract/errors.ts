/** Every code that the dashboard's API answers with, its HTTP status, and words for people. Its bodies are RFC 9457 problem documents. */
import * as z from "../../../shared/api/zod.ts";
import { ERRORS as API_ERRORS } from "../../../shared/api/errors.ts";

const own = (status: number, title: string, retryable = false) => ({ status, title, retryable });

export const DASHBOARD_ERRORS = {
  INVALID_REQUEST: API_ERRORS.INVALID_REQUEST,
  METHOD_NOT_ALLOWED: API_ERRORS.METHOD_NOT_ALLOWED,
  BODY_TOO_LARGE: API_ERRORS.BODY_TOO_LARGE,
  UNSUPPORTED_MEDIA_TYPE: API_ERRORS.UNSUPPORTED_MEDIA_TYPE,
  RATE_LIMITED: API_ERRORS.RATE_LIMITED,
  INTERNAL: API_ERRORS.INTERNAL,
  STORE_UNAVAILABLE: API_ERRORS.STORE_UNAVAILABLE,
  CHAIN_UNAVAILABLE: API_ERRORS.CHAIN_UNAVAILABLE,
  PRICE_UNAVAILABLE: API_ERRORS.PRICE_UNAVAILABLE,
  /** Also for what is there and not yours: a wrong role cannot tell the two apart. */
  NOT_FOUND: own(404, "There is nothing here"),
  NOT_SIGNED_IN: own(401, "Sign in first"),
  SESSION_ENDED: own(401, "Your session has ended; sign in again"),
  /** The page runs POST /api/fresh/options and /api/fresh, then the same request again. */
  FRESH_NEEDED: own(403, "Use your passkey again: this change is asked for twice"),
  CROSS_SITE: own(403, "The request did not come from this dashboard's own page"),
  INVITATION_INVALID: own(422, "This invitation is unknown, used, cancelled or has expired"),
  CHALLENGE_INVALID: own(422, "This passkey request has expired or was used; begin again"),
  PASSKEY_REFUSED: own(422, "The passkey could not be verified"),
  PASSKEY_KNOWN: own(409, "This passkey is registered already"),
  LAST_PASSKEY: own(409, "The last passkey of an account cannot be removed"),
  TOO_MANY: own(409, "There are as many of these as are allowed"),
  TAKEN: own(409, "This name or id is taken"),
  /** The key of this `client_id` was made, and its secret was shown before. */
  KEY_SHOWN_ALREADY: own(409, "This key was made and shown already; revoke it if its text is lost"),
  STATE_CHANGED: own(409, "Somebody has changed this meanwhile; look at it again"),
} as const;

export type DashboardErrorCode = keyof typeof DASHBOARD_ERRORS;
export const DASHBOARD_ERROR_CODES = Object.keys(DASHBOARD_ERRORS) as [
  DashboardErrorCode,
  ...DashboardErrorCode[],
];

/** Media type application/problem+json. `errors`: what is wrong beside which field, by its path in the body (`origin`, `limits.key_per_day`). */
export const dashboardProblem = z.object({
  type: z.string(),
  title: z.string(),
  status: z.int(),
  detail: z.string(),
  code: z.enum(DASHBOARD_ERROR_CODES),
  retryable: z.boolean(),
  request_id: z.string(),
  errors: z.array(z.object({ path: z.string(), message: z.string() })).optional(),
});
export type DashboardProblem = z.infer<typeof dashboardProblem>;
