/**
 * The dashboard's JSON API as one table: method, path, who may call, shapes of request and answer. The server mounts and
 * guards by it, the page calls by it. All answers are 200 with JSON, refusals are problem documents (./errors.ts).
 *
 * Every request to /api is same-origin and carries the session's cookie by itself; the page reads no token. Every POST
 * has `Content-Type: application/json`, a JSON body (`{}` where it says nothing) and `X-Cloister-Dashboard: 1`.
 *
 * `access`: `none`: signed out or in. `account`: anybody who is signed in. `developer`, `operator`: that role; to the
 * other the path does not exist (404 NOT_FOUND). `isFresh`: FRESH_NEEDED unless the passkey was used a few minutes ago.
 *
 * This table is stable: fields and rows may be added, none is renamed or removed without a word to the page.
 */
import type * as z from "../../../shared/api/zod.ts";
import * as account from "./account.ts";
import * as activity from "./activity.ts";
import * as developer from "./developer.ts";
import * as fees from "./fees.ts";
import * as operator from "./operator.ts";
import { done, nothing, pageQuery } from "./values.ts";

export type DashboardAccess = "none" | "account" | "developer" | "operator";

export interface DashboardEndpoint {
  readonly method: "GET" | "POST";
  /** `{id}` stands for a path segment. */
  readonly path: string;
  readonly access: DashboardAccess;
  readonly isFresh?: true;
  readonly query?: z.ZodType;
  readonly body?: z.ZodType;
  readonly answer: z.ZodType;
}

export const CSRF_HEADER = "X-Cloister-Dashboard";
export const CSRF_VALUE = "1";

const get = <W extends DashboardAccess, A extends z.ZodType>(path: string, access: W, answer: A) =>
  ({ method: "GET", path, access, answer }) as const;
const search = <W extends DashboardAccess, Q extends z.ZodType, A extends z.ZodType>(
  path: string,
  access: W,
  query: Q,
  answer: A,
) => ({ method: "GET", path, access, query, answer }) as const;
const post = <W extends DashboardAccess, B extends z.ZodType, A extends z.ZodType>(
  path: string,
  access: W,
  body: B,
  answer: A,
) => ({ method: "POST", path, access, body, answer }) as const;
const fresh = <W extends DashboardAccess, B extends z.ZodType, A extends z.ZodType>(
  path: string,
  access: W,
  body: B,
  answer: A,
) => ({ method: "POST", path, access, body, answer, isFresh: true }) as const;

