/**
 * Developers, their users' epochs and API keys: a table each. Every proxy and the operator's tool write. Of a key only
 * a keyed hash of its secret is ever here.
 */
import { z } from "zod";
import { audited, noted, type Author, type Facts, type Note } from "./audit.ts";
import type { Carried, Engine } from "./engine.ts";
import { jsonForm, Records, type RecordOf } from "./records.ts";
import { hashed, storedBytes, toStoredBytes } from "./values.ts";

const count = z.int().nonnegative();

/** Raised (or lowered) limits; what is absent is the instance's default. */
const limits = z.strictObject({
  sessionPerMinute: count.exactOptional(),
  keyPerMinute: count.exactOptional(),
  keyPerDay: count.exactOptional(),
});
export type DeveloperLimits = RecordOf<typeof limits>;

const developer = z.strictObject({
  id: z.string(),
  name: z.string(),
  /** RFC 3339. */
  createdAt: z.string(),
  /** Sessions carry the epoch of their issue; raising it revokes all of them at once. */
  sessionEpoch: count,
  limits,
  /** Browser origins that may use this developer's sessions, e.g. `https://app.example`. */
  origins: z.array(z.string()),
  /** RFC 3339; while it is there, no credential of the developer is taken. */
  disabledAt: z.string().exactOptional(),
});
export type Developer = RecordOf<typeof developer>;

const apiKey = z
  .strictObject({
    /** Public part, shown in lists: 16 hex digits. */
    id: z.string(),
    developerId: z.string(),
    name: z.string(),
    /** HMAC-SHA-256(pepper, secret), 32 bytes. */
    secretHash: storedBytes,
    createdAt: z.string(),
    lastUsedAt: z.string().optional(),
    revokedAt: z.string().optional(),
  })
  .transform(({ lastUsedAt, revokedAt, ...key }) => ({ ...key, lastUsedAt, revokedAt }));
export type ApiKey = RecordOf<typeof apiKey>;

const keyForm = jsonForm<ApiKey>(apiKey, (key) => ({ ...key, secretHash: toStoredBytes(key.secretHash) }));

/** A full store must let rights be taken away, and must not lock out those whose keys are good. */
const THOUGH_FULL = { thoughFull: true };

export type KeyStore = ReturnType<typeof openKeyStore>;

export function openKeyStore(engine: Engine) {
  const developers = new Records(engine, "developers", jsonForm<Developer>(developer));
  const keys = new Records(engine, "api-keys", keyForm);
  const epochs = new Records(engine, "user-epochs", jsonForm<number>(count));

  return {
    developer: (id: string) => developers.get(id),
    developers: () => developers.all(),
    /** False when the id is taken. */
    addDeveloper: (made: Developer, by?: Author) =>
      developers.add(made.id, made, { carry: ofDeveloper(noted("developer.add", by), made.id) }),
    /** Changes what `change` returns; undefined when there is no such developer. */
    updateDeveloper: (
      id: string,
      change: (now: Developer) => Developer,
      note: Note = noted("developer.change"),
    ) => developers.change(id, (now) => now && change(now), { ...THOUGH_FULL, carry: ofDeveloper(note, id) }),

    /** Like `sessionEpoch`, for one user of a developer; 0 until that user's sessions are revoked the first time. */
    userEpoch: async (developerId: string, sub: string): Promise<number> =>
      (await epochs.get(userKey(developerId, sub))) ?? 0,
    async raiseUserEpoch(developerId: string, sub: string, by?: Author): Promise<number> {
      const target = { kind: "user", id: hashed(sub) };
      const carry = (before = 0, after = 0): Carried =>
        audited(noted("user.revoke-sessions", by), {
          ...{ target, developerId, before: { sessionEpoch: before }, after: { sessionEpoch: after } },
        });
      const options = { ...THOUGH_FULL, carry };
      return (await epochs.change(userKey(developerId, sub), (now = 0) => now + 1, options)) ?? 0;
    },

    key: (id: string) => keys.get(id),
    keys: async (developerId?: string): Promise<readonly ApiKey[]> =>
      (await keys.all()).filter((key) => developerId === undefined || key.developerId === developerId),
    /** False, and the key that is there stays, when the id is taken. */
    addKey: (key: ApiKey, by?: Author): Promise<boolean> =>
      keys.add(key.id, key, { carry: ofKey(noted("key.create", by), key.id) }),
    /** False when there is no such key or it is revoked already. */
    async revokeKey(id: string, at: string, by?: Author): Promise<boolean> {
      let isRevoked = false;
      const revoke = (now: ApiKey | undefined): ApiKey | undefined => {
        isRevoked = now !== undefined && now.revokedAt === undefined;
        return now !== undefined && isRevoked ? { ...now, revokedAt: at } : now;
      };
      await keys.change(id, revoke, { ...THOUGH_FULL, carry: ofKey(noted("key.revoke", by), id) });
      return isRevoked;
    },
    async touchKey(id: string, at: string): Promise<void> {
      await keys.change(id, (now) => now && { ...now, lastUsedAt: at }, THOUGH_FULL);
    },
  };
}

const ofDeveloper =
  (note: Note, id: string) =>
  (before: Developer | undefined, after: Developer | undefined): Carried => {
    const shown = (one: Developer | undefined): Facts | undefined => {
      if (one === undefined) return undefined;
      const { name, sessionEpoch, limits: raised, origins, disabledAt } = one;
      return { name, sessionEpoch, limits: raised, origins, disabledAt };
    };
    const target = { kind: "developer", id };
    return audited(note, { target, developerId: id, before: shown(before), after: shown(after) });
  };

const ofKey =
  (note: Note, id: string) =>
  (before: ApiKey | undefined, after: ApiKey | undefined): Carried => {
    const shown = (one: ApiKey | undefined): Facts | undefined =>
      one && { name: one.name, revokedAt: one.revokedAt };
    const developerId = (after ?? before)?.developerId;
    const whose = developerId === undefined ? {} : { developerId };
    return audited(note, {
      target: { kind: "key", id },
      ...whose,
      before: shown(before),
      after: shown(after),
    });
  };

/** An id of a developer has no slash. */
const userKey = (developerId: string, sub: string): string => `${developerId}/${hashed(sub)}`;
