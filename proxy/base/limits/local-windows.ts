/**
 * Windows and leases of this process alone. All work happens before the promise is returned, so nothing comes
 * between looking and counting. Lost with the process, which is allowed.
 */
import type { Taken, WindowRule, WindowState, WindowStore } from "../store/windows.ts";
import { SlidingWindows } from "./windows.store.ts";

/** Bounds memory for each policy: a key costs at most 8 bytes an admitted request. */
const MAX_KEYS = 50_000;

export class LocalWindows implements WindowStore {
  readonly #now: () => number;
  readonly #byPolicy = new Map<string, Map<number, SlidingWindows>>();
  readonly #leases = new Map<string, Set<string>>();

  constructor(now: () => number = Date.now) {
    this.#now = now;
  }

  async take(rules: readonly WindowRule[]): Promise<Taken> {
    const before = this.look(rules);
    if (!before.every(({ used }, i) => used < rules[i]!.quota)) return { isAdmitted: false, states: before };
    return { isAdmitted: true, states: rules.map((rule) => this.#windowsOf(rule).admit(rule.key)) };
  }

  async peek(rules: readonly WindowRule[]): Promise<readonly WindowState[]> {
    return this.look(rules);
  }

  /** `peek`, at once. */
  look(rules: readonly WindowRule[]): readonly WindowState[] {
    return rules.map((rule) => this.#windowsOf(rule).peek(rule.key));
  }

  /** Counts what was admitted elsewhere, `at` milliseconds. */
  admit(rules: readonly WindowRule[], at: number): void {
    for (const rule of rules) this.#windowsOf(rule).admit(rule.key, at);
  }

  /** Held until its end: this process knows what it holds. */
  async openLease(group: string, id: string, most: number): Promise<boolean> {
    const held = this.#leases.get(group) ?? new Set();
    if (held.size >= most) return false;
    this.#leases.set(group, held.add(id));
    return true;
  }

  async keepLeases(): Promise<void> {
    // Nothing here forgets them.
  }

  async endLease(group: string, id: string): Promise<void> {
    const held = this.#leases.get(group);
    held?.delete(id);
    if (held?.size === 0) this.#leases.delete(group);
  }

  #windowsOf({ policy, windowMs }: WindowRule): SlidingWindows {
    let byLength = this.#byPolicy.get(policy);
    if (byLength === undefined) this.#byPolicy.set(policy, (byLength = new Map<number, SlidingWindows>()));
    let windows = byLength.get(windowMs);
    if (windows === undefined)
      byLength.set(windowMs, (windows = new SlidingWindows(windowMs, MAX_KEYS, this.#now)));
    return windows;
  }
}
