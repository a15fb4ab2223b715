/** Developers, their users' epochs and API keys in LMDB: small tables, one record each. Another process (the operator's tool) may write too. */
import { createHash } from "node:crypto";
import type { ApiKey, Developer, KeyStore } from "../keys.ts";
import { THOUGH_FULL, type Database } from "./database.ts";

export function openKeyStore(database: Database): KeyStore {
  const developers = database.table<Developer, string>("developers");
  const userEpochs = database.table<number, string>("user-epochs");
  const keys = database.table<ApiKey, string>("api-keys");

  return {
    developer: async (id) => developers.get(id),
    developers: async () => [...developers.getRange()].map(({ value }) => value),
    addDeveloper: (developer) =>
      database.transaction(() => {
        if (developers.get(developer.id) !== undefined) return false;
        void developers.put(developer.id, developer);
        return true;
      }),
    updateDeveloper: (id, change) =>
      database.transaction(() => {
        const now = developers.get(id);
        if (now === undefined) return undefined;
        const next = change(now);
        void developers.put(id, next);
        return next;
      }, THOUGH_FULL),

    userEpoch: async (developerId, sub) => userEpochs.get(userKey(developerId, sub)) ?? 0,
    raiseUserEpoch: (developerId, sub) =>
      database.transaction(() => {
        const key = userKey(developerId, sub);
        const next = (userEpochs.get(key) ?? 0) + 1;
        void userEpochs.put(key, next);
        return next;
      }, THOUGH_FULL),

    key: async (id) => keys.get(id),
    keys: async (developerId) =>
      [...keys.getRange()]
        .map(({ value }) => value)
        .filter((key) => developerId === undefined || key.developerId === developerId),
    addKey: (key) => database.transaction(() => void keys.put(key.id, key)),
    revokeKey: (id, at) =>
      database.transaction(() => {
        const key = keys.get(id);
        if (key === undefined || key.revokedAt !== undefined) return false;
        void keys.put(id, { ...key, revokedAt: at });
        return true;
      }, THOUGH_FULL),
    touchKey: (id, at) =>
      database.transaction(() => {
        const key = keys.get(id);
        // Read again inside: a revocation that came between must not be written over.
        if (key !== undefined) void keys.put(id, { ...key, lastUsedAt: at });
      }),
  };
}

/** A `sub` may be longer than a key of LMDB; an id of a developer has no slash. */
function userKey(developerId: string, sub: string): string {
  return `${developerId}/${createHash("sha256").update(sub, "utf8").digest("base64url")}`;
}
