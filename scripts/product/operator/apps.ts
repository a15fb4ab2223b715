/**
 * `operator apps`: the identity-provider apps whose access tokens POST /session/exchange takes. Registration is
 * out of band, by somebody who has talked to the developer: whoever holds an app's provider can be any of its users.
 */
import { addApp, type NewApp } from "../../../proxy/identity/registration.ts";
import type { App, AppStore } from "../../../proxy/store/apps.ts";
import type { KeyStore } from "../../../proxy/store/keys.ts";
import { need, UsageError, type Result } from "./command-line.ts";

export const APPS_HELP = `  apps add DEVELOPER --issuer URL --audience TEXT --jwks URL --jwks-host HOST --perm read|write…
           [--id app_…] [--alg RS256|PS256|ES256|EdDSA]… [--access-claim NAME=VALUE] [--sub-claim NAME]
           [--max-ttl SECS] [--loopback]              an identity-provider app of the developer
  apps list [DEVELOPER]                                all of them
  apps remove APP                                      no exchanges from now on; its sessions live to their end`;

export const APP_OPTIONS = {
  issuer: { type: "string" },
  audience: { type: "string" },
  jwks: { type: "string" },
  "jwks-host": { type: "string" },
  perm: { type: "string", multiple: true },
  alg: { type: "string", multiple: true },
  "access-claim": { type: "string" },
  "sub-claim": { type: "string" },
  "max-ttl": { type: "string" },
  loopback: { type: "boolean" },
} as const;

type Values = Readonly<Record<string, unknown>>;

export async function appsCommand(
  apps: AppStore,
  keys: KeyStore,
  words: readonly string[],
  values: Values,
): Promise<Result> {
  const [verb, name, ...rest] = words;
  if (rest.length > 0) throw new UsageError("too many words");
  switch (verb) {
    case "add": {
      const exists = async (id: string): Promise<boolean> => (await keys.developer(id)) !== undefined;
      const wanted = readApp(need(name, "DEVELOPER"), values);
      return shown(await addApp(apps, exists, wanted, { allowLoopback: values["loopback"] === true }));
    }
    case "list": {
      const all = (await apps.apps()).filter(({ developerId }) => name === undefined || developerId === name);
      return { data: { apps: all }, text: all.map((app) => shown(app).text).join("\n") };
    }
    case "remove": {
      const id = need(name, "APP");
      const app = await apps.app(id);
      if (app === undefined || !(await apps.removeApp(id))) throw new UsageError(`there is no app ${id}`);
      return {
        data: { removed: id },
        text: `removed ${id}; end its sessions now with: developers revoke-sessions ${app.developerId}`,
      };
    }
    case undefined:
    default:
      throw new UsageError("unknown command; see --help");
  }
}

function readApp(developerId: string, values: Values): NewApp {
  const text = (option: string): string | undefined => {
    const value = values[option];
    return typeof value === "string" ? value : undefined;
  };
  const list = (option: string): string[] | undefined => {
    const value = values[option];
    return Array.isArray(value) ? value.map(String) : undefined;
  };
  const id = text("id");
  const algorithms = list("alg");
  const accessClaim = text("access-claim");
  const subClaim = text("sub-claim");
  const maxTtl = text("max-ttl");
  if (maxTtl !== undefined && !/^[1-9][0-9]{0,4}$/.test(maxTtl))
    throw new UsageError("--max-ttl takes seconds");
  return {
    developerId,
    issuer: need(text("issuer"), "--issuer URL"),
    audience: need(text("audience"), "--audience TEXT"),
    jwksUrl: need(text("jwks"), "--jwks URL"),
    jwksHost: need(text("jwks-host"), "--jwks-host HOST"),
    perms: list("perm") ?? [],
    ...(id === undefined ? {} : { id }),
    ...(algorithms === undefined ? {} : { algorithms }),
    ...(accessClaim === undefined ? {} : { accessClaim }),
    ...(subClaim === undefined ? {} : { subClaim }),
    ...(maxTtl === undefined ? {} : { maxTtlSecs: Number(maxTtl) }),
  };
}

function shown(app: App): Result {
  const { id, developerId, issuer, audience, jwksUrl, algorithms, accessClaim, perms, maxTtlSecs } = app;
  const kind = accessClaim === undefined ? "typ=at+jwt" : `${accessClaim.name}=${accessClaim.value}`;
  const rules = [algorithms.join(","), kind, perms.join(","), `${String(maxTtlSecs)}s`];
  return { data: app, text: [id, developerId, issuer, audience, jwksUrl, ...rules].join("\t") };
}
