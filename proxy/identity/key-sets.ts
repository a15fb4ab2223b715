/**
 * The signing keys of identity providers, remembered for a bounded time. Who can make us fetch is a stranger
 * with a token, so fetches are shared, at most one a minute for each key set, and never led by the token.
 */
import { createLocalJWKSet, errors, type JWTVerifyGetKey } from "jose";
import { z } from "zod";
import type { App } from "../store/apps.ts";
import type { PinnedFetch } from "./pinned-fetch.ts";

/** The keys are not to be had, so a token cannot be judged. */
export class KeysUnavailable extends Error {
  constructor(options?: { cause: unknown }) {
    super("the provider's keys cannot be had", options);
    this.name = "KeysUnavailable";
  }
}

export interface KeySets {
  /** Finds a token's key among the app's. Throws KeysUnavailable, or jose's JWKSNoMatchingKey. */
  keyOf(app: Pick<App, "jwksUrl" | "jwksHost">): JWTVerifyGetKey;
}

/** A key that the provider has taken back is refused after this; it costs one fetch in that time. */
const FRESH_MS = 300_000;
/** A provider that is away is borne so long: a key that it took back meanwhile may still be in use. */
const USABLE_MS = 3_600_000;
const COOLDOWN_MS = 60_000;
/** Beyond it the one used least recently is forgotten. Apps are the operator's, so this is a fuse. */
const MAX_SETS = 1_000;

const jwksShape = z.object({ keys: z.array(z.looseObject({ kty: z.string() })).max(100) });

interface KeySet {
  find?: ReturnType<typeof createLocalJWKSet>;
  /** Milliseconds, as `triedAt`. */
  fetchedAt: number;
  triedAt: number;
  fetching: Promise<void> | undefined;
  failure: unknown;
}

/** `onFault` hears of every fetch that failed. */
export function createKeySets(
  fetchText: PinnedFetch,
  now: () => number,
  onFault: (error: unknown, jwksHost: string) => void,
): KeySets {
  const sets = new Map<string, KeySet>();

  function setOf(url: string): KeySet {
    const set = sets.get(url) ?? {
      fetchedAt: -Infinity,
      triedAt: -Infinity,
      fetching: undefined,
      failure: undefined,
    };
    sets.delete(url);
    sets.set(url, set);
    if (sets.size > MAX_SETS) sets.delete(sets.keys().next().value!);
    return set;
  }

  /** One fetch for all who wait, and none within a minute of the last try. */
  async function renew(set: KeySet, { jwksUrl, jwksHost }: Pick<App, "jwksUrl" | "jwksHost">): Promise<void> {
    if (set.fetching === undefined && now() - set.triedAt < COOLDOWN_MS) return;
    set.fetching ??= (async () => {
      set.triedAt = now();
      try {
        set.find = createLocalJWKSet(jwksShape.parse(JSON.parse(await fetchText(jwksUrl, jwksHost))));
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
  }

  return {
    keyOf: (app) => async (header, token) => {
      const set = setOf(app.jwksUrl);
      if (now() - set.fetchedAt >= FRESH_MS) await renew(set, app);
      if (set.find === undefined || now() - set.fetchedAt >= USABLE_MS) {
        throw new KeysUnavailable({ cause: set.failure });
      }
      try {
        return await set.find(header, token);
      } catch (error) {
        if (!(error instanceof errors.JWKSNoMatchingKey)) throw error;
      }
      // Perhaps a key that is newer than our copy.
      await renew(set, app);
      if (set.failure !== undefined) throw new KeysUnavailable({ cause: set.failure });
      return set.find(header, token);
    },
  };
}
