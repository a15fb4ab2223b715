/** What an operator sees, and the few changes that the page may make. What is dangerous comes as an instruction to sign elsewhere. */
import * as z from "../../../shared/api/zod.ts";
import { amount, timestamp } from "../../../shared/api/values.ts";
import { feeOperation } from "../../../shared/api/credentials.ts";
import { appRequest, app } from "./developer.ts";
import { developerId, givenName, instruction, maybeTime, role } from "./values.ts";

const state = z.enum(["ok", "degraded", "down", "unknown"]);
export type PartState = z.infer<typeof state>;

/** Every part in one view. `unknown`: it could not be asked, which is said in `detail`. */
export const operatorHealth = z.object({
  /** The worst of all parts. */
  state,
  at: timestamp,
  parts: z.array(
    z.object({
      /** `proxy 1`, `store`, `chain`, `watcher` … */
      name: z.string(),
      state,
      detail: z.string().nullable(),
      age_ms: z.int().nullable(),
      /** Parts that this one reports on: checks of a proxy's /ready. */
      checks: z.array(
        z.object({ name: z.string(), state, detail: z.string().nullable(), age_ms: z.int().nullable() }),
      ),
      /** A few numbers of /metrics, by Prometheus name. */
      figures: z.array(z.object({ name: z.string(), value: z.number() })),
    }),
  ),
  warnings: z.array(z.string()),
});
export type OperatorHealth = z.infer<typeof operatorHealth>;

export const limitNumbers = z.object({
  session_per_minute: z.int(),
  key_per_minute: z.int(),
  key_per_day: z.int(),
});
export const developerRow = z.object({
  id: z.string(),
  name: z.string(),
  created_at: timestamp,
  disabled_at: maybeTime,
  /** In force. */
  limits: limitNumbers,
  /** Those of them that are this developer's own and not the instance's default. */
  raised: z.array(z.enum(["session_per_minute", "key_per_minute", "key_per_day"])),
  live_keys: z.int(),
  accounts: z.int(),
});
export type DeveloperRow = z.infer<typeof developerRow>;
export const developers = z.object({ developers: z.array(developerRow), defaults: limitNumbers });
export type Developers = z.infer<typeof developers>;
/** The id is chosen at random where none is given; TAKEN where it is. */
export const addDeveloperRequest = z.strictObject({ name: givenName, id: developerId.optional() });
const limitNumber = z.int().min(0).max(100_000_000);
/** Null: the instance's default. Absent: as it is. */
export const limitsRequest = z.strictObject({
  session_per_minute: limitNumber.nullable().optional(),
  key_per_minute: limitNumber.nullable().optional(),
  key_per_day: limitNumber.nullable().optional(),
});

export const invitation = z.object({
  id: z.string(),
  purpose: z.enum(["sign-up", "recovery"]),
  role,
  developer_id: z.string().nullable(),
  /** Of a recovery. */
  account_id: z.string().nullable(),
  created_at: timestamp,
  expires_at: timestamp,
  /** `void`: of a recovery, whose account was closed or was recovered by another since. */
  state: z.enum(["open", "used", "cancelled", "expired", "void"]),
});
export type InvitationRow = z.infer<typeof invitation>;
export const invitations = z.object({ invitations: z.array(invitation) });
const hours = z
  .int()
  .min(1)
  .max(24 * 14)
  .default(72);
export const createInvitationRequest = z.discriminatedUnion("for", [
  z.strictObject({ for: z.literal("developer"), developer_id: developerId, hours }),
  z.strictObject({ for: z.literal("operator"), hours }),
  /** New passkeys for an account; its old ones and its sessions end when it is used. */
  z.strictObject({ for: z.literal("recovery"), account_id: z.uuid(), hours }),
]);
/** `link` is shown this once. */
export const createdInvitation = z.object({ link: z.string(), invitation });
export type CreatedInvitation = z.infer<typeof createdInvitation>;

export const account = z.object({
  id: z.string(),
  name: z.string(),
  role,
  developer_id: z.string().nullable(),
  created_at: timestamp,
  closed_at: maybeTime,
  passkeys: z.int(),
  sessions: z.int(),
});
export const accounts = z.object({ accounts: z.array(account) });
export type Accounts = z.infer<typeof accounts>;

