/** Accounts of people: invitations, sign-up and sign-in with passkeys, their sessions, and what an account sees of itself. */
import * as z from "../../../shared/api/zod.ts";
import { timestamp } from "../../../shared/api/values.ts";
import { authenticationResponse, creationOptions, registrationResponse, requestOptions } from "./passkeys.ts";
import { givenName, maybeTime, role } from "./values.ts";

/** `inv_` + id + `_` + secret. The link that is sent is `<origin>/invitation#<token>`: a fragment reaches no server and no log. */
export const invitationToken = z
  .string()
  .max(80)
  .regex(/^inv_[0-9a-f]{16}_[A-Za-z0-9_-]{43}$/, "this is no whole invitation");

export const invitationRequest = z.strictObject({ token: invitationToken });

/** What an invitation is for. Looking at it does not use it. */
export const invitationView = z.object({
  /** `sign-up`: a new account. `recovery`: new passkeys for one that is there; its old ones and its sessions end. */
  purpose: z.enum(["sign-up", "recovery"]),
  role,
  /** Whose developer the account will act for; null for an operator's. */
  developer: z.object({ id: z.string(), name: z.string() }).nullable(),
  /** Of the account that is recovered; null for a new one. */
  account_name: z.string().nullable(),
  expires_at: timestamp,
});
export type InvitationView = z.infer<typeof invitationView>;

/** `account_name` names a new account (in passkey lists of the browser, too); for a recovery it is not looked at. */
export const signUpOptionsRequest = z.strictObject({ token: invitationToken, account_name: givenName });
export const signUpRequest = z.strictObject({
  token: invitationToken,
  account_name: givenName,
  /** How its owner tells this passkey from others: "my laptop". */
  passkey_name: givenName,
  response: registrationResponse,
});
export const creationAnswer = z.object({ options: creationOptions });
export const requestAnswer = z.object({ options: requestOptions });
export const signInRequest = z.strictObject({ response: authenticationResponse });

/** Who is signed in, and what the page may show. */
export const me = z.object({
  account: z.object({ id: z.string(), name: z.string(), role, created_at: timestamp }),
  /** Null for an operator. */
  developer: z
    .object({ id: z.string(), name: z.string(), created_at: timestamp, disabled_at: maybeTime })
    .nullable(),
  session: z.object({
    id: z.string(),
    /** Without a request until then it ends. */
    idle_ends_at: timestamp,
    /** It ends then, whatever happens. */
    ends_at: timestamp,
    /** Dangerous changes need no further passkey check until then; null when they do now. */
    fresh_until: maybeTime,
  }),
  instance: z.object({
    network: z.string(),
    chain_id: z.int(),
    pool: z.string(),
    /** URL of the proxy's API for developers; null where the operator named none. */
    api_url: z.string().nullable(),
    /** `https://explorer.example/tx/{tx}`; null where the operator named none. */
    explorer_tx_url: z.string().nullable(),
    address_prefix: z.string(),
    assets: z.array(z.object({ address: z.string(), symbol: z.string(), decimals: z.int() })),
  }),
});
export type Me = z.infer<typeof me>;

export const freshAnswer = z.object({ fresh_until: timestamp });

export const accountSession = z.object({
  id: z.string(),
  is_current: z.boolean(),
  created_at: timestamp,
  last_seen_at: timestamp,
  ends_at: timestamp,
  /** As the browser called itself when it signed in, shortened. */
  user_agent: z.string(),
});
export const accountSessions = z.object({ sessions: z.array(accountSession) });
export type AccountSessions = z.infer<typeof accountSessions>;

export const passkey = z.object({
  /** Of the record, for the paths; not the credential's own id. */
  id: z.string(),
  name: z.string(),
  created_at: timestamp,
  last_used_at: maybeTime,
  /** Whether its provider may copy it to other devices. */
  is_synced: z.boolean(),
});
export const passkeys = z.object({ passkeys: z.array(passkey) });
export type Passkeys = z.infer<typeof passkeys>;
export const addPasskeyRequest = z.strictObject({ name: givenName, response: registrationResponse });
export const renameRequest = z.strictObject({ name: givenName });
