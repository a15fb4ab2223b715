/** Sessions and who a credential belongs to. */
import * as z from "zod";
import { address, amount, unixSeconds } from "./values.ts";

export const permission = z.enum(["read", "write"]);
export type Permission = z.infer<typeof permission>;

export const permissions = z
  .array(permission)
  .min(1)
  .max(2)
  .refine((list) => new Set(list).size === list.length, "each permission once");

const ttlSecs = z.int().min(60).max(3600);
export const PRINTABLE = /^[^\p{C}\p{Zl}\p{Zp}]*$/u;

/** What every id of an identity-provider app looks like; its users' `sub` is `<app id>:<sub at the provider>`. */
export const APP_ID = /^app_[a-z0-9]{1,32}$/;
/** Most characters of such a `sub`. */
export const MAX_EXCHANGED_SUB = 512;

/** Most bytes of a session token's payload: the longest `sub` in UTF-8, and the other claims. */
const MAX_PAYLOAD_BYTES = 3 * MAX_EXCHANGED_SUB + 256;
/** Most characters of a session token: prefix and key id, payload in base64url, MAC. The stream takes it in its query. */
export const MAX_SESSION_TOKEN = 20 + 1 + Math.ceil((MAX_PAYLOAD_BYTES * 4) / 3) + 1 + 43;

export const sessionRequest = z
  .strictObject({
    sub: z
      .string()
      .min(1)
      .max(256)
      .regex(PRINTABLE, "printable characters only")
      // A user who may choose a name at the developer's must not become a user of the developer's app.
      .regex(/^(?!app_[a-z0-9]{1,32}:)/, "app_…: is kept for users of identity-provider apps")
      .meta({ description: "The developer's identifier of the signed-in user" }),
    perms: permissions,
    ttl_secs: ttlSecs,
  })
  .meta({ id: "SessionRequest", examples: [{ sub: "user-1", perms: ["read", "write"], ttl_secs: 900 }] });

export const sessionResponse = z
  .object({
    token: z.string().max(MAX_SESSION_TOKEN).regex(/^sst_/, "begins with sst_"),
    exp: unixSeconds,
    sub: z.string(),
    perms: permissions,
  })
  .meta({ id: "SessionResponse" });
export type SessionResponse = z.infer<typeof sessionResponse>;

export const exchangeRequest = z
  .strictObject({
    app_id: z
      .string()
      .min(1)
      .max(64)
      .meta({ description: "The app, as it was registered with the operator" }),
    access_token: z.string().min(1).max(16_384).meta({
      description: "A JWT access token of the app's identity provider (RFC 9068); an ID token is refused",
    }),
    perms: permissions
      .optional()
      .meta({ description: "Default: all that the app may have; more than that is refused" }),
    ttl_secs: ttlSecs.optional().meta({
      description: "Default and bound: the app's own. The session never outlives the access token",
    }),
  })
  .meta({
    id: "ExchangeRequest",
    examples: [{ app_id: "app_shop", access_token: "eyJhbGciOi…", perms: ["read"] }],
  });
export type ExchangeRequest = z.input<typeof exchangeRequest>;

export const feeOperation = z.enum(["transfer", "swap", "deposit", "withdraw"]);

const feePart = z.object({
  flat: amount,
  bps: z.int().min(0).max(10_000),
  sink: z.string().meta({ description: "Shielded address that the fee note pays" }),
  enforced: z.boolean().meta({
    description: "False where the service cannot see the amount and the client library applies the rule",
  }),
});

/** The caller's effective rules: fee = flat + floor(amount × bps / 10,000), each part to its own sink. */
export const feeRules = z.object({
  asset: address,
  operation: feeOperation,
  service: feePart.nullable(),
  developer: feePart.nullable(),
  valid_until: z.string(),
});
export type FeeRules = z.infer<typeof feeRules>;

export const whoami = z
  .object({
    kind: z.enum(["api_key", "session"]),
    developer: z.object({ id: z.string(), name: z.string() }),
    session: z.object({ sub: z.string(), perms: permissions, exp: unixSeconds }).optional(),
    limits: z.array(
      z.object({
        policy: z.string(),
        quota: z.int(),
        window_secs: z.int(),
        remaining: z.int(),
        reset: z.int().meta({ description: "Seconds until the oldest counted request leaves the window" }),
      }),
    ),
    fees: z.array(feeRules),
  })
  .meta({ id: "WhoAmI" });
export type WhoAmI = z.infer<typeof whoami>;
