/**
 * Takes a lease when it is free and keeps it while this process runs. What is said here may be out of
 * date a moment later; the fence at each write is what keeps two holders apart.
 */
import { randomUUID } from "node:crypto";
import type { Fence, Lease } from "./store/lease.ts";

export interface LeaseKeeperOptions {
  /** How long the lease outlives a holder that has died or is cut off. */
  readonly leaseMs: number;
  readonly onChange: (fence: Fence | undefined) => void;
  readonly onFault: (error: unknown) => void;
}

/** Tries in one lease, so that one that is lost does not lose the lease. */
const TRIES = 3;

export class LeaseKeeper {
  readonly #lease: Pick<Lease, "take" | "giveBack">;
  readonly #options: LeaseKeeperOptions;
  readonly #holder = randomUUID();
  #fence: Fence | undefined;
  /** By the monotonic clock, which goes on while a process is stopped. */
  #until = 0;
  #announced: Fence | undefined;
  #timer: NodeJS.Timeout | undefined;
  #trying: Promise<void> | undefined;
  #isStopped = false;
  #isInvalid = false;
  #isSteppingDown = false;
  #waitMs: number;

  constructor(lease: Pick<Lease, "take" | "giveBack">, options: LeaseKeeperOptions) {
    this.#lease = lease;
    this.#options = options;
    this.#waitMs = options.leaseMs / TRIES;
  }

  start(): void {
    this.#trying = this.#attempt().finally(() => {
      this.#trying = undefined;
      if (!this.#isStopped) this.#timer = setTimeout(() => this.start(), this.#waitMs);
    });
  }

  /** The fence while this process has the lease, by its own clock. */
  current(): Fence | undefined {
    return !this.#isInvalid && performance.now() < this.#until ? this.#fence : undefined;
  }

  /**
   * A write under the lease got no answer. It may still arrive, from a network that was slow or a system that goes on
   * sending it, and would then write over what was written since: there is no fence until there is a new one.
   */
  invalidate(): void {
    if (this.#isInvalid) return;
    this.#isInvalid = true;
    this.#keepSoon();
  }

  /** Gives the lease back, and asks for it again when the others have had time to. */
  stepDown(): void {
    this.#isSteppingDown = true;
    this.#keepSoon();
  }

  /** Gives the lease back. Call it when nothing is written any more. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    await this.#trying;
    this.#until = 0;
    await this.#lease.giveBack(this.#holder).catch(this.#options.onFault);
  }

  async #attempt(): Promise<void> {
    if (this.#isSteppingDown) {
      this.#isSteppingDown = false;
      this.#waitMs = this.#options.leaseMs;
      this.#until = 0;
      await this.#lease.giveBack(this.#holder).catch(this.#options.onFault);
      this.#announce();
      return;
    }
    this.#waitMs = this.#options.leaseMs / TRIES;
    const askedAt = performance.now();
    const wantsNewFence = this.#isInvalid;
    try {
      this.#fence = await this.#lease.take(this.#holder, this.#options.leaseMs, wantsNewFence);
      this.#until = askedAt + this.#options.leaseMs;
      if (wantsNewFence) this.#isInvalid = false;
    } catch (error) {
      // Not known whether it was kept: it counts until its time is over.
      this.#options.onFault(error);
    }
    this.#announce();
  }

  #announce(): void {
    const has = this.current();
    if (has === this.#announced) return;
    this.#announced = has;
    this.#options.onChange(has);
  }

  /** At once, unless it is being asked for: then in its turn. */
  #keepSoon(): void {
    if (this.#trying !== undefined || this.#isStopped) return;
    clearTimeout(this.#timer);
    this.start();
  }
}
