/**
 * How much a caller may ask for. Windows are per (developer, user) with a session and per developer with
 * an API key; open streams and refused credentials are counted beside them.
 */
import { ApiError } from "../http/errors.ts";
import type { LimitOverrides, Principal } from "../http/state.ts";
import type { LimitDefaults } from "../config.ts";
import { SlidingWindows } from "./windows.store.ts";

/** One policy as it stands for a caller; the shape of `/whoami`'s limits and of the RateLimit headers. */
export interface Standing {
  readonly policy: string;
  readonly quota: number;
  readonly windowSecs: number;
  readonly remaining: number;
  /** Seconds until the oldest counted request leaves the window. */
  readonly resetSecs: number;
}

/** Who is counted: the owner of a credential, or where a request without one comes from. */
export type Counted = Principal | { readonly kind: "address"; readonly address: string };

interface Policy {
  readonly name: string;
  readonly windows: SlidingWindows;
  readonly windowSecs: number;
  readonly quota: number;
  readonly key: string;
}

const MINUTE_SECS = 60;
const DAY_SECS = 86_400;
/** Bounds memory: a key costs at most 8 bytes an admitted request. */
const MAX_KEYS = 50_000;

export class Limits {
  readonly #defaults: LimitDefaults;
  readonly #sessionMinute: SlidingWindows;
  readonly #keyMinute: SlidingWindows;
  readonly #keyDay: SlidingWindows;
  readonly #failures: SlidingWindows;
  readonly #exchanges: SlidingWindows;
  readonly #openStreams = new Map<string, number>();

  constructor(defaults: LimitDefaults, now: () => number = Date.now) {
    const windows = (secs: number): SlidingWindows => new SlidingWindows(secs * 1000, MAX_KEYS, now);
    this.#defaults = defaults;
    this.#sessionMinute = windows(MINUTE_SECS);
    this.#keyMinute = windows(MINUTE_SECS);
    this.#keyDay = windows(DAY_SECS);
    this.#failures = windows(MINUTE_SECS);
    this.#exchanges = windows(MINUTE_SECS);
  }

  /** Counts one request. When a policy is used up, none is charged and the refusal names it. */
  take(counted: Counted, overrides: LimitOverrides): ApiError | undefined {
    const policies = this.#policiesOf(counted, overrides);
    const hit = policies.map(standingOf).find(({ remaining }) => remaining === 0);
    if (hit !== undefined) {
      return new ApiError(
        "RATE_LIMITED",
        `The limit ${hit.policy} (${hit.quota} in ${hit.windowSecs} s) is used up`,
        {
          retryAfterSecs: Math.max(1, hit.resetSecs),
          policy: hit.policy,
        },
      );
    }
    for (const { windows, key } of policies) windows.admit(key);
    return undefined;
  }

  standings(counted: Counted, overrides: LimitOverrides): readonly Standing[] {
    return this.#policiesOf(counted, overrides).map(standingOf);
  }

  /**
   * Counts an open event stream of this caller until the returned function is called (calling it again
   * does nothing). Throws RATE_LIMITED when too many are open.
   */
  openStream(principal: Principal): () => void {
    const isSession = principal.kind === "session";
    const key = isSession ? userKey(principal.developerId, principal.sub) : principal.developerId;
    const most = isSession ? this.#defaults.streamsPerUser : this.#defaults.streamsPerDeveloper;
    const bucket = `${principal.kind} ${key}`;
    const open = this.#openStreams.get(bucket) ?? 0;
    if (open >= most) {
      throw new ApiError("RATE_LIMITED", `At most ${most} event streams may be open at once`, {
        retryAfterSecs: 5,
        policy: isSession ? "streams-user" : "streams-developer",
      });
    }
    this.#openStreams.set(bucket, open + 1);
    let isOpen = true;
    return () => {
      if (!isOpen) return;
      isOpen = false;
      const left = (this.#openStreams.get(bucket) ?? 1) - 1;
      if (left === 0) this.#openStreams.delete(bucket);
      else this.#openStreams.set(bucket, left);
    };
  }

  /** Notes a refused credential; true when this address has had too many in the last minute. */
  failed(address: string): boolean {
    const tooMany = this.#failures.peek(address).used >= this.#defaults.failuresPerMinute;
    if (!tooMany) this.#failures.admit(address);
    return tooMany;
  }

  #policiesOf(principal: Counted, overrides: LimitOverrides): readonly Policy[] {
    if (principal.kind === "address") {
      return [
        {
          name: "exchange-address",
          windows: this.#exchanges,
          windowSecs: MINUTE_SECS,
          quota: this.#defaults.exchangesPerMinute,
          key: principal.address,
        },
      ];
    }
    if (principal.kind === "session") {
      return [
        {
          name: "session-minute",
          windows: this.#sessionMinute,
          windowSecs: MINUTE_SECS,
          quota: overrides.sessionPerMinute ?? this.#defaults.sessionPerMinute,
          key: userKey(principal.developerId, principal.sub),
        },
      ];
    }
    const key = principal.developerId;
    return [
      {
        name: "key-minute",
        windows: this.#keyMinute,
        windowSecs: MINUTE_SECS,
        quota: overrides.keyPerMinute ?? this.#defaults.keyPerMinute,
        key,
      },
      {
        name: "key-day",
        windows: this.#keyDay,
        windowSecs: DAY_SECS,
        quota: overrides.keyPerDay ?? this.#defaults.keyPerDay,
        key,
      },
    ];
  }
}

function standingOf({ name, windows, windowSecs, quota, key }: Policy): Standing {
  const { used, oldestLeavesInMs } = windows.peek(key);
  return {
    policy: name,
    quota,
    windowSecs,
    remaining: Math.max(0, quota - used),
    resetSecs: Math.ceil(oldestLeavesInMs / 1000),
  };
}

/** A developer's id holds no space, so no `sub` can reach into another developer's window. */
function userKey(developerId: string, sub: string): string {
  return `${developerId} ${sub}`;
}
