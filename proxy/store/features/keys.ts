/** Developers, their users' epochs and API keys: a table each. Every proxy and the operator's tool write. */
import { createHash } from "node:crypto";
import { z } from "zod";
import type { Engine } from "../engine.ts";
import type { ApiKey, Developer, KeyStore } from "../keys.ts";
import { jsonForm, Records } from "./records.ts";
import { storedBytes, toStoredBytes } from "./values.ts";

const count = z.int().nonnegative();
const developerForm = jsonForm<Developer>(
  z.strictObject({
    id: z.string(),
    name: z.string(),
    createdAt: z.string(),
    sessionEpoch: count,
    limits: z.strictObject({
      sessionPerMinute: count.exactOptional(),
      keyPerMinute: count.exactOptional(),
      keyPerDay: count.exactOptional(),
    }),
    origins: z.array(z.string()),
    disabledAt: z.string().exactOptional(),
  }),
);
const keyForm = jsonForm<ApiKey>(
  z
    .strictObject({
      id: z.string(),
      developerId: z.string(),
      name: z.string(),
      secretHash: storedBytes,
      createdAt: z.string(),
      lastUsedAt: z.string().optional(),
      revokedAt: z.string().optional(),
    })
    .transform(({ lastUsedAt, revokedAt, ...key }) => ({ ...key, lastUsedAt, revokedAt })),
  (key) => ({ ...key, secretHash: toStoredBytes(key.secretHash) }),
);
const epochForm = jsonForm(count);

/** A full store must let rights be taken away, and must not lock out those whose keys are good. */
const THOUGH_FULL = { thoughFull: true };

export function openKeyStore(engine: Engine): KeyStore {
  const developers = new Records(engine, "developers", developerForm);
  const keys = new Records(engine, "api-keys", keyForm);
  const epochs = new Records(engine, "user-epochs", epochForm);

  return {
    developer: (id) => developers.get(id),
    developers: () => developers.all(),
    async addDeveloper(developer) {
      let isNew = false;
      await developers.change(developer.id, (now) => {
        isNew = now === undefined;
        return now ?? developer;
      });
      return isNew;
    },
    updateDeveloper: (id, change) =>
      developers.change(id, (now) => (now === undefined ? undefined : change(now)), THOUGH_FULL),

    userEpoch: async (developerId, sub) => (await epochs.get(userKey(developerId, sub))) ?? 0,
    async raiseUserEpoch(developerId, sub) {
      const raised = await epochs.change(userKey(developerId, sub), (now = 0) => now + 1, THOUGH_FULL);
      return raised ?? 0;
    },

    key: (id) => keys.get(id),
    keys: async (developerId) =>
      (await keys.all()).filter((key) => developerId === undefined || key.developerId === developerId),
    async addKey(key) {
      await keys.change(key.id, () => key);
    },
    async revokeKey(id, at) {
      let isRevoked = false;
      const revoke = (now: ApiKey | undefined): ApiKey | undefined => {
        isRevoked = now !== undefined && now.revokedAt === undefined;
        return now !== undefined && isRevoked ? { ...now, revokedAt: at } : now;
      };
      await keys.change(id, revoke, THOUGH_FULL);
      return isRevoked;
    },
    async touchKey(id, at) {
      const touch = (now: ApiKey | undefined): ApiKey | undefined => now && { ...now, lastUsedAt: at };
      await keys.change(id, touch, THOUGH_FULL);
    },
  };
}

/** Of fixed length, and no user's name in a key. An id of a developer has no slash. */
function userKey(developerId: string, sub: string): string {
  return `${developerId}/${createHash("sha256").update(sub, "utf8").digest("base64url")}`;
}
