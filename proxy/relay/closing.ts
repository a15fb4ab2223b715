/**
 * Ends the watch of addresses that nobody used for as long as was promised, so that the open ones stay few. One with
 * money on its way stays open. What is less than the minimum is not on its way: a stranger's single unit would keep an
 * address open for ever. One that is closed is taken up again by asking for it.
 */
import type { BridgeRecord } from "../base/store/bridge-records.ts";
import type { BridgeStore } from "../base/store/bridges.ts";
import type { WatchingBook } from "./chain-book.ts";
import { worthAsking } from "./desk/is-worthwhile.ts";
import { isOver, traceDeposits } from "./fold/deposit-trace.ts";

export interface ClosingParts {
  readonly store: Pick<BridgeStore, "open" | "endWatch" | "close">;
  readonly book: Pick<WatchingBook, "factsOf" | "isComplete">;
  /** Of a developer who is disabled no address is watched that holds nothing. */
  readonly isDisabled: (developerId: string) => Promise<boolean>;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  readonly onFault: (error: unknown) => void;
  readonly everyMs?: number;
}

const EVERY_MS = 3_600_000;

export function startClosing({ everyMs = EVERY_MS, onFault, ...parts }: ClosingParts) {
  let isStopped = false;
  const timer = setInterval(() => {
    closeUnused(parts, () => isStopped).catch(onFault);
  }, everyMs).unref();
  return {
    stop(): void {
      isStopped = true;
      clearInterval(timer);
    },
  };
}

/** How many were closed. Any proxy may do it: closing twice is closing once. */
export async function closeUnused(
  { store, book, isDisabled, now }: Pick<ClosingParts, "store" | "book" | "isDisabled" | "now">,
  isStopped: () => boolean = () => false,
): Promise<number> {
  let closed = 0;
  for await (const page of store.open()) {
    for (const record of page) {
      if (isStopped()) return closed;
      const isToEnd = record.watchUntil <= now() || (await isDisabled(record.owner.developerId));
      if (!isToEnd || !isIdle(book, record)) continue;
      await store.endWatch(record.id, now());
      await store.close(record.id, now());
      closed++;
    }
  }
  return closed;
}

/** Of a request whose chains cannot be seen now nobody knows whether money is on its way. */
function isIdle(book: ClosingParts["book"], record: BridgeRecord): boolean {
  const facts = book.factsOf(record.id);
  if (facts === undefined || !book.isComplete(record.id)) return false;
  const worthwhile = worthAsking(facts);
  return traceDeposits(facts, { waits: {}, isRefused: false }).every(
    ({ state, inside }) =>
      isOver(state) || state === "below_minimum" || (inside !== undefined && !worthwhile.has(inside)),
  );
}
