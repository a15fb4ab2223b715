/**
 * How much a caller may ask for. Windows are per (developer, user) with a session, per developer with an API key
 * and per address without either; open streams, refused credentials and bad proofs are counted beside them.
 * Where the counting happens is the window store's affair.
 */
import { randomUUID } from "node:crypto";
import type { LimitDefaults } from "../instance-config.ts";
import { ApiError } from "../http/errors.ts";
import type { LimitOverrides, Principal } from "../http/state.ts";
import { LEASE_MS, type WindowRule, type WindowState, type WindowStore } from "../store/windows.ts";

/** Who is counted: the owner of a credential, or where a request without one comes from. */
export type Counted = Principal | { readonly kind: "address"; readonly address: string };

/** One policy as it stands for a caller; the shape of `/whoami`'s limits and of the RateLimit headers. */
export interface Standing {
  readonly policy: string;
  readonly quota: number;
  readonly windowSecs: number;
  readonly remaining: number;
  /** Seconds until the oldest counted request leaves the window. */
  readonly resetSecs: number;
}

export interface Charge {
  /** Undefined when the request may go on. */
  readonly refusal: ApiError | undefined;
  readonly standings: readonly Standing[];
}

/** A transaction whose proof is not judged yet. */
export interface ProofAttempt {
  /** To be awaited before the caller is answered, or it could send the next one uncounted. */
  bad(): Promise<void>;
  end(): void;
}

interface StreamCap {
  readonly group: string;
  readonly most: number;
  readonly policy: string;
}

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
/** Twice before a lease ends, so that one lost try forgets no stream. */
const KEEP_EVERY_MS = LEASE_MS / 3;
/** Groups kept at once: all of ten thousand streams together would make requests wait behind them. */
const KEPT_TOGETHER = 100;
/**
 * What all users of a developer have together, in shares of one user. Users are names that a developer invents: without it
 * one developer could have every connection, and the verifiers' time.
 */
const USERS_WITH_STREAMS = 1_000;
const USERS_WITH_BAD_PROOFS = 50;
/** In shares of what a developer's keys may ask in a day: some 100 MB of store by default. */
const DAYS_OF_KEPT_ANSWERS = 10;

export class Limits {
  readonly #defaults: LimitDefaults;
  readonly #windows: WindowStore;
  #open = 0;
  /** Open streams of this process, in each group that counts them. */
  readonly #leases = new Map<string, Set<string>>();
  /** Payments of a user that are under way here. */
  readonly #proving = new Map<string, number>();
  #keeper: NodeJS.Timeout | undefined;
  /** Of this process among those that share the windows; with a number, of a stream. */
  readonly #name = randomUUID();
  #opened = 0;

  constructor(defaults: LimitDefaults, windows: WindowStore) {
    this.#defaults = defaults;
    this.#windows = windows;
  }

  /** Counts one request. When a policy is used up, none is charged and the refusal names it. */
  async take(counted: Counted, overrides: LimitOverrides): Promise<Charge> {
    const rules = this.#rulesOf(counted, overrides);
    const { isAdmitted, states } = await this.#windows.take(rules);
    const standings = standingsOf(rules, states);
    if (isAdmitted) return { refusal: undefined, standings };
    // The one that is longest used up: to come back earlier would be in vain.
    const [hit] = standings
      .filter(({ remaining }) => remaining === 0)
      .sort((a, b) => b.resetSecs - a.resetSecs);
    return { refusal: refusalOf(hit ?? standings[0]!), standings };
  }