export const operatorApps = z.object({
  apps: z.array(app.extend({ developer_id: z.string() })),
  /** Pending ones first. */
  requests: z.array(appRequest.extend({ developer_id: z.string(), developer_name: z.string() })),
});
export type OperatorApps = z.infer<typeof operatorApps>;
/** The host of the key set, typed by the operator, so that nobody approves `https://good.example@other.example/` by its start. */
export const approveAppRequest = z.strictObject({ jwks_host: z.string().trim().min(1).max(300) });
export const refuseAppRequest = z.strictObject({ reason: givenName });

export const operatorFees = z.object({
  service_address: z.string().nullable(),
  schedule: z.array(
    z.object({
      asset: z.string(),
      operation: feeOperation,
      /** Null while it is in dollars and there is no price. */
      flat: amount.nullable(),
      /** Dollars with 8 decimals, as the setting has them; null where it is in smallest units. */
      usd: z.string().nullable(),
      bps: z.int(),
    }),
  ),
  rules: z.array(
    z.object({
      developer_id: z.string(),
      asset: z.string(),
      operation: feeOperation,
      flat: amount,
      bps: z.int(),
    }),
  ),
  /** The schedule is a setting of the proxies: how it is changed. */
  change: instruction,
});
export type OperatorFees = z.infer<typeof operatorFees>;

export const admission = z.object({
  role: z.enum(["image", "signer", "asset", "executor"]),
  subject: z.string(),
  standing: z.enum(["proposed", "admitted", "withdrawn", "removed", "expired"]),
  /** Anybody may admit it from then on; it can be withdrawn until it is admitted. Null: it is no proposal. */
  withdrawable_until: maybeTime,
  expires_at: maybeTime,
  instructions: z.array(instruction),
});
export const enclaves = z.object({
  threshold: z.int().nullable(),
  /** Signers of the pool, admitted or proposed, as its events tell them. `is_accepted`: the pool takes their attestations. */
  running: z.array(
    z.object({
      signer: z.string(),
      is_accepted: z.boolean(),
      measurements: z.record(z.string(), z.string()),
    }),
  ),
  /** As the pool's events tell it, pending proposals first. */
  admissions: z.array(admission),
  /** The chain's clock. */
  at: timestamp,
  owner: z.string().nullable(),
  instructions: z.array(instruction),
});
export type Enclaves = z.infer<typeof enclaves>;

export const queue = z.object({
  waiting: z.int(),
  open: z.array(
    z.object({
      ticket_id: z.string(),
      developer_id: z.string(),
      kind: z.string(),
      state: z.string(),
      created_at: timestamp,
      error_code: z.string().nullable(),
      tx_hash: z.string().nullable(),
    }),
  ),
  gas_wallet: z.object({
    /** Null where the operator named none to the dashboard. */
    address: z.string().nullable(),
    /** Wei; null where the chain could not be asked. */
    balance: z.string().nullable(),
  }),
  /** What holds the queue, as a proxy's /ready says. */
  blocked_by: z.string().nullable(),
});
export type QueueView = z.infer<typeof queue>;

export const operatorBridges = z.object({
  bridges: z.array(
    z.object({
      id: z.string(),
      venue: z.string(),
      direction: z.string(),
      developer_id: z.string(),
      address: z.string(),
      created_at: timestamp,
      is_refused: z.boolean(),
      /** Why somebody should look at it; null: nothing is known against it. */
      attention: z.string().nullable(),
      instructions: z.array(instruction),
    }),
  ),
});
export type OperatorBridges = z.infer<typeof operatorBridges>;

export const alarms = z.object({
  /** `not-configured`: no file of the watcher is named. `silent`: it has not written for longer than `silent_after_secs`. */
  watcher: z.enum(["watching", "silent", "not-configured", "unreadable"]),
  last_seen_at: maybeTime,
  block: z.int().nullable(),
  silent_after_secs: z.int(),
  /** Those that stand, newest first. */
  alarms: z.array(
    z.object({
      code: z.string(),
      /** What this code accuses. */
      meaning: z.string(),
      block: z.int(),
      tx_hash: z.string().nullable(),
      detail: z.string(),
      signers: z.array(z.string()),
    }),
  ),
});
export type Alarms = z.infer<typeof alarms>;
