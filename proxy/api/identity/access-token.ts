/**
 * Whether a text is an access token that an app's provider issued for the app, and for whom. The token is
 * whatever a stranger sent: it chooses neither its keys nor its algorithm, and no refusal says what was wrong.
 */
import { errors, jwtVerify, type JWTPayload } from "jose";
import { MAX_EXCHANGED_SUB, PRINTABLE } from "../../../shared/api/credentials.ts";
import type { App } from "../../base/store/apps.ts";
import { KeysUnavailable, type KeySets } from "./key-sets.ts";

export interface AccessToken {
  /** The session's: the app's id, a colon, and the user at the provider. */
  readonly sub: string;
  /** Unix seconds. */
  readonly exp: number;
}

/** `reason` is for our log: a code, never a part of the token. */
export type Judged =
  | { readonly kind: "good"; readonly token: AccessToken }
  | { readonly kind: "bad"; readonly reason: string }
  | { readonly kind: "keys-unavailable"; readonly why: KeysUnavailable };

/** For `nbf` and `iat`. None for `exp`: no session may outlive its token, so a token past its end has nothing to give. */
const SKEW_SECS = 60;
/** Of ID tokens alone (OpenID Connect Core, sections 3.1.3.6 and 3.3.2.11). */
const ID_TOKEN_CLAIMS = ["at_hash", "c_hash"];

export async function judgeAccessToken(
  untrusted: string,
  app: App,
  keySets: KeySets,
  caller: string,
  nowMs: number,
): Promise<Judged> {
  const bad = (reason: string): Judged => ({ kind: "bad", reason });
  let payload: JWTPayload;
  try {
    // `jku`, `x5u` and `jwk` in the header are not looked at; `crit` is refused, there is nothing we must understand.
    const verified = await jwtVerify(untrusted, keySets.keyOf(app, caller), {
      issuer: app.issuer,
      audience: app.audience,
      algorithms: [...app.algorithms],
      clockTolerance: SKEW_SECS,
      currentDate: new Date(nowMs),
      requiredClaims: ["exp", app.subClaim],
      ...(app.accessClaim === undefined ? { typ: "at+jwt" } : {}),
    });
    if (verified.protectedHeader.crit !== undefined) return bad("crit");
    ({ payload } = verified);
  } catch (error) {
    if (error instanceof KeysUnavailable) return { kind: "keys-unavailable", why: error };
    // A key set may hold what cannot verify (too short, private, malformed); with it no token is good.
    return bad(error instanceof errors.JOSEError ? error.code : "unusable key");
  }
  const nowSecs = nowMs / 1000;
  const { exp, iat } = payload;
  if (exp === undefined || exp <= nowSecs) return bad("expired");
  if (iat !== undefined && iat > nowSecs + SKEW_SECS) return bad("issued in the future");
  if (app.accessClaim !== undefined && !holds(payload, app.accessClaim)) return bad("not an access token");
  if (ID_TOKEN_CLAIMS.some((name) => name in payload)) return bad("an ID token");
  // Bound to a key of the client (RFC 9449, RFC 8705); taken without its proof it would be a plain bearer token.
  if ("cnf" in payload) return bad("sender-constrained");
  const user = payload[app.subClaim];
  if (typeof user !== "string" || user === "" || !PRINTABLE.test(user)) return bad("no printable sub");
  const sub = `${app.id}:${user}`;
  if (sub.length > MAX_EXCHANGED_SUB) return bad("sub too long");
  return { kind: "good", token: { sub, exp } };
}

/** The claim is the value, a list with it, or a space-separated text with it (as `scope` is, RFC 8693). */
function holds(payload: JWTPayload, { name, value }: NonNullable<App["accessClaim"]>): boolean {
  const claim = Object.hasOwn(payload, name) ? payload[name] : undefined;
  if (Array.isArray(claim)) return claim.includes(value);
  return typeof claim === "string" && (claim === value || claim.split(" ").includes(value));
}
