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

export type UsageCounter = ReturnType<typeof createUsageCounter>;

export function createUsageCounter({ store, logger, now, pourMs = POUR_MS }: UsageCounterParts) {
  let day = dayOf(now());
  let live = new Map<string, Map<Endpoint | undefined, ByCode>>();
  /** Taken from `live`, each sum once, however long the store does not answer. */
  const waiting = new Map<string, Counted>();
  /** A pour of which it is not known whether it was made. */
  let underWay: readonly Counted[] = [];
  let source = randomUUID();
  let number = 1;
  let timer: NodeJS.Timeout | undefined;
  let pouring: Promise<void> | undefined;
  let isFailing = false;

  function settle(): void {
    for (const [developerId, operations] of live)
      for (const [endpoint, codes] of operations) {
        const operation = (endpoint && NAMES.get(endpoint)) ?? "none";
        let requests = 0;
        for (const [code, count] of codes) {
          requests += count;
          if (code !== undefined) wait({ developerId, day, operation, code, count });
        }
        wait({ developerId, day, operation, code: undefined, count: requests });
      }
    live = new Map();
  }

  function wait(one: Counted): void {
    const key = `${String(one.day)} ${one.developerId} ${one.operation} ${one.code ?? ""}`;
    waiting.set(key, { ...one, count: one.count + (waiting.get(key)?.count ?? 0) });
  }

  function takeSome(): readonly Counted[] {
    const some = [...waiting].slice(0, MOST_SUMS);
    for (const [key] of some) waiting.delete(key);
    return some.map(([, one]) => one);
  }

  async function pourAll(): Promise<void> {
    settle();
    for (;;) {
      if (underWay.length === 0) underWay = takeSome();
      if (underWay.length === 0) return;
      if (await store.pour(source, number, underWay)) {
        underWay = [];
        number++;
      } else {
        source = randomUUID();
        number = 1;
      }
    }
  }

  const pour = (): Promise<void> =>
    (pouring ??= pourAll()
      .then(
        () => (isFailing = false),
        (error: unknown) => {
          if (!isFailing)
            logger.warn({ err: error }, "usage is not in the store yet; it is kept and tried again");
          isFailing = true;
        },
      )
      .then(() => (pouring = undefined)));

  return {
    /** One request of a developer: `endpoint` undefined where it matched none, `code` where it was not refused. */
    count(developerId: string, endpoint: Endpoint | undefined, code: ErrorCode | undefined): void {
      const today = dayOf(now());
      if (today !== day) {
        settle();
        day = today;
      }
      let operations = live.get(developerId);
      if (operations === undefined)
        live.set(developerId, (operations = new Map<Endpoint | undefined, ByCode>()));
      let codes = operations.get(endpoint);
      if (codes === undefined) operations.set(endpoint, (codes = new Map<ErrorCode | undefined, number>()));
      codes.set(code, (codes.get(code) ?? 0) + 1);
    },
    pour,
    start(): void {
      timer = setInterval(() => void pour(), pourMs);
    },
    /** Pours what is left. Call it when nothing is counted any more, and the store is still open. */
    async stop(): Promise<void> {
      clearInterval(timer);
      await pouring;
      await pour();
    },
  };
}
