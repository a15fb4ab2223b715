/**
 * The signing keys of identity providers, remembered for a bounded time. Who can make us fetch is a stranger
 * with a token, so fetches are shared, bounded for each key set and each caller, and never led by the token.
 */
import { createLocalJWKSet, errors, type JWTVerifyGetKey } from "jose";
import { z } from "zod";
import type { App } from "../../base/store/apps.ts";
import type { PinnedFetch } from "./pinned-fetch.ts";

/** A token cannot be judged now: its key is not among those we have, and we may not ask yet, or could not. */
export class KeysUnavailable extends Error {
  /** When this caller may have the provider asked again. */
  readonly retryAfterSecs: number;
  /** Whether the provider answered when it was asked last; then the key may be one that nobody has. */
  readonly isProviderThere: boolean;

  constructor(retryAfterMs: number, isProviderThere: boolean, options?: { cause: unknown }) {
    super("the provider's keys cannot be had", options);
    this.name = "KeysUnavailable";
    this.retryAfterSecs = Math.max(1, Math.ceil(retryAfterMs / 1000));
    this.isProviderThere = isProviderThere;
  }
}

export interface KeySets {
  /**
   * Finds a token's key among the app's. `caller` is whom a fetch is counted for. Throws KeysUnavailable, or jose's
   * JWKSNoMatchingKey.
   */
  keyOf(app: Pick<App, "jwksUrl" | "jwksHost">, caller: string): JWTVerifyGetKey;
}

/** A key that the provider has withdrawn is refused after this; it costs one fetch in that time. */
const FRESH_MS = 300_000;
/** A provider that is unreachable is borne so long: a key that it took back meanwhile may still be in use. */
const USABLE_MS = 3_600_000;
/** One caller makes us fetch no oftener; else a stranger who names a key of its own each time would keep everybody waiting. */
const CALLER_PAUSE_MS = 60_000;
/** All callers together; so long at most a new key waits for being asked for, whatever strangers do. */
const PAUSE_MS = 5_000;
/** A copy that can still be used does not wait for a provider that is unreachable more often than that. */
const AWAY_PAUSE_MS = 60_000;
/** Beyond it the one used least recently is forgotten. Apps are the operator's, so this is a fuse. */
const MAX_SETS = 1_000;

const jwksShape = z.object({ keys: z.array(z.looseObject({ kty: z.string() })).max(100) });

interface KeySet {
  find?: ReturnType<typeof createLocalJWKSet>;
  /** Names of those keys; one that does not fit the token is still no unknown one. */
  kids: ReadonlySet<unknown>;
  /** Milliseconds, as `triedAt`. */
  fetchedAt: number;
  triedAt: number;
  fetching: Promise<void> | undefined;
  failure: unknown;
  /** When a caller made us fetch; a few within its pause, because fetches are that rare. */
  readonly causedAt: Map<string, number>;
}

/** `onFault` is called with every fetch that failed. */
export function createKeySets(
  fetchText: PinnedFetch,
  now: () => number,
  onFault: (error: unknown, jwksHost: string) => void,
): KeySets {
  const sets = new Map<string, KeySet>();

  function setOf(url: string): KeySet {
    const set = sets.get(url) ?? {
      kids: new Set<unknown>(),
      fetchedAt: -Infinity,
      triedAt: -Infinity,
      fetching: undefined,
      failure: undefined,
      causedAt: new Map<string, number>(),
    };
    sets.delete(url);
    sets.set(url, set);
    if (sets.size > MAX_SETS) sets.delete(sets.keys().next().value!);
    return set;
  }

  /** Milliseconds until this caller may make us fetch. */
  function pauseOf(set: KeySet, caller: string): number {
    const causedAt = set.causedAt.get(caller) ?? -Infinity;
    return Math.max(set.triedAt + PAUSE_MS, causedAt + CALLER_PAUSE_MS) - now();
  }

  /** One fetch for all who wait. False when the caller has to wait before there may be another. */
  async function renew(
    set: KeySet,
    { jwksUrl, jwksHost }: Pick<App, "jwksUrl" | "jwksHost">,
    caller: string,
  ): Promise<boolean> {
    if (set.fetching === undefined && pauseOf(set, caller) > 0) return false;
    set.fetching ??= (async () => {
      set.triedAt = now();
      for (const [who, at] of set.causedAt) if (set.triedAt - at >= CALLER_PAUSE_MS) set.causedAt.delete(who);
      set.causedAt.set(caller, set.triedAt);
      try {
        const keySet = jwksShape.parse(JSON.parse(await fetchText(jwksUrl, jwksHost)));
        set.find = createLocalJWKSet(keySet);
        set.kids = new Set(keySet.keys.map(({ kid }) => kid));
        set.fetchedAt = set.triedAt;
        set.failure = undefined;
      } catch (error) {
        // The parser's message may quote the document.
        set.failure = error instanceof SyntaxError ? new Error("the key set is not JSON") : error;
        onFault(set.failure, jwksHost);
      } finally {
        set.fetching = undefined;
      }
    })();
    await set.fetching;
    return true;
  }

  return {
    keyOf: (app, caller) => async (header, token) => {
      const set = setOf(app.jwksUrl);
      const unavailable = (): KeysUnavailable =>
        new KeysUnavailable(pauseOf(set, caller), set.failure === undefined, { cause: set.failure });
      const isUsable = (): boolean => set.find !== undefined && now() - set.fetchedAt < USABLE_MS;
      const isFresh = now() - set.fetchedAt < FRESH_MS;
      if (!isFresh && !(isUsable() && now() - set.triedAt < AWAY_PAUSE_MS)) await renew(set, app, caller);
      if (set.find === undefined || !isUsable()) throw unavailable();
      try {
        return await set.find(header, token);
      } catch (error) {
        const isUnknown = header.kid === undefined || !set.kids.has(header.kid);
        if (!(error instanceof errors.JWKSNoMatchingKey && isUnknown)) throw error;
      }
      // Perhaps a key that is newer than our copy.
      const isRenewed = await renew(set, app, caller);
      if (!isRenewed || set.failure !== undefined) throw unavailable();
      return set.find(header, token);
    },
  };
}
