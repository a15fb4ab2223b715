/**
 * Counting over time, in domain terms: how often something happened within a window, and how many leases of a
 * group are held. One store counts in this process, one across every proxy of an instance.
 */

export interface WindowRule {
  /** Name of the limit; rules of different policies never share a count. */
  readonly policy: string;
  /** Who is counted: any text. */
  readonly key: string;
  readonly windowMs: number;
  /** Most that is admitted in any `windowMs`. */
  readonly quota: number;
}

export interface WindowState {
  readonly used: number;
  /** Milliseconds until the oldest counted one leaves the window; 0 when none is counted. */
  readonly oldestLeavesInMs: number;
}

export interface Taken {
  readonly isAdmitted: boolean;
  /** In the order of the rules, as they stand afterwards. */
  readonly states: readonly WindowState[];
}

export interface WindowStore {
  /** Counts one under every rule; when one of them is used up, under none. */
  take(rules: readonly WindowRule[]): Promise<Taken>;
  peek(rules: readonly WindowRule[]): Promise<readonly WindowState[]>;
  /** False when `most` leases of the group are held. A lease that is not kept may be forgotten after LEASE_MS. */
  openLease(group: string, id: string, most: number): Promise<boolean>;
  keepLeases(group: string, ids: readonly string[]): Promise<void>;
  endLease(group: string, id: string): Promise<void>;
}

/** So long the streams of a proxy that was killed still count. */
export const LEASE_MS = 60_000;
