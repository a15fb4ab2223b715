/**
 * Windows counted across proxies, as long as their store answers in time; else those of this process, at once. A
 * caller never waits longer than the deadline, never sees the fault, and is never unlimited.
 */
import type { Taken, WindowRule, WindowState, WindowStore } from "../store/windows.ts";
import type { LocalWindows } from "./local-windows.ts";

export interface SharedStore extends WindowStore {
  /** Resolves when the store answers; repairs its connection where that is needed. */
  revive(): Promise<void>;
}

export interface SharedWindowsOptions {
  /** Longest wait for one answer. Default 100 ms: a busy moment of our own is shorter. */
  readonly deadlineMs?: number;
  /** From one try to reach the store again to the next. */
  readonly reviveEveryMs?: number;
  readonly now?: () => number;
  /** Once when the store is lost, once when it is back. */
  readonly onUnreachable?: (error: unknown) => void;
  readonly onReachable?: () => void;
}

export class SharedWindows implements WindowStore {
  readonly #local: LocalWindows;
  readonly #shared: SharedStore;
  readonly #options: Required<SharedWindowsOptions>;
  #isUnreachable = false;
  #isClosed = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(local: LocalWindows, shared: SharedStore, options: SharedWindowsOptions = {}) {
    this.#local = local;
    this.#shared = shared;
    this.#options = {
      deadlineMs: 100,
      reviveEveryMs: 1_000,
      now: Date.now,
      onUnreachable: () => undefined,
      onReachable: () => undefined,
      ...options,
    };
  }

  get isUnreachable(): boolean {
    return this.#isUnreachable;
  }

  /** Looks for the store once. Resolves in any case: a service starts without it, too. */
  async start(): Promise<void> {
    try {
      await within(this.#options.reviveEveryMs, () => this.#shared.revive());
    } catch (error) {
      this.#lost(error);
    }
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
  }

  async take(rules: readonly WindowRule[]): Promise<Taken> {
    // What this process admitted is a part of the whole: used up here is used up, and a store that was lost and
    // came back empty gives nobody a second helping of it. Noted with the time before the question, so that it
    // leaves our window no later than the store's.
    const at = this.#options.now();
    const here = this.#local.look(rules);
    if (here.some(({ used }, i) => used >= rules[i]!.quota)) return { isAdmitted: false, states: here };
    const taken = await this.#ask(() => this.#shared.take(rules));
    if (taken === undefined) return this.#local.take(rules);
    if (taken.isAdmitted) this.#local.admit(rules, at);
    return taken;
  }

  async peek(rules: readonly WindowRule[]): Promise<readonly WindowState[]> {
    const shared = await this.#ask(() => this.#shared.peek(rules));
    const here = this.#local.look(rules);
    return here.map((state, i) => {
      const whole = shared?.[i];
      return whole === undefined || whole.used < state.used ? state : whole;
    });
  }

  async openLease(group: string, id: string, most: number): Promise<boolean> {
    // First here, where it is one step: two that ask together cannot both get the last one.
    if (!(await this.#local.openLease(group, id, most))) return false;
    if ((await this.#ask(() => this.#shared.openLease(group, id, most))) !== false) return true;
    await this.#local.endLease(group, id);
    return false;
  }

  async keepLeases(group: string, ids: readonly string[]): Promise<void> {
    await this.#ask(() => this.#shared.keepLeases(group, ids));
  }

  async endLease(group: string, id: string): Promise<void> {
    await this.#local.endLease(group, id);
    await this.#ask(() => this.#shared.endLease(group, id));
  }

  /** Undefined when the store is unreachable, which costs at most one deadline for those who find out. */
  async #ask<T>(question: () => Promise<T>): Promise<T | undefined> {
    if (this.#isUnreachable) return undefined;
    try {
      return await within(this.#options.deadlineMs, question);
    } catch (error) {
      this.#lost(error);
      return undefined;
    }
  }

  #lost(error: unknown): void {
    if (this.#isUnreachable || this.#isClosed) return;
    this.#isUnreachable = true;
    this.#options.onUnreachable(error);
    this.#reviveLater();
  }

  /** Only this asks an unreachable store; requests do not pay for finding out. */
  #reviveLater(): void {
    if (this.#isClosed) return;
    this.#timer = setTimeout(() => {
      within(this.#options.reviveEveryMs, () => this.#shared.revive()).then(
        () => {
          this.#isUnreachable = false;
          if (!this.#isClosed) this.#options.onReachable();
        },
        () => this.#reviveLater(),
      );
    }, this.#options.reviveEveryMs);
    this.#timer.unref();
  }
}

function within<T>(ms: number, question: () => Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      // After a moment in which we ourselves were busy the answer may be here, unread: read first, then judge.
      setImmediate(() => reject(new Error(`no answer within ${String(ms)} ms`)));
    }, ms);
    question()
      .then(resolve, reject)
      .finally(() => clearTimeout(timer));
  });
}
