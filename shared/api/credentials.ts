/** Sessions and who a credential belongs to. */
import * as z from "./zod.ts";
import { address, amount, bps, count, unixSeconds } from "./values.ts";

export const permission = z.enum(["read", "write"]).meta({
  description: "What a session may do; an API key may do both",
  "x-enumDescriptions": {
    read: "Every GET, and POST /swap/quote",
    write: "POST of /sequence/*, /attest/*, /relay and /bridge/*",
  },
});
export type Permission = z.infer<typeof permission>;

export const permissions = z
  .array(permission)
  .min(1)
  .max(2)
  .refine((list) => new Set(list).size === list.length, "each permission once")
  .describe("Permissions of the session, each once");

const ttlSecs = z.int().min(60).max(3600).describe("How long the session lasts, seconds, 60 to 3,600");
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
      .describe(
        "The developer's own identifier of the signed-in user, 1 to 256 printable characters: limits, tickets and revocation are by it",
      ),
    perms: permissions,
    ttl_secs: ttlSecs,
  })
  .meta({
    id: "SessionRequest",
    description: "A session for one user of the developer",
    examples: [{ sub: "user-1", perms: ["read", "write"], ttl_secs: 900 }],
  });

export const sessionResponse = z
  .object({
    token: z
      .string()
      .max(MAX_SESSION_TOKEN)
      .regex(/^sst_/, "begins with sst_")
      .describe("The session token: `Authorization: Bearer <token>`. A secret, shown this once"),
    exp: unixSeconds.describe("When it ends, Unix seconds; afterwards requests get 401 SESSION_EXPIRED"),
    sub: z
      .string()
      .describe("Whose it is: the `sub` of the request; after an exchange `<app_id>:<sub at the provider>`"),
    perms: permissions,
  })
  .meta({ id: "SessionResponse", description: "A session token and what it allows" });
export type SessionResponse = z.infer<typeof sessionResponse>;

export const exchangeRequest = z
  .strictObject({
    app_id: z
      .string()
      .min(1)
      .max(64)
      .describe("Id of the app, `app_…`, as it was registered with the operator"),
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
    description: "A session for who holds an access token of a registered identity provider",
    examples: [{ app_id: "app_shop", access_token: "eyJhbGciOi…", perms: ["read"] }],
  });
export type ExchangeRequest = z.input<typeof exchangeRequest>;

export const feeOperation = z.enum(["transfer", "swap", "deposit", "withdraw"]).meta({
  description: "What the rule is for; it also says which amount counts",
  "x-enumDescriptions": {
    transfer: "spend and spend9 with amountOut 0; of the recipient's note",
    swap: "private-swap; of the gross amount that the user gives up",
    deposit: "deposit-shield; of amountIn",
    withdraw: "spend and spend9 with an amountOut; of amountOut",
  },
});

const feePart = z.object({
  flat: amount.describe("The flat part, in the asset's smallest units"),
  bps: bps.describe("The proportional part, in basis points (1/10,000) of the amount, rounded down"),
  sink: z.string().meta({ description: "Shielded address that the fee note pays" }),
  enforced: z.boolean().meta({
    description: "False where the service cannot see the amount and the client library applies the rule",
  }),
});

/** The caller's effective rules: fee = flat + floor(amount × bps / 10,000), each part to its own sink. */
export const feeRules = z.object({
  asset: address.describe("Token that the rule is for, and in which the fee is paid"),
  operation: feeOperation,
  service: feePart.nullable().describe("The service's part; null: none"),
  developer: feePart.nullable().describe("The developer's part; null: none"),
  valid_until: z
    .string()
    .describe("RFC 3339: until then these rules, or cheaper ones, are taken; ask again afterwards"),
});
export type FeeRules = z.infer<typeof feeRules>;

export const whoami = z
  .object({
    kind: z.enum(["api_key", "session"]).meta({
      description: "What credential the request carried",
      "x-enumDescriptions": { api_key: "An API key, in X-API-Key", session: "A session token" },
    }),
    developer: z
      .object({
        id: z.string().describe("The developer's id with this service"),
        name: z.string().describe("The developer's name, as the operator registered it"),
      })
      .describe("The developer the credential belongs to"),
    session: z
      .object({
        sub: z.string().describe("Whose session it is"),
        perms: permissions,
        exp: unixSeconds.describe("When it ends, Unix seconds"),
      })
      .optional()
      .describe("With a session token only"),
    limits: z
      .array(
        z.object({
          policy: z
            .string()
            .describe("`key-minute`, `key-day` or `session-minute`; new ones may come. See Limits"),
          quota: count.describe("Requests that a window may hold"),
          window_secs: count.describe("Length of the sliding window, seconds"),
          remaining: count.describe("Requests left now, this one counted"),
          reset: count.describe("Seconds until the oldest counted request leaves the window"),
        }),
      )
      .describe("Every limit that this caller is counted by, as it stands"),
    fees: z.array(feeRules).describe("One entry for each asset and operation"),
  })
  .meta({ id: "WhoAmI", description: "The caller, as the service sees it" });
export type WhoAmI = z.infer<typeof whoami>;
