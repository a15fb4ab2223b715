/** Sessions and who a credential belongs to. */
import { z } from "zod";
import { address, amount, unixSeconds } from "./values.ts";

export const permission = z.enum(["read", "write"]);
export type Permission = z.infer<typeof permission>;

export const permissions = z
  .array(permission)
  .min(1)
  .max(2)
  .refine((list) => new Set(list).size === list.length, "each permission once");

export const sessionRequest = z
  .strictObject({
    sub: z
      .string()
      .min(1)
      .max(256)
      .regex(/^[^\p{C}\p{Zl}\p{Zp}]*$/u, "printable characters only")
      .meta({ description: "The developer's identifier of the signed-in user" }),
    perms: permissions,
    ttl_secs: z.int().min(60).max(3600),
  })
  .meta({ id: "SessionRequest", examples: [{ sub: "user-1", perms: ["read", "write"], ttl_secs: 900 }] });

export const sessionResponse = z
  .object({
    token: z.string().regex(/^sst_/, "begins with sst_"),
    exp: unixSeconds,
    sub: z.string(),
    perms: permissions,
  })
  .meta({ id: "SessionResponse" });
export type SessionResponse = z.infer<typeof sessionResponse>;

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
