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

class KeyAuth implements Auth {
  readonly #parts: AuthParts;
  readonly #now: () => number;
  readonly #developers: Developers;
  // Apart, so that a key shown as a session is not taken for one, nor the reverse.
  readonly #recentKeys: RecentCallers<Caller>;
  readonly #recentSessions: RecentCallers<Caller>;

  constructor(parts: AuthParts) {
    this.#parts = parts;
    this.#now = parts.now ?? Date.now;
    this.#developers = new Developers(parts.store, this.#now);
    this.#recentKeys = new RecentCallers<Caller>(MAX_RECENT, this.#now);
    this.#recentSessions = new RecentCallers<Caller>(MAX_RECENT, this.#now);
  }

  apiKey(untrusted: string) {
    return this.#recentKeys.get(untrusted) ?? this.#apiKey(untrusted);
  }

  session(untrusted: string) {
    return this.#recentSessions.get(untrusted) ?? this.#session(untrusted);
  }

  origins() {
    return this.#developers.origins();
  }

  // Of a disabled one too: its pages are to learn that their credential is refused, and not that their origin is.
  async allowsOrigin(developerId: string, origin: string) {
    const developer = await this.#knownDeveloper(developerId);
    return developer !== undefined && letsIn(developer, origin);
  }

  async mint(
    developerId: string,
    sub: string,
    perms: readonly ("read" | "write")[],
    ttlSecs: number,
    latestExp = Infinity,
  ) {
    // From the store: a token made in the moment after a revocation must carry the new epoch.
    const developer = enabled(await this.#parts.store.developer(developerId));
    if (developer === undefined) return undefined;
    const exp = Math.min(Math.floor(this.#now() / 1000) + ttlSecs, latestExp);
    const userEpoch = await this.#parts.store.userEpoch(developerId, sub);
    const claims = { developerId, sub, perms, exp, epoch: developer.sessionEpoch, userEpoch };
    return { token: mintSessionToken(this.#parts.keyRing, this.#parts.chainId, claims), exp };
  }

  /** From memory; one just added is read, for it must not wait until memory is refreshed. */
  async #knownDeveloper(id: string): Promise<Developer | undefined> {
    return (await this.#developers.get(id)) ?? (await this.#parts.store.developer(id));
  }

  async #developerOf(id: string): Promise<Developer | undefined> {
    return enabled(await this.#knownDeveloper(id));
  }

  async #apiKey(untrusted: string): Promise<Caller | Refusal> {
    const askedAt = this.#now();
    const key = await verifyApiKey(this.#parts.store, this.#parts.pepper, untrusted);
    if (key === undefined) return "INVALID_CREDENTIAL";
    const developer = await this.#developerOf(key.developerId);
    if (developer === undefined) return "INVALID_CREDENTIAL";
    noteUse(this.#parts.store, key, this.#now()).catch((error: unknown) => this.#parts.onFault?.(error));
    const caller: Caller = {
      principal: { kind: "api-key", developerId: developer.id, developerName: developer.name, keyId: key.id },
      developer,
      stillGood: async () => {
        const again = await this.#parts.store.key(key.id);
        if (again === undefined || again.revokedAt !== undefined) return false;
        return (await this.#developerOf(again.developerId)) !== undefined;
      },
    };
    this.#recentKeys.add(untrusted, caller, askedAt);
    return caller;
  }

  /** Developers from memory; the user's epoch is one read of a map that the system keeps in memory. */
  async #isRevoked(claims: SessionClaims, developer: Developer): Promise<boolean> {
    return (
      claims.epoch < developer.sessionEpoch ||
      claims.userEpoch < (await this.#parts.store.userEpoch(claims.developerId, claims.sub))
    );
  }

  async #session(untrusted: string): Promise<Caller | Refusal> {
    const askedAt = this.#now();
    const claims = readSessionToken(this.#parts.keyRing, this.#parts.chainId, untrusted);
    if (claims === undefined) return "INVALID_CREDENTIAL";
    const developer = await this.#developerOf(claims.developerId);
    // Revoked before expired: a revoked token must not be told to be exchanged as if it were merely old.
    if (developer === undefined || (await this.#isRevoked(claims, developer))) return "INVALID_CREDENTIAL";
    if (this.#now() >= claims.exp * 1000) return "SESSION_EXPIRED";
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
        const again = enabled(await this.#developers.get(claims.developerId));
        return again !== undefined && !(await this.#isRevoked(claims, again)) && this.#now() < exp * 1000;
      },
    };
    this.#recentSessions.add(untrusted, caller, askedAt, exp * 1000);
    return caller;
  }
}

export function createAuth(parts: AuthParts): Auth {
  return new KeyAuth(parts);
}

function enabled(developer: Developer | undefined): Developer | undefined {
  return developer?.disabledAt === undefined ? developer : undefined;
}
