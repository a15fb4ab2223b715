/**
 * Exchanges an identity provider's access token for a session of the app's developer. The caller has shown
 * nothing yet: the token is all there is, and every kind of bad token is refused with the same words.
 */
import type { ExchangeRequest, SessionResponse } from "../../../shared/api/credentials.ts";
import type { Auth } from "../auth/auth.ts";
import { ApiError } from "../../base/http/errors.ts";
import { judgeAccessToken } from "../identity/access-token.ts";
import type { KeysUnavailable, KeySets } from "../identity/key-sets.ts";
import type { Logger } from "../../base/logging.ts";
import type { AppStore } from "../../base/store/apps.ts";

/** All that is known of who asks. */
export interface ExchangeCaller {
  readonly address: string;
  /** The browser's; undefined where there is none. */
  readonly origin: string | undefined;
}

export interface Exchange {
  exchange(request: ExchangeRequest, from: ExchangeCaller): Promise<SessionResponse>;
}

export interface ExchangeParts {
  readonly apps: AppStore;
  readonly auth: Pick<Auth, "mint" | "allowsOrigin">;
  readonly keySets: KeySets;
  readonly logger: Pick<Logger, "info" | "warn">;
  /** Milliseconds. */
  readonly now: () => number;
}

export function createExchange({ apps, auth, keySets, logger, now }: ExchangeParts): Exchange {
  return {
    async exchange(
      { app_id: appId, access_token: untrusted, perms: wanted, ttl_secs: ttlSecs },
      { address, origin },
    ) {
      const app = await apps.app(appId);
      if (app === undefined) throw new ApiError("APP_UNKNOWN", "No identity-provider app has this id");
      // Before the token is looked at: another site's page must not use this one as its oracle.
      if (origin !== undefined && !(await auth.allowsOrigin(app.developerId, origin))) {
        throw new ApiError("FORBIDDEN", "This origin is not registered for the app's developer");
      }
      const judged = await judgeAccessToken(untrusted, app, keySets, address, now());
      if (judged.kind === "keys-unavailable") {
        throw unjudged(judged.why);
      }
      if (judged.kind === "bad") {
        // The operator may know which rule; who holds a forged token may not.
        logger.info({ app: app.id, reason: judged.reason }, "an access token was refused");
        throw refused();
      }
      const perms = wanted ?? [...app.perms];
      if (!perms.every((perm) => app.perms.includes(perm))) {
        throw new ApiError("FORBIDDEN", "The app may not have these permissions");
      }
      const { sub, exp: latestExp } = judged.token;
      const minted = await auth.mint(
        app.developerId,
        sub,
        perms,
        Math.min(ttlSecs ?? app.maxTtlSecs, app.maxTtlSecs),
        Math.floor(latestExp),
      );
      // The developer is gone; its apps are worth nothing.
      if (minted === undefined) throw refused();
      return { ...minted, sub, perms };
    },
  };
}

/** Nothing is said against the token. What strangers can bring about with a key of their own is no fault of ours, so no 5xx. */
function unjudged({ retryAfterSecs, isProviderThere }: KeysUnavailable): ApiError {
  return isProviderThere
    ? new ApiError("RATE_LIMITED", "The token's key is not known yet, and the provider was asked just now", {
        retryAfterSecs,
        policy: "provider-keys",
      })
    : new ApiError("STORE_UNAVAILABLE", "The identity provider's keys cannot be had at the moment", {
        retryAfterSecs,
      });
}

/** Not SESSION_EXPIRED even where the token is merely old: that code speaks of sessions of ours. */
function refused(): ApiError {
  return new ApiError("INVALID_CREDENTIAL", "The access token is not valid for this app");
}
