/** Limits as they stand for a developer, and the dashboard's own on tries without a session. */
import type { UsageView } from "../../shared/dashboard/activity.ts";
import type { LimitDefaults } from "../config.ts";
import type { Limits } from "../limits/limits.ts";
import type { KeyStore } from "../store/keys.ts";
import type { WindowStore } from "../store/windows.ts";
import { DashboardError } from "./errors.ts";

export interface StandingParts {
  readonly limits: Pick<Limits, "standings">;
  readonly defaults: LimitDefaults;
  /** Whether the proxies count in a store that this program sees, too. */
  readonly isShared: boolean;
  readonly keys: Pick<KeyStore, "developer">;
}

const MINUTE_MS = 60_000;

export function createStandings({ limits, defaults, isShared, keys }: StandingParts) {
  return async (developerId: string): Promise<UsageView["limits"]> => {
    const developer = await keys.developer(developerId);
    if (developer === undefined) throw new DashboardError("NOT_FOUND");
    const principal = { kind: "api-key", developerId, developerName: developer.name, keyId: "" } as const;
    const found = await limits.standings(principal, developer.limits);
    return [
      {
        ...{ policy: "session-minute", window_secs: MINUTE_MS / 1000, used: null },
        quota: developer.limits.sessionPerMinute ?? defaults.sessionPerMinute,
      },
      ...found.map(({ policy, quota, windowSecs, remaining }) => ({
        ...{ policy, quota, window_secs: windowSecs, used: isShared ? quota - remaining : null },
      })),
    ];
  };
}

/** Counts a try of this address, whatever comes of it. Throws RATE_LIMITED. */
export function createTries(windows: Pick<WindowStore, "take">, perMinute: number) {
  return async (address: string): Promise<void> => {
    const rule = { policy: "dashboard-tries", key: address, windowMs: MINUTE_MS, quota: perMinute };
    const { isAdmitted, states } = await windows.take([rule]);
    if (isAdmitted) return;
    const retryAfterSecs = Math.max(1, Math.ceil((states[0]?.oldestLeavesInMs ?? MINUTE_MS) / 1000));
    throw new DashboardError("RATE_LIMITED", "Too many tries from this address; wait a moment", {
      retryAfterSecs,
    });
  };
}
