/** The contract's table as routes: who is asked for, what is parsed, which handler answers. A row is guarded by what it says itself. */
import Router, { type RouterMiddleware } from "@koa/router";
import type { Middleware, ParameterizedContext } from "koa";
import { DASHBOARD, type DashboardEndpoint, type DashboardEndpointName } from "./contract/endpoints.ts";
import { jsonBody } from "../base/http/body.ts";
import { parse } from "../base/http/parse.ts";
import type { Author } from "../base/store/audit.ts";
import type { HandlersOf, SignedIn } from "./call.ts";
import { DashboardError } from "./errors.ts";
import type { Sessions } from "./sessions.ts";
import type { Count } from "./standings.ts";
import type { DashboardState } from "./state.ts";
import { clearSessionCookie, hasSessionCookie, sessionToken, visitorOf } from "./visitor.middleware.ts";

export interface MountParts {
  readonly handlers: HandlersOf;
  readonly sessions: Sessions;
  /** By account. */
  readonly countChange: Count;
  readonly pepper: Uint8Array;
  readonly addressOf: (ctx: ParameterizedContext) => string;
  readonly now: () => number;
}

/**
 * Not counted: those that leave nothing new in the store, among them the ends of a thief's session, passkey and key: he
 * could have used up the count.
 */
const UNCOUNTED: ReadonlySet<string> = new Set<DashboardEndpointName>([
  ...(["signOut", "freshOptions", "fresh", "endAccountSession", "removePasskey", "revokeKey"] as const),
  ...(["addPasskeyOptions", "testOrigin", "previewFee"] as const),
]);

/** As the table of handlers is when it is called by a name that is known only then. */
type AnyHandler = (call: unknown) => Promise<unknown>;

export function mountDashboard(parts: MountParts): Middleware<DashboardState> {
  const router = new Router<DashboardState>({ sensitive: true, strict: true });
  const readBody = jsonBody() as unknown as Middleware<DashboardState>;
  const rows = Object.entries<DashboardEndpoint>(DASHBOARD);
  for (const [name, endpoint] of rows) {
    const handler = parts.handlers[name as keyof HandlersOf] as unknown as AnyHandler;
    const asked = guard(endpoint, parts.sessions);
    const steps: RouterMiddleware<DashboardState>[] = [
      asked,
      // Asked again: who sends the body decides how long it takes, and the session may have ended meanwhile.
      ...(endpoint.body === undefined ? [] : [readBody, asked]),
      ...(isCounted(name, endpoint) ? [countOne(parts.countChange)] : []),
      answer(endpoint, handler, parts),
    ];
    const path = endpoint.path.replaceAll(/\{([a-z]+)\}/g, ":$1");
    if (endpoint.method === "GET") router.get(path, ...steps);
    else router.post(path, ...steps);
  }
  // Behind them: a path of the table with another method. Which methods it has is no secret, whoever may call it.
  for (const path of new Set(rows.map(([, endpoint]) => endpoint.path)))
    router.all(path.replaceAll(/\{([a-z]+)\}/g, ":$1"), (ctx) => {
      const methods = rows.filter(([, one]) => one.path === path).map(([, one]) => one.method);
      ctx.set("Allow", methods.join(", "));
      throw new DashboardError("METHOD_NOT_ALLOWED");
    });
  return router.routes() as Middleware<DashboardState>;
}

function isCounted(name: string, { method, access }: DashboardEndpoint): boolean {
  return method === "POST" && (access === "developer" || access === "account") && !UNCOUNTED.has(name);
}

const countOne =
  (count: Count): RouterMiddleware<DashboardState> =>
  async ({ state: { signedIn } }, next) => {
    if (signedIn?.account.role === "developer") await count(signedIn.account.id);
    await next();
  };

function guard(endpoint: DashboardEndpoint, sessions: Sessions): RouterMiddleware<DashboardState> {
  return async (ctx, next) => {
    ctx.state.endpoint = endpoint;
    const token = sessionToken(ctx);
    const signedIn = token === undefined ? undefined : await sessions.find(token);
    ctx.state.signedIn = signedIn;
    if (endpoint.access !== "none") {
      if (signedIn === undefined) {
        const hadOne = hasSessionCookie(ctx);
        if (hadOne) clearSessionCookie(ctx);
        throw new DashboardError(hadOne ? "SESSION_ENDED" : "NOT_SIGNED_IN");
      }
      // As if the path were not there: who has the wrong role learns nothing of what the other sees.
      if (endpoint.access !== "account" && signedIn.account.role !== endpoint.access)
        throw new DashboardError("NOT_FOUND");
      if (endpoint.isFresh === true && sessions.freshUntil(signedIn.session) === undefined)
        throw new DashboardError("FRESH_NEEDED");
    }
    await next();
  };
}

function answer(
  endpoint: DashboardEndpoint,
  handler: AnyHandler,
  { pepper, addressOf, now }: MountParts,
): RouterMiddleware<DashboardState> {
  return async (ctx) => {
    if (endpoint.query === undefined && ctx.querystring !== "")
      throw new DashboardError("INVALID_REQUEST", "This endpoint takes no query");
    const { signedIn } = ctx.state;
    const params = (ctx as unknown as { readonly params: Readonly<Record<string, string>> }).params;
    const call = {
      visitor: visitorOf(ctx, { pepper, address: addressOf(ctx), now }),
      id: params["id"] ?? "",
      body: endpoint.body && parse(endpoint.body, ctx.state.json, "body"),
      query: endpoint.query && parse(endpoint.query, ctx.query, "query"),
      ...(signedIn === undefined ? {} : ofSignedIn(signedIn)),
    };
    ctx.body = JSON.stringify(await handler(call));
    ctx.type = "application/json";
  };
}

/** Where nobody is signed in none of these is there, and no handler of such a row has the type to look. */
function ofSignedIn(me: SignedIn): {
  readonly me: SignedIn;
  readonly developerId: string;
  readonly by: Author;
} {
  const { id, developerId = "" } = me.account;
  return { me, developerId, by: { kind: "account", id } };
}
