// `npm run operator -- developers …` and `keys …`: who may call the service, with what limits, and with which API keys.
import { setTimeout as delay } from "node:timers/promises";
import { createApiKey } from "../../proxy/base/auth/api-keys.ts";
import { FELT_MS } from "../../proxy/base/auth/developers.ts";
import { REMEMBERED_MS } from "../../proxy/api/auth/recent-callers.ts";
import {
  addDeveloper,
  changeLimits,
  changeOrigins,
  disableDeveloper,
  enableDeveloper,
  revokeSessions,
  revokeUserSessions,
} from "../../proxy/base/auth/registration.ts";
import { loadPepper } from "../../proxy/base/auth/secret-files.ts";
import type { ApiKey, Developer, DeveloperLimits } from "../../proxy/base/store/keys.ts";
import { UsageError, wholeNumber } from "../base/command.ts";
import { given, type Result, type StoreValues, type Verbs } from "./command-line.ts";

export const DEVELOPERS: Verbs = {
  add: {
    words: ["NAME"],
    async run({ stores: { keys }, values, by }, name: string) {
      const { id, origin: origins = [] } = values;
      const wanted = { name, origins, limits: limitsIn(values), ...given({ id }) };
      return shown(await addDeveloper(keys, wanted, by));
    },
  },
  list: {
    words: [],
    async run({ stores: { keys } }) {
      const all = await keys.developers();
      return { data: { developers: all }, text: all.map((one) => shown(one).text).join("\n") };
    },
  },
  limits: {
    words: ["ID"],
    run: async ({ stores, values, by }, id: string) =>
      shown(await changeLimits(stores.keys, id, limitsIn(values), by)),
  },
  origins: {
    words: ["ID"],
    run: async ({ stores, values, by }, id: string) =>
      shown(await changeOrigins(stores.keys, id, values.origin ?? [], by)),
  },
  "revoke-sessions": {
    words: ["ID"],
    async run({ stores: { keys }, values: { sub }, by }, developer: string) {
      if (sub === undefined) return shown(await revokeSessions(keys, developer, by));
      await revokeUserSessions(keys, developer, sub, by);
      return { data: { developer, sub }, text: `revoked the sessions of ${sub}` };
    },
  },
  disable: {
    words: ["ID"],
    async run({ stores: { keys }, by }, id: string) {
      const developer = await disableDeveloper(keys, id, new Date().toISOString(), by);
      // Proxies remember for so long that it was not: what is said here is true everywhere.
      await delay(FELT_MS);
      return shown(developer);
    },
  },
  enable: {
    words: ["ID"],
    run: async ({ stores, by }, id: string) => shown(await enableDeveloper(stores.keys, id, by)),
  },
};

export const KEYS: Verbs = {
  create: {
    words: ["DEVELOPER", "NAME"],
    async run({ stores: { keys }, values, by }, developer: string, name: string) {
      const pepperFile = values.pepper ?? process.env["CLOISTER_API_KEY_PEPPER_FILE"];
      if (pepperFile === undefined) throw new UsageError("--pepper FILE is missing");
      if ((await keys.developer(developer)) === undefined)
        throw new UsageError(`there is no developer ${developer}`);
      const { key, record } = await createApiKey(keys, await loadPepper(pepperFile), developer, name, by);
      return { data: { key, id: record.id, developer, name }, text: key };
    },
  },
  list: {
    words: ["[DEVELOPER]"],
    async run({ stores }, developer?: string) {
      const keys = (await stores.keys.keys(developer)).map(withoutHash);
      return { data: { keys }, text: keys.map(lineOf).join("\n") };
    },
  },
  revoke: {
    words: ["KEY"],
    async run({ stores: { keys }, by }, keyId: string) {
      if (!(await keys.revokeKey(keyId, new Date().toISOString(), by)))
        throw new UsageError(`there is no live key ${keyId}`);
      // Proxies may remember for so long that it was good: what is said here is true everywhere.
      await delay(REMEMBERED_MS);
      return { data: { revoked: keyId }, text: `revoked ${keyId}` };
    },
  },
};

function shown(developer: Developer): Result {
  const { id, name, limits, origins, disabledAt } = developer;
  const raised = Object.entries(limits).map(([limit, value]) => `${limit}=${String(value)}`);
  const state = disabledAt === undefined ? [] : [`disabled ${disabledAt}`];
  return { data: developer, text: [id, name, ...state, ...raised, ...origins].join("\t") };
}

type ShownKey = Omit<ApiKey, "secretHash">;

function withoutHash({ secretHash: _hash, ...key }: ApiKey): ShownKey {
  return key;
}

function lineOf(key: ShownKey): string {
  const used = key.lastUsedAt === undefined ? "never used" : `last used ${key.lastUsedAt}`;
  const state = key.revokedAt === undefined ? "live" : `revoked ${key.revokedAt}`;
  return [key.id, key.developerId, key.name, state, used].join("\t");
}

function limitsIn(values: StoreValues): DeveloperLimits {
  const read = (option: "session-per-minute" | "key-per-minute" | "key-per-day"): number | undefined => {
    const value = values[option];
    return value === undefined ? undefined : wholeNumber(`--${option}`, value, 1, 999_999_999);
  };
  return given({
    sessionPerMinute: read("session-per-minute"),
    keyPerMinute: read("key-per-minute"),
    keyPerDay: read("key-per-day"),
  });
}
