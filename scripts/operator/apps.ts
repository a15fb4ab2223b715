/**
 * `operator apps`: the identity-provider apps whose access tokens POST /session/exchange takes. Registration is
 * out of band, by somebody who has talked to the developer: whoever holds an app's provider can be any of its users.
 */
import { addApp, type NewApp } from "../../proxy/base/identity/registration.ts";
import type { App } from "../../proxy/base/store/apps.ts";
import { UsageError, wholeNumber } from "../base/command.ts";
import { given, need, type Result, type StoreValues, type Verbs } from "./command-line.ts";

export const APPS_HELP = `  apps add DEVELOPER --issuer URL --audience TEXT --jwks URL --jwks-host HOST --perm read|write…
           [--id app_…] [--alg RS256|PS256|ES256|EdDSA]… [--access-claim NAME=VALUE] [--sub-claim NAME]
           [--max-ttl SECS] [--loopback]              an identity-provider app of the developer
  apps list [DEVELOPER]                                all of them
  apps remove APP                                      no exchanges from now on; its sessions live to their end`;

export const APPS: Verbs = {
  add: {
    words: ["DEVELOPER"],
    async run({ stores: { apps, keys }, values, by }, developer: string) {
      const exists = async (id: string): Promise<boolean> => (await keys.developer(id)) !== undefined;
      const allowLoopback = values.loopback === true;
      return shown(await addApp(apps, exists, appIn(values, developer), { allowLoopback, by }));
    },
  },
  list: {
    words: ["[DEVELOPER]"],
    async run({ stores: { apps } }, only?: string) {
      const all = (await apps.apps()).filter(({ developerId }) => only === undefined || developerId === only);
      return { data: { apps: all }, text: all.map((app) => shown(app).text).join("\n") };
    },
  },
  remove: {
    words: ["APP"],
    async run({ stores: { apps }, by }, id: string) {
      const app = await apps.app(id);
      if (app === undefined || !(await apps.removeApp(id, by))) throw new UsageError(`there is no app ${id}`);
      const next = `end its sessions now with: developers revoke-sessions ${app.developerId}`;
      return { data: { removed: id }, text: `removed ${id}; ${next}` };
    },
  },
};

function appIn(values: StoreValues, developerId: string): NewApp {
  const { id, alg: algorithms, "access-claim": accessClaim, "sub-claim": subClaim } = values;
  const maxTtl = values["max-ttl"];
  const maxTtlSecs = maxTtl === undefined ? undefined : wholeNumber("--max-ttl", maxTtl, 1, 99_999);
  return {
    developerId,
    issuer: need(values.issuer, "--issuer URL"),
    audience: need(values.audience, "--audience TEXT"),
    jwksUrl: need(values.jwks, "--jwks URL"),
    jwksHost: need(values["jwks-host"], "--jwks-host HOST"),
    perms: values.perm ?? [],
    ...given({ id, algorithms, accessClaim, subClaim, maxTtlSecs }),
  };
}

function shown(app: App): Result {
  const { id, developerId, issuer, audience, jwksUrl, algorithms, accessClaim, perms, maxTtlSecs } = app;
  const kind = accessClaim === undefined ? "typ=at+jwt" : `${accessClaim.name}=${accessClaim.value}`;
  const rules = [algorithms.join(","), kind, perms.join(","), `${String(maxTtlSecs)}s`];
  return { data: app, text: [id, developerId, issuer, audience, jwksUrl, ...rules].join("\t") };
}
