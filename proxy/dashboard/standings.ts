/** Limits as they stand for a developer, and the dashboard's own: on tries without a session, and on changes with one. */
import type { UsageView } from "./contract/activity.ts";
import type { LimitDefaults } from "../base/instance-config.ts";
import type { Limits } from "../base/limits/limits.ts";
import type { KeyStore } from "../base/store/keys.ts";
import type { WindowRule, WindowStore } from "../base/store/windows.ts";
import { DashboardError } from "./errors.ts";

export interface StandingParts {
  readonly limits: Pick<Limits, "standings">;
  readonly defaults: LimitDefaults;
  /** Whether the proxies count in a store that this program sees, too. */
  readonly isShared: boolean;
  readonly keys: Pick<KeyStore, "developer">;
}

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

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

type Windows = Pick<WindowStore, "take">;
/** Counts one of this key, whatever comes of it. Throws RATE_LIMITED. */
export type Count = (key: string) => Promise<void>;

/** By network address. */
export const createTries = (windows: Windows, perMinute: number): Count =>
  counting(
    windows,
    { policy: "dashboard-tries", windowMs: MINUTE_MS, quota: perMinute },
    "Too many tries from this address; wait a moment",
  );

/** By account: each change stays in the audit log permanently, so without an end to them the store has one. */
export const createChanges = (windows: Windows, perDay: number): Count =>
  counting(
    windows,
    { policy: "dashboard-changes", windowMs: DAY_MS, quota: perDay },
    "Too many changes by this account within a day",
  );

const counting =
  (windows: Windows, rule: Omit<WindowRule, "key">, words: string): Count =>
  async (key) => {
    const { isAdmitted, states } = await windows.take([{ ...rule, key }]);
    if (isAdmitted) return;
    const retryAfterSecs = Math.max(1, Math.ceil((states[0]?.oldestLeavesInMs ?? rule.windowMs) / 1000));
    throw new DashboardError("RATE_LIMITED", words, { retryAfterSecs });
  };
