/** Developers, their users' epochs and API keys in the durable Redis: a table each. Every proxy and the operator's tool write. */
import { createHash } from "node:crypto";
import { z } from "zod";
import type { ApiKey, Developer, KeyStore } from "../keys.ts";
import type { DurableRedis } from "./durable.ts";
import { openRecords, plainForm, type RecordForm } from "./records.ts";
import { storedBytes, toStoredBytes } from "./values.ts";

const count = z.int().nonnegative();
const developerShape = z.strictObject({
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
});
const keyShape = z.strictObject({
  id: z.string(),
  developerId: z.string(),
  name: z.string(),
  secretHash: storedBytes,
  createdAt: z.string(),
  lastUsedAt: z.string().optional(),
  revokedAt: z.string().optional(),
});
const keyForm: RecordForm<ApiKey> = {
  read: (json) => {
    const { lastUsedAt, revokedAt, ...key } = keyShape.parse(json);
    return { ...key, lastUsedAt, revokedAt };
  },
  write: (key) => ({ ...key, secretHash: toStoredBytes(key.secretHash) }),
};
/** Also in a full Redis: it is how a user's sessions are revoked. */
const RAISE = `#!lua flags=allow-oom
return redis.call('HINCRBY', KEYS[1], ARGV[1], 1)
`;
const epoch = z.string().regex(/^\d+$/).transform(Number);

export function openRedisKeyStore(redis: DurableRedis): KeyStore {
  const developers = openRecords(redis, "developers", plainForm<Developer>(developerShape));
  const keys = openRecords(redis, "api-keys", keyForm);
  const userEpochs = redis.key("user-epochs");
  const raiseEpoch = redis.script(RAISE);

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
      // Also when Redis is full: raising the epoch is how sessions are revoked.
      developers.change(id, (now) => (now === undefined ? undefined : change(now)), { thoughFull: true }),

    async userEpoch(developerId, sub) {
      const found = await redis.send(["HGET", userEpochs, userField(developerId, sub)]);
      return found === null ? 0 : epoch.parse(found);
    },
    async raiseUserEpoch(developerId, sub) {
      return z.int().parse(await raiseEpoch([userEpochs], [userField(developerId, sub)]));
    },

    key: (id) => keys.get(id),
    keys: async (developerId) =>
      (await keys.all()).filter((key) => developerId === undefined || key.developerId === developerId),
    async addKey(key) {
      await keys.change(key.id, () => key);
    },
    async revokeKey(id, at) {
      let isRevoked = false;
      const work = (now: ApiKey | undefined): ApiKey | undefined => {
        isRevoked = now !== undefined && now.revokedAt === undefined;
        return now !== undefined && isRevoked ? { ...now, revokedAt: at } : now;
      };
      await keys.change(id, work, { thoughFull: true });
      return isRevoked;
    },
    async touchKey(id, at) {
      // Whoever revoked it meanwhile is not written over: the change is worked out again on what is there.
      await keys.change(id, (now) => (now === undefined ? undefined : { ...now, lastUsedAt: at }), {
        // A full Redis must not lock out those whose keys are good.
        thoughFull: true,
      });
    },
  };
}

/** Of fixed length, and no user's name in Redis. An id of a developer has no slash. */
function userField(developerId: string, sub: string): string {
  return `${developerId}/${createHash("sha256").update(sub, "utf8").digest("base64url")}`;
}
