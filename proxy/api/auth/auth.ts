/** Who a credential belongs to. Trusts the store and the two secrets; the credential is whatever a stranger typed. */
import type { Permission } from "../../../shared/api/credentials.ts";
import type { Principal } from "../../base/http/state.ts";
import type { Developer, KeyStore } from "../../base/store/keys.ts";
import { noteUse, verifyApiKey } from "../../base/auth/api-keys.ts";
import { letsIn } from "../../base/auth/browser-origins.ts";
import { Developers } from "../../base/auth/developers.ts";
import { RecentCallers } from "./recent-callers.ts";
import {
  mintSessionToken,
  readSessionToken,
  type KeyRing,
  type SessionClaims,
} from "../../base/auth/session-tokens.ts";

/** A megabyte or two; callers beyond them are looked up each time. */
const MAX_RECENT = 10_000;

export interface Caller {
  readonly principal: Principal;
  readonly developer: Developer;
  /** False once the credential is revoked or has expired. */
  readonly stillGood: () => Promise<boolean>;
}

export type Refusal = "INVALID_CREDENTIAL" | "SESSION_EXPIRED";

export interface AuthParts {
  readonly store: KeyStore;
  readonly pepper: Uint8Array;
  readonly keyRing: KeyRing;
  readonly chainId: number;
  /** Milliseconds. */
  readonly now?: () => number;
  /** Told when `last_used` could not be written; the request goes on. */
  readonly onFault?: (error: unknown) => void;
}

export interface Auth {
  /** At once for one that was found good a moment ago, as with the next. */
  apiKey(untrusted: string): Promise<Caller | Refusal> | Caller;
  session(untrusted: string): Promise<Caller | Refusal> | Caller;
  /** The union of all developers' registered browser origins. */
  origins(): Promise<ReadonlySet<string>>;
  /** Whether a page of this origin may use the developer's sessions. */
  allowsOrigin(developerId: string, origin: string): Promise<boolean>;
  /** Undefined when the developer is gone or disabled. `exp` in Unix seconds, never above `latestExp`. */
  mint(
    developerId: string,
    sub: string,
    perms: readonly Permission[],
    ttlSecs: number,
    latestExp?: number,
  ): Promise<{ readonly token: string; readonly exp: number } | undefined>;
}

export function createAuth({ store, pepper, keyRing, chainId, now = Date.now, onFault }: AuthParts): Auth {
  const developers = new Developers(store, now);
  // Apart, so that a key shown as a session is not taken for one, nor the reverse.
  const recentKeys = new RecentCallers<Caller>(MAX_RECENT, now);
  const recentSessions = new RecentCallers<Caller>(MAX_RECENT, now);

  /** From memory; one just added is read, for it must not wait until memory is refreshed. */
  const knownDeveloper = async (id: string): Promise<Developer | undefined> =>
    (await developers.get(id)) ?? (await store.developer(id));
  const developerOf = async (id: string): Promise<Developer | undefined> => enabled(await knownDeveloper(id));

  const apiKey = async (untrusted: string): Promise<Caller | Refusal> => {
    const askedAt = now();
    const key = await verifyApiKey(store, pepper, untrusted);
    if (key === undefined) return "INVALID_CREDENTIAL";
    const developer = await developerOf(key.developerId);
    if (developer === undefined) return "INVALID_CREDENTIAL";
    noteUse(store, key, now()).catch((error: unknown) => onFault?.(error));
    const caller: Caller = {
      principal: { kind: "api-key", developerId: developer.id, developerName: developer.name, keyId: key.id },
      developer,
      stillGood: async () => {
        const again = await store.key(key.id);
        if (again === undefined || again.revokedAt !== undefined) return false;
        return (await developerOf(again.developerId)) !== undefined;
      },
    };
    recentKeys.add(untrusted, caller, askedAt);
    return caller;
  };

  /** Developers from memory; the user's epoch is one read of a map that the system keeps in memory. */
  const isRevoked = async (claims: SessionClaims, developer: Developer): Promise<boolean> =>
    claims.epoch < developer.sessionEpoch ||
    claims.userEpoch < (await store.userEpoch(claims.developerId, claims.sub));

  const session = async (untrusted: string): Promise<Caller | Refusal> => {
    const askedAt = now();
    const claims = readSessionToken(keyRing, chainId, untrusted);
    if (claims === undefined) return "INVALID_CREDENTIAL";
    const developer = await developerOf(claims.developerId);
    // Revoked before expired: a revoked token must not be told to be exchanged as if it were merely old.
    if (developer === undefined || (await isRevoked(claims, developer))) return "INVALID_CREDENTIAL";
    if (now() >= claims.exp * 1000) return "SESSION_EXPIRED";
    const { sub, perms, exp } = claims;
    const caller: Caller = {
      principal: {
        kind: "session",
        developerId: developer.id,
        developerName: developer.name,
        sub,
        perms,
        exp,
      },
      developer,
      stillGood: async () => {
        const again = enabled(await developers.get(claims.developerId));
        return again !== undefined && !(await isRevoked(claims, again)) && now() < exp * 1000;
      },
    };
    recentSessions.add(untrusted, caller, askedAt, exp * 1000);
    return caller;
  };

  return {
    apiKey: (untrusted) => recentKeys.get(untrusted) ?? apiKey(untrusted),
    session: (untrusted) => recentSessions.get(untrusted) ?? session(untrusted),
    origins: () => developers.origins(),
    // Of a disabled one too: its pages are to learn that their credential is refused, and not that their origin is.
    allowsOrigin: async (developerId, origin) => {
      const developer = await knownDeveloper(developerId);
      return developer !== undefined && letsIn(developer, origin);
    },
    mint: async (developerId, sub, perms, ttlSecs, latestExp = Infinity) => {
      // From the store: a token made in the moment after a revocation must carry the new epoch.
      const developer = enabled(await store.developer(developerId));
      if (developer === undefined) return undefined;
      const exp = Math.min(Math.floor(now() / 1000) + ttlSecs, latestExp);
      const userEpoch = await store.userEpoch(developerId, sub);
      const claims = { developerId, sub, perms, exp, epoch: developer.sessionEpoch, userEpoch };
      return { token: mintSessionToken(keyRing, chainId, claims), exp };
    },
  };
}

function enabled(developer: Developer | undefined): Developer | undefined {
  return developer?.disabledAt === undefined ? developer : undefined;
}