  async standings(counted: Counted, overrides: LimitOverrides): Promise<readonly Standing[]> {
    const rules = this.#rulesOf(counted, overrides);
    return standingsOf(rules, await this.#windows.peek(rules));
  }

  /**
   * Counts an open event stream of this caller until the returned function is called (calling it again
   * does nothing). Throws RATE_LIMITED when too many are open.
   */
  async openStream(principal: Principal): Promise<() => void> {
    const id = `${this.#name}-${this.#opened++}`;
    const ends: (() => void)[] = [];
    const end = (): void => ends.splice(0).forEach((one) => one());
    try {
      for (const cap of this.#streamCaps(principal)) ends.push(await this.#openLease(id, cap));
    } catch (error) {
      end();
      throw error;
    }
    this.#open += 1;
    ends.push(() => (this.#open -= 1));
    this.#keeper ??= setInterval(() => void this.#keepLeases(), KEEP_EVERY_MS).unref();
    return end;
  }

  /** Event streams that are open at this proxy. */
  openStreams(): number {
    return this.#open;
  }

  #streamCaps(principal: Principal): readonly StreamCap[] {
    const { streamsPerUser, streamsPerDeveloper } = this.#defaults;
    const own = `streams ${userKey(principal)}`;
    if (principal.kind !== "session")
      return [{ group: own, most: streamsPerDeveloper, policy: "streams-developer" }];
    return [
      { group: own, most: streamsPerUser, policy: "streams-user" },
      {
        ...{ group: `streams users ${principal.developerId}`, policy: "streams-users" },
        most: streamsPerUser * USERS_WITH_STREAMS,
      },
    ];
  }

  async #openLease(id: string, { group, most, policy }: StreamCap): Promise<() => void> {
    if (!(await this.#windows.openLease(group, id, most)))
      throw new ApiError("RATE_LIMITED", `At most ${most} event streams may be open at once`, {
        ...{ retryAfterSecs: 5, policy },
      });
    this.#leases.set(group, (this.#leases.get(group) ?? new Set()).add(id));
    return () => {
      const held = this.#leases.get(group);
      held?.delete(id);
      if (held?.size === 0) this.#leases.delete(group);
      void this.#windows.endLease(group, id);
    };
  }

  /** Notes a refused credential; true when this address has had too many in the last minute. */
  async failed(address: string): Promise<boolean> {
    const quota = this.#defaults.failuresPerMinute;
    const rule = { policy: "failed-credentials", key: address, windowMs: MINUTE_MS, quota };
    return !(await this.#windows.take([rule])).isAdmitted;
  }

  /**
   * A user's transaction before its proof is judged. Users share the enclave's connection, so one who keeps
   * sending bad proofs is put off until fewer of them lie in the last minute. Throws RATE_LIMITED.
   */
  async beginProof(principal: Principal): Promise<ProofAttempt> {
    const key = userKey(principal);
    const quota = this.#defaults.badProofsPerMinute;
    const rules = [
      { policy: "bad-proofs", key, windowMs: MINUTE_MS, quota },
      {
        ...{ policy: "bad-proofs-users", key: principal.developerId, windowMs: MINUTE_MS },
        quota: quota * USERS_WITH_BAD_PROOFS,
      },
    ];
    const states = await this.#windows.peek(rules);
    // A user's that are under way may be bad, too, or a burst would pass before the first is judged. Not so with
    // a key: behind it a whole shop may wait for its tickets, and its own limits bound a burst.
    const underWay = principal.kind === "session" ? (this.#proving.get(key) ?? 0) : 0;
    for (const [i, rule] of rules.entries()) {
      const { used, oldestLeavesInMs } = states[i]!;
      if (used + (i === 0 ? underWay : 0) < rule.quota) continue;
      const whose = i === 0 ? "this user" : "this developer's users";
      throw new ApiError("RATE_LIMITED", `Too many proofs of ${whose} did not verify in the last minute`, {
        retryAfterSecs: Math.max(1, Math.ceil(oldestLeavesInMs / 1000)),
        policy: rule.policy,
      });
    }
    this.#proving.set(key, (this.#proving.get(key) ?? 0) + 1);
    return {
      bad: async () => {
        await this.#windows.take(rules);
      },
      end: () => {
        const left = (this.#proving.get(key) ?? 1) - 1;
        if (left === 0) this.#proving.delete(key);
        else this.#proving.set(key, left);
      },
    };
  }

  /**
   * A request whose answer will be kept for a day. A key's own day bounds that; a developer's users have a share together.
   * Throws RATE_LIMITED.
   */
  async keepAnswer(principal: Principal, overrides: LimitOverrides): Promise<void> {
    if (principal.kind !== "session") return;
    const rule = {
      ...{ policy: "kept-answers-users", key: principal.developerId, windowMs: DAY_MS },
      quota: DAYS_OF_KEPT_ANSWERS * (overrides.keyPerDay ?? this.#defaults.keyPerDay),
    };
    const { isAdmitted, states } = await this.#windows.take([rule]);
    if (!isAdmitted) throw refusalOf(standingsOf([rule], states)[0]!);
  }

  close(): void {
    clearInterval(this.#keeper);
  }

  async #keepLeases(): Promise<void> {
    const groups = [...this.#leases];
    for (let at = 0; at < groups.length; at += KEPT_TOGETHER) {
      const some = groups.slice(at, at + KEPT_TOGETHER);
      await Promise.all(some.map(([group, ids]) => this.#windows.keepLeases(group, [...ids])));
    }
  }

  #rulesOf(counted: Counted, overrides: LimitOverrides): readonly WindowRule[] {
    const defaults = this.#defaults;
    switch (counted.kind) {
      case "address":
        return [
          {
            policy: "exchange-address",
            key: counted.address,
            windowMs: MINUTE_MS,
            quota: defaults.exchangesPerMinute,
          },
        ];
      case "session":
        return [
          {
            policy: "session-minute",
            key: userKey(counted),
            windowMs: MINUTE_MS,
            quota: overrides.sessionPerMinute ?? defaults.sessionPerMinute,
          },
        ];
      case "api-key": {
        const key = counted.developerId;
        const minute = overrides.keyPerMinute ?? defaults.keyPerMinute;
        const day = overrides.keyPerDay ?? defaults.keyPerDay;
        return [
          { policy: "key-minute", key, windowMs: MINUTE_MS, quota: minute },
          { policy: "key-day", key, windowMs: DAY_MS, quota: day },
        ];
      }
    }
  }
}

function standingsOf(rules: readonly WindowRule[], states: readonly WindowState[]): readonly Standing[] {
  return rules.map(({ policy, quota, windowMs }, i) => ({
    policy,
    quota,
    windowSecs: windowMs / 1000,
    remaining: Math.max(0, quota - (states[i]?.used ?? 0)),
    resetSecs: Math.ceil((states[i]?.oldestLeavesInMs ?? 0) / 1000),
  }));
}

function refusalOf({ policy, quota, windowSecs, resetSecs }: Standing): ApiError {
  return new ApiError("RATE_LIMITED", `The limit ${policy} (${quota} in ${windowSecs} s) is used up`, {
    retryAfterSecs: Math.max(1, resetSecs),
    policy,
  });
}

/** Kinds and developers' ids hold no space, so no `sub` can reach into another window. */
function userKey(principal: Principal): string {
  const { kind, developerId } = principal;
  return kind === "session" ? `${kind} ${developerId} ${principal.sub}` : `${kind} ${developerId}`;
}
