/** A developer's API keys. A key is made once for a press of the button, however often the press arrives. */
import { createHash } from "node:crypto";
import type { ApiKeyView, CreatedKey, KeyImpact } from "./contract/developer.ts";
import { newApiKey } from "../base/auth/api-keys.ts";
import { FELT_MS } from "../base/auth/developers.ts";
import type { Author } from "../base/store/audit.ts";
import type { ApiKey, KeyStore } from "../base/store/keys.ts";
import { dayOf, type UsageStore } from "../base/store/usage.ts";
import { DashboardError } from "./errors.ts";

export interface KeyParts {
  readonly store: KeyStore;
  readonly usage: Pick<UsageStore, "days">;
  readonly pepper: Uint8Array;
  readonly now: () => number;
}

/** So long the session that asked may hear the key again: its first answer may have been lost. */
const SHOWN_MS = 60_000;
const MOST_LIVE_KEYS = 50;
const FORM = /^[0-9a-f]{16}$/;

export function createKeys({ store, usage, pepper, now }: KeyParts) {
  /** Keys that were made here a moment ago, by who asked and with what. */
  const shown = new Map<string, Promise<CreatedKey>>();

  async function own(developerId: string, id: string): Promise<ApiKey> {
    const found = FORM.test(id) ? await store.key(id) : undefined;
    if (found?.developerId !== developerId) throw new DashboardError("NOT_FOUND");
    return found;
  }

  async function make(developerId: string, clientId: string, name: string, by: Author): Promise<CreatedKey> {
    // The id follows from the press, so the store itself refuses a second key of it, also to another process.
    const id = createHash("sha256").update(`${developerId} ${clientId}`).digest("hex").slice(0, 16);
    const made = newApiKey(pepper, developerId, name, id);
    if ((await store.key(id)) === undefined) {
      const live = (await store.keys(developerId)).filter(({ revokedAt }) => revokedAt === undefined);
      if (live.length >= MOST_LIVE_KEYS)
        throw new DashboardError(
          "TOO_MANY",
          `At most ${String(MOST_LIVE_KEYS)} keys may be live; revoke one`,
        );
    }
    if (!(await store.addKey(made.record, by))) throw new DashboardError("KEY_SHOWN_ALREADY");
    return { key: made.key, record: shownKey(made.record) };
  }

  return {
    async list(developerId: string): Promise<readonly ApiKeyView[]> {
      const all = [...(await store.keys(developerId))];
      return all.sort((one, other) => (one.createdAt < other.createdAt ? 1 : -1)).map(shownKey);
    },

    /** `sessionId`: whose screen the key is for. */
    create(
      developerId: string,
      sessionId: string,
      { clientId, name }: { readonly clientId: string; readonly name: string },
      by: Author,
    ): Promise<CreatedKey> {
      const press = `${sessionId} ${developerId} ${clientId}`;
      const known = shown.get(press);
      if (known !== undefined) return known;
      const made = make(developerId, clientId, name, by);
      shown.set(press, made);
      const forget = (): void => void shown.delete(press);
      made.then(() => setTimeout(forget, SHOWN_MS).unref(), forget);
      return made;
    },

    async impact(developerId: string, id: string): Promise<KeyImpact> {
      const key = await own(developerId, id);
      const today = dayOf(now());
      const [all, days] = await Promise.all([
        store.keys(developerId),
        usage.days(developerId, today - 1, today),
      ]);
      const others = all.filter((one) => one.id !== id && one.revokedAt === undefined);
      return {
        key: shownKey(key),
        is_last_live_key: key.revokedAt === undefined && others.length === 0,
        requests_since_yesterday: days
          .flatMap(({ requests }) => requests)
          .reduce((sum, { count }) => sum + count, 0),
        sessions_go_on: true,
        streams_end_within_secs: FELT_MS / 1000,
      };
    },

    /** Revoking a key that is revoked changes nothing. */
    async revoke(developerId: string, id: string, by: Author): Promise<void> {
      await own(developerId, id);
      await store.revokeKey(id, new Date(now()).toISOString(), by);
    },
  };
}

function shownKey({ id, name, createdAt, lastUsedAt, revokedAt }: ApiKey): ApiKeyView {
  return {
    ...{ id, name, created_at: createdAt },
    last_used_at: lastUsedAt ?? null,
    revoked_at: revokedAt ?? null,
  };
}
