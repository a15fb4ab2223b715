/** What an operator does to identity-provider apps. Every field is checked here, since a lax one lets strangers in. */
import { randomBytes } from "node:crypto";
import { isIP } from "node:net";
import { APP_ID, type Permission } from "../../../shared/api/credentials.ts";
import type { Author } from "../store/audit.ts";
import { ALGORITHMS, type Algorithm, type App, type AppStore } from "../store/apps.ts";

export interface NewApp {
  /** Chosen at random when absent. */
  readonly id?: string;
  readonly developerId: string;
  readonly issuer: string;
  readonly audience: string;
  readonly jwksUrl: string;
  /** Said apart from the URL, so that nobody approves `https://good.example@other.example/` by looking at its start. */
  readonly jwksHost: string;
  /** Default: all four. */
  readonly algorithms?: readonly string[];
  /** `name=value`; absent: tokens must say `typ: at+jwt`. */
  readonly accessClaim?: string;
  readonly subClaim?: string;
  readonly perms: readonly string[];
  readonly maxTtlSecs?: number;
}

const CLAIM_NAME = /^[\x21-\x3c\x3e-\x7e]{1,128}$/;
const MOST_TEXT = 512;
/** The claims that say something else than what kind of token this is. */
const NO_KIND: ReadonlySet<string> = new Set(["iss", "aud", "sub", "exp", "iat", "nbf"]);

/** Throws on everything that is malformed, unknown or taken. `allowLoopback` is for development, `by` for the audit log. */
export async function addApp(
  store: AppStore,
  developerExists: (id: string) => Promise<boolean>,
  wanted: NewApp,
  { allowLoopback, by }: { readonly allowLoopback: boolean; readonly by?: Author },
): Promise<App> {
  const { id = `app_${randomBytes(6).toString("hex")}`, developerId, issuer, audience } = wanted;
  if (!APP_ID.test(id)) throw new Error("an app's id is app_ and 1 to 32 lower-case letters and digits");
  if (!(await developerExists(developerId))) throw new Error(`there is no developer ${developerId}`);
  if (!isText(issuer) || !URL.canParse(issuer))
    throw new Error("the issuer is a URL, exactly as `iss` has it");
  if (!isText(audience)) throw new Error(`the audience has 1 to ${String(MOST_TEXT)} printable characters`);
  checkJwks(wanted.jwksUrl, wanted.jwksHost, allowLoopback);
  const { maxTtlSecs = 900, subClaim = "sub" } = wanted;
  if (!Number.isInteger(maxTtlSecs) || maxTtlSecs < 60 || maxTtlSecs > 3600)
    throw new Error("the longest lifetime of a session is 60 to 3600 seconds");
  if (!CLAIM_NAME.test(subClaim)) throw new Error("that is no name of a claim");
  const app: App = {
    id,
    developerId,
    createdAt: new Date().toISOString(),
    issuer,
    audience,
    jwksUrl: wanted.jwksUrl,
    jwksHost: wanted.jwksHost,
    algorithms: readAlgorithms(wanted.algorithms ?? ALGORITHMS),
    accessClaim: wanted.accessClaim === undefined ? undefined : readClaim(wanted.accessClaim),
    subClaim,
    perms: readPerms(wanted.perms),
    maxTtlSecs,
  };
  if (!(await store.addApp(app, by))) throw new Error(`there is an app ${id} already`);
  return app;
}

function checkJwks(url: string, host: string, allowLoopback: boolean): void {
  const parsed = isText(url) && URL.canParse(url) ? new URL(url) : undefined;
  if (parsed === undefined) throw new Error("the key set's address is no URL");
  if (parsed.protocol !== "https:" && !(allowLoopback && parsed.protocol === "http:"))
    throw new Error("the key set must be fetched over https");
  if (parsed.username !== "" || parsed.password !== "" || parsed.hash !== "")
    throw new Error("the key set's address may hold no user, password or fragment");
  if (parsed.host !== host)
    throw new Error(`the key set is at ${parsed.host}, which is not the approved host`);
  if (!allowLoopback && isIP(parsed.hostname.replace(/^\[(.*)\]$/, "$1")) !== 0)
    throw new Error("the key set's host must be a name");
}

function readAlgorithms(names: readonly string[]): readonly Algorithm[] {
  const found = ALGORITHMS.filter((known) => names.includes(known));
  if (found.length === 0 || new Set(names).size !== found.length)
    throw new Error(`algorithms are some of ${ALGORITHMS.join(", ")}`);
  return found;
}

function readPerms(names: readonly string[]): readonly Permission[] {
  const found = (["read", "write"] as const).filter((known) => names.includes(known));
  if (found.length === 0 || new Set(names).size !== found.length)
    throw new Error("permissions are read, write or both");
  return found;
}

function readClaim(text: string): NonNullable<App["accessClaim"]> {
  const at = text.indexOf("=");
  const [name, value] = [text.slice(0, Math.max(at, 0)), text.slice(at + 1)];
  if (!CLAIM_NAME.test(name) || value === "" || !isText(value))
    throw new Error("an access token's claim is given as name=value");
  if (NO_KIND.has(name))
    throw new Error(`ID tokens have ${name} too; name a claim that access tokens alone have`);
  return { name, value };
}

function isText(text: string): boolean {
  return text.length > 0 && text.length <= MOST_TEXT && /^[\x21-\x7e]+$/.test(text);
}
