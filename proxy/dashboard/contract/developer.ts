/** What a developer sees and changes: keys, origins, identity-provider apps, limits with usage, sessions of users. */
import * as z from "../../../shared/api/zod.ts";
import { permissions, PRINTABLE } from "../../../shared/api/credentials.ts";
import { timestamp } from "../../../shared/api/values.ts";
import { clientId, givenName, maybeTime } from "./values.ts";

/** A sliding window. `used` is null where windows are counted inside the proxy alone (no limits Redis). */
export const limitStanding = z.object({
  /** `session-minute` (each user), `key-minute`, `key-day` (all keys together). */
  policy: z.string(),
  quota: z.int(),
  window_secs: z.int(),
  used: z.int().nullable(),
});

export const overview = z.object({
  developer: z.object({ id: z.string(), name: z.string(), created_at: timestamp, disabled_at: maybeTime }),
  limits: z.array(limitStanding),
  live_keys: z.int(),
  origins: z.int(),
  apps: z.int(),
  fee_rules: z.int(),
  open_tickets: z.int(),
});
export type Overview = z.infer<typeof overview>;

// Keys

export const apiKey = z.object({
  /** 16 hex digits; the key's text begins with `ck_<id>_`. */
  id: z.string(),
  name: z.string(),
  created_at: timestamp,
  /** To the minute. */
  last_used_at: maybeTime,
  revoked_at: maybeTime,
});
export type ApiKeyView = z.infer<typeof apiKey>;
export const apiKeys = z.object({ keys: z.array(apiKey) });
export const createKeyRequest = z.strictObject({ client_id: clientId, name: givenName });
/**
 * `key` is shown this once. The same session may repeat the request with its `client_id` within a minute (a double
 * click, a lost answer) and gets the same key; later, or elsewhere, it is KEY_SHOWN_ALREADY.
 */
export const createdKey = z.object({ key: z.string(), record: apiKey });
export type CreatedKey = z.infer<typeof createdKey>;
/** What stops when this key is revoked. Sums are of the developer: the service does not count by key. */
export const keyImpact = z.object({
  key: apiKey,
  is_last_live_key: z.boolean(),
  /** Requests of the developer, whatever the credential, today and yesterday (UTC days). */
  requests_since_yesterday: z.int(),
  /** Session tokens that were minted stay good until they end; revoke them under Sessions. */
  sessions_go_on: z.literal(true),
  /** Streams opened with the key end within so many seconds. */
  streams_end_within_secs: z.int(),
});
export type KeyImpact = z.infer<typeof keyImpact>;

// Origins

/** As a browser sends it: scheme, host, and port where it is not the usual one. */
export const originText = z
  .string()
  .trim()
  .max(300)
  .refine((text) => URL.canParse(text) && new URL(text).origin === text && /^https?:[^*]*$/.test(text), {
    error: "an origin looks like https://app.example, without a path, a slash at its end or a star",
  });
export const origins = z.object({ origins: z.array(z.string()) });
export type Origins = z.infer<typeof origins>;
export const originRequest = z.strictObject({ origin: originText });
/** Whatever somebody typed or copied from the address bar. */
export const originTestRequest = z.strictObject({ origin: z.string().trim().min(1).max(2000) });
export const originTest = z.object({
  /** Whether a page of this origin gets an answer that it can read. */
  is_let_in: z.boolean(),
  reason: z.enum([
    /** Registered: preflight and request pass, with sessions of this developer. */
    "registered",
    /** No page: a server sends no Origin, and needs a session or key only. */
    "no-origin",
    /** What was typed is no origin, but its origin is registered. */
    "registered-without-path",
    /** The preflight passes, since another developer registered it, and the request with your sessions is refused. */
    "others-only",
    "not-registered",
    "malformed",
  ]),
  /** For people. */
  detail: z.string(),
  /** What a browser on that page would send as `Origin`; null where nothing can be made of it. */
  browser_sends: z.string().nullable(),
});
export type OriginTest = z.infer<typeof originTest>;

// Identity-provider apps

export const ALGORITHMS = ["RS256", "PS256", "ES256", "EdDSA"] as const;
const text = z
  .string()
  .trim()
  .min(1)
  .max(512)
  .regex(/^[\x21-\x7e]+$/, "printable characters without spaces");

export const appTerms = {
  /** `iss`, character by character. */
  issuer: text,
  /** `aud`, or one of several. */
  audience: text,
  jwks_url: text,
  algorithms: z.array(z.enum(ALGORITHMS)).min(1).max(4),
  /** `name=value` of a claim that only access tokens have; null: tokens say `typ: at+jwt`. */
  access_claim: z.string().max(700).nullable(),
  sub_claim: z.string().min(1).max(128),
  perms: permissions,
  max_ttl_secs: z.int().min(60).max(3600),
};
export const app = z.object({ id: z.string(), created_at: timestamp, jwks_host: z.string(), ...appTerms });
export type AppView = z.infer<typeof app>;
export const appRequest = z.object({
  id: z.string(),
  created_at: timestamp,
  state: z.enum(["pending", "approved", "refused", "withdrawn"]),
  decided_at: maybeTime,
  /** Why it was refused, in the operator's words. */
  reason: z.string().nullable(),
  /** Of the app that came of it. */
  app_id: z.string().nullable(),
  ...appTerms,
});
export type AppRequestView = z.infer<typeof appRequest>;
export const apps = z.object({ apps: z.array(app), requests: z.array(appRequest) });
export type Apps = z.infer<typeof apps>;
export const requestAppRequest = z.strictObject({
  client_id: clientId,
  ...appTerms,
  algorithms: appTerms.algorithms.default([...ALGORITHMS]),
  access_claim: appTerms.access_claim.default(null),
  sub_claim: appTerms.sub_claim.default("sub"),
  max_ttl_secs: appTerms.max_ttl_secs.default(900),
});

// Sessions of users

export const sessions = z.object({
  /** How often all sessions were revoked, and one more. */
  epoch: z.int(),
  felt_within_secs: z.int(),
  /** The longest that a session lives by itself. */
  longest_ttl_secs: z.int(),
});
/** Without `sub`: every user's. With it: this user's, whether there are any is not known. */
export const revokeSessionsRequest = z.strictObject({
  sub: z.string().min(1).max(512).regex(PRINTABLE, "printable characters only").optional(),
});
