/**
 * Counts each developer's requests and refusals in memory, and pours them into the store every few seconds and at an
 * orderly stop: the store is never asked for a request. What was counted since the last pour is lost with a process that
 * is killed. A pour that got no answer is sent again as it was, and counts once (`UsageStore.pour`).
 */
import { randomUUID } from "node:crypto";
import { ENDPOINTS, type Endpoint } from "../../../shared/api/endpoints.ts";
import type { ErrorCode } from "../../../shared/api/errors.ts";
import type { Logger } from "../../base/logging.ts";
import { dayOf, type Counted, type UsageStore } from "../../base/store/usage.ts";

/** What a kill loses. */
export const POUR_MS = 5_000;
/** Sums of one step. */
const MOST_SUMS = 200;

const NAMES = new Map<Endpoint, string>(
  Object.entries(ENDPOINTS).map(([name, endpoint]) => [endpoint, name]),
);

/** Of one operation: by the code of its refusal, undefined for none. */
type ByCode = Map<ErrorCode | undefined, number>;

export interface UsageCounterParts {
  readonly store: Pick<UsageStore, "pour">;
  readonly logger: Pick<Logger, "warn">;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  readonly pourMs?: number;
}

export class UsageCounter {
  readonly #parts: UsageCounterParts;
  readonly #pourMs: number;
  #day: number;
  #live = new Map<string, Map<Endpoint | undefined, ByCode>>();
  /** Taken from `live`, each sum once, however long the store does not answer. */
  readonly #waiting = new Map<string, Counted>();
  /** A pour of which it is not known whether it was made. */
  #underWay: readonly Counted[] = [];
  #source = randomUUID();
  #number = 1;
  #timer: NodeJS.Timeout | undefined;
  #pouring: Promise<void> | undefined;
  #isFailing = false;

  constructor(parts: UsageCounterParts) {
    this.#parts = parts;
    this.#pourMs = parts.pourMs ?? POUR_MS;
    this.#day = dayOf(parts.now());
  }

  /** One request of a developer: `endpoint` undefined where it matched none, `code` where it was not refused. */
  count(developerId: string, endpoint: Endpoint | undefined, code: ErrorCode | undefined): void {
    const today = dayOf(this.#parts.now());
    if (today !== this.#day) {
      this.#settle();
      this.#day = today;
    }
    let operations = this.#live.get(developerId);
    if (operations === undefined)
      this.#live.set(developerId, (operations = new Map<Endpoint | undefined, ByCode>()));
    let codes = operations.get(endpoint);
    if (codes === undefined) operations.set(endpoint, (codes = new Map<ErrorCode | undefined, number>()));
    codes.set(code, (codes.get(code) ?? 0) + 1);
  }

  pour(): Promise<void> {
    return (this.#pouring ??= this.#pourAll()
      .then(
        () => (this.#isFailing = false),
        (error: unknown) => {
          if (!this.#isFailing)
            this.#parts.logger.warn(
              { err: error },
              "usage is not in the store yet; it is kept and tried again",
            );
          this.#isFailing = true;
        },
      )
      .then(() => (this.#pouring = undefined)));
  }

  start(): void {
    this.#timer = setInterval(() => void this.pour(), this.#pourMs);
  }

  /** Pours what is left. Call it when nothing is counted any more, and the store is still open. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#pouring;
    await this.pour();
  }

  #settle(): void {
    for (const [developerId, operations] of this.#live)
      for (const [endpoint, codes] of operations) {
        const operation = (endpoint && NAMES.get(endpoint)) ?? "none";
        let requests = 0;
        for (const [code, count] of codes) {
          requests += count;
          if (code !== undefined) this.#wait({ developerId, day: this.#day, operation, code, count });
        }
        this.#wait({ developerId, day: this.#day, operation, code: undefined, count: requests });
      }
    this.#live = new Map();
  }

  #wait(one: Counted): void {
    const key = `${String(one.day)} ${one.developerId} ${one.operation} ${one.code ?? ""}`;
    this.#waiting.set(key, { ...one, count: one.count + (this.#waiting.get(key)?.count ?? 0) });
  }

  #takeSome(): readonly Counted[] {
    const some = [...this.#waiting].slice(0, MOST_SUMS);
    for (const [key] of some) this.#waiting.delete(key);
    return some.map(([, one]) => one);
  }

  async #pourAll(): Promise<void> {
    this.#settle();
    for (;;) {
      if (this.#underWay.length === 0) this.#underWay = this.#takeSome();
      if (this.#underWay.length === 0) return;
      if (await this.#parts.store.pour(this.#source, this.#number, this.#underWay)) {
        this.#underWay = [];
        this.#number++;
      } else {
        this.#source = randomUUID();
        this.#number = 1;
      }
    }
  }
}