export const DASHBOARD = {
  // Before an account is known
  viewInvitation: post("/api/invitation", "none", account.invitationRequest, account.invitationView),
  signUpOptions: post("/api/sign-up/options", "none", account.signUpOptionsRequest, account.creationAnswer),
  signUp: post("/api/sign-up", "none", account.signUpRequest, account.me),
  signInOptions: post("/api/sign-in/options", "none", nothing, account.requestAnswer),
  signIn: post("/api/sign-in", "none", account.signInRequest, account.me),

  // One's own account
  me: get("/api/me", "account", account.me),
  signOut: post("/api/sign-out", "account", nothing, done),
  freshOptions: post("/api/fresh/options", "account", nothing, account.requestAnswer),
  fresh: post("/api/fresh", "account", account.signInRequest, account.freshAnswer),
  accountSessions: get("/api/account/sessions", "account", account.accountSessions),
  endAccountSession: post("/api/account/sessions/{id}/end", "account", nothing, done),
  passkeys: get("/api/account/passkeys", "account", account.passkeys),
  addPasskeyOptions: fresh("/api/account/passkeys/options", "account", nothing, account.creationAnswer),
  addPasskey: fresh("/api/account/passkeys", "account", account.addPasskeyRequest, account.passkeys),
  renamePasskey: post(
    "/api/account/passkeys/{id}/rename",
    "account",
    account.renameRequest,
    account.passkeys,
  ),
  removePasskey: fresh("/api/account/passkeys/{id}/remove", "account", nothing, account.passkeys),

  // A developer
  overview: get("/api/developer", "developer", developer.overview),
  keys: get("/api/developer/keys", "developer", developer.apiKeys),
  createKey: fresh("/api/developer/keys", "developer", developer.createKeyRequest, developer.createdKey),
  keyImpact: get("/api/developer/keys/{id}/impact", "developer", developer.keyImpact),
  revokeKey: post("/api/developer/keys/{id}/revoke", "developer", nothing, developer.apiKeys),
  origins: get("/api/developer/origins", "developer", developer.origins),
  addOrigin: post("/api/developer/origins", "developer", developer.originRequest, developer.origins),
  removeOrigin: post(
    "/api/developer/origins/remove",
    "developer",
    developer.originRequest,
    developer.origins,
  ),
  testOrigin: post(
    "/api/developer/origins/test",
    "developer",
    developer.originTestRequest,
    developer.originTest,
  ),
  apps: get("/api/developer/apps", "developer", developer.apps),
  requestApp: post("/api/developer/apps", "developer", developer.requestAppRequest, developer.apps),
  withdrawApp: post("/api/developer/app-requests/{id}/withdraw", "developer", nothing, developer.apps),
  removeApp: fresh("/api/developer/apps/{id}/remove", "developer", nothing, developer.apps),
  fees: get("/api/developer/fees", "developer", fees.feeRules),
  setFee: fresh("/api/developer/fees", "developer", fees.setFeeRequest, fees.feeRules),
  removeFee: fresh("/api/developer/fees/remove", "developer", fees.removeFeeRequest, fees.feeRules),
  previewFee: post("/api/developer/fees/preview", "developer", fees.feePreviewRequest, fees.feePreview),
  usage: search("/api/developer/usage", "developer", activity.usageQuery, activity.usage),
  tickets: search("/api/developer/tickets", "developer", activity.ticketQuery, activity.ticketPage),
  ticket: get("/api/developer/tickets/{id}", "developer", activity.ticketLife),
  sessions: get("/api/developer/sessions", "developer", developer.sessions),
  revokeSessions: fresh(
    "/api/developer/sessions/revoke",
    "developer",
    developer.revokeSessionsRequest,
    developer.sessions,
  ),
  audit: search("/api/developer/audit", "developer", pageQuery, activity.auditPage),

  // An operator
  health: get("/api/operator/health", "operator", operator.operatorHealth),
  developers: get("/api/operator/developers", "operator", operator.developers),
  addDeveloper: post(
    "/api/operator/developers",
    "operator",
    operator.addDeveloperRequest,
    operator.developers,
  ),
  setLimits: post(
    "/api/operator/developers/{id}/limits",
    "operator",
    operator.limitsRequest,
    operator.developers,
  ),
  disableDeveloper: fresh("/api/operator/developers/{id}/disable", "operator", nothing, operator.developers),
  enableDeveloper: fresh("/api/operator/developers/{id}/enable", "operator", nothing, operator.developers),
  revokeDeveloperSessions: fresh(
    "/api/operator/developers/{id}/revoke-sessions",
    "operator",
    nothing,
    operator.developers,
  ),
  invitations: get("/api/operator/invitations", "operator", operator.invitations),
  createInvitation: fresh(
    "/api/operator/invitations",
    "operator",
    operator.createInvitationRequest,
    operator.createdInvitation,
  ),
  cancelInvitation: post("/api/operator/invitations/{id}/cancel", "operator", nothing, operator.invitations),
  accounts: get("/api/operator/accounts", "operator", operator.accounts),
  /** Ends its sessions; it can never sign in again. One's own and the last operator's cannot be closed. */
  closeAccount: fresh("/api/operator/accounts/{id}/close", "operator", nothing, operator.accounts),
  operatorApps: get("/api/operator/apps", "operator", operator.operatorApps),
  approveApp: fresh(
    "/api/operator/app-requests/{id}/approve",
    "operator",
    operator.approveAppRequest,
    operator.operatorApps,
  ),
  refuseApp: post(
    "/api/operator/app-requests/{id}/refuse",
    "operator",
    operator.refuseAppRequest,
    operator.operatorApps,
  ),
  operatorFees: get("/api/operator/fees", "operator", operator.operatorFees),
  enclaves: get("/api/operator/enclaves", "operator", operator.enclaves),
  queue: get("/api/operator/queue", "operator", operator.queue),
  operatorBridges: get("/api/operator/bridges", "operator", operator.operatorBridges),
  alarms: get("/api/operator/alarms", "operator", operator.alarms),
  operatorAudit: search("/api/operator/audit", "operator", pageQuery, activity.auditPage),
} as const satisfies Readonly<Record<string, DashboardEndpoint>>;

export type DashboardEndpointName = keyof typeof DASHBOARD;
type Row<Name extends DashboardEndpointName> = (typeof DASHBOARD)[Name];
/** What a caller may send; `undefined` where the endpoint has no body. */
export type BodyOf<Name extends DashboardEndpointName> =
  Row<Name> extends { readonly body: infer B extends z.ZodType } ? z.input<B> : undefined;
export type QueryOf<Name extends DashboardEndpointName> =
  Row<Name> extends { readonly query: infer Q extends z.ZodType } ? z.input<Q> : undefined;
export type AnswerOf<Name extends DashboardEndpointName> = z.output<Row<Name>["answer"]>;
