/** Who a request is from, by its cookies, and what may be set in them. `__Host-`: of this host alone, over https (or to localhost), for every path. */
import type { ParameterizedContext } from "koa";
import { headerValues } from "../base/http/header-values.ts";
import type { Visitor } from "./call.ts";
import { CEREMONY_MS } from "./passkeys.ts";
import { keyedHash, newSecret } from "./secrets.ts";
import type { DashboardState } from "./state.ts";

const SESSION = "__Host-cloister-session";
const CEREMONY = "__Host-cloister-ceremony";
const SECRET = /^[A-Za-z0-9_-]{43}$/;
const ATTRIBUTES = "Path=/; Secure; HttpOnly; SameSite=Strict";

type Context = ParameterizedContext<DashboardState>;

/** Undefined where there is none, and where there are two: somebody put one of them there. */
function cookie(ctx: Context, name: string): string | undefined {
  const found = headerValues(ctx.req, "cookie")
    .flatMap((line) => line.split(";"))
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(`${name}=`))
    .map((pair) => pair.slice(name.length + 1));
  const [only, second] = found;
  return only !== undefined && second === undefined && SECRET.test(only) ? only : undefined;
}

export const sessionToken = (ctx: Context): string | undefined => cookie(ctx, SESSION);
/** One that opens nothing, too: a browser that has it was signed in once. */
export const hasSessionCookie = (ctx: Context): boolean => ctx.get("Cookie").includes(`${SESSION}=`);

const append = (ctx: Context, name: string, value: string, maxAgeSecs: number): void =>
  ctx.append("Set-Cookie", `${name}=${value}; ${ATTRIBUTES}; Max-Age=${String(maxAgeSecs)}`);

export const clearSessionCookie = (ctx: Context): void => append(ctx, SESSION, "", 0);

export function visitorOf(
  ctx: Context,
  {
    pepper,
    address,
    now,
  }: { readonly pepper: Uint8Array; readonly address: string; readonly now: () => number },
): Visitor {
  const ceremony = cookie(ctx, CEREMONY);
  const holderOf = (secret: string): string => keyedHash(pepper, "ceremony", secret).toString("base64url");
  return {
    signedIn: ctx.state.signedIn,
    address,
    userAgent: ctx.get("User-Agent"),
    ceremony: {
      holder: ceremony === undefined ? undefined : holderOf(ceremony),
      set() {
        const secret = newSecret();
        append(ctx, CEREMONY, secret, CEREMONY_MS / 1000);
        return holderOf(secret);
      },
      clear: () => append(ctx, CEREMONY, "", 0),
    },
    setSession: (token, endsAt) => append(ctx, SESSION, token, Math.floor((endsAt - now()) / 1000)),
    clearSession: () => clearSessionCookie(ctx),
  };
}
