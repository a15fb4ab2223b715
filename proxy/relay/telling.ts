/**
 * Keeps what the store says of each open request at what the chains say, for the proxies, which watch no bridge. A new
 * holder of the lease tells everything once: what the one before has left may be older than what it shows.
 */
import type { BridgeStatus } from "../../shared/api/bridge-status.ts";
import type { Logger } from "../base/logging.ts";
import type { BridgeRecord } from "../base/store/bridge-records.ts";
import { LeaseLost, type Fence } from "../base/store/lease.ts";
import type { RelayStore } from "../base/store/relay.ts";
import type { Book } from "./requests.ts";
import type { StatusOf } from "./status.ts";

export interface TellingParts {
  readonly book: Pick<Book, "progressOf" | "isComplete" | "onChange" | "heads" | "unreachable"> & {
    records(): Iterable<BridgeRecord>;
  };
  readonly store: Pick<RelayStore, "underLease">;
  readonly statusOf: StatusOf;
  readonly fence: () => Fence | undefined;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  readonly logger: Logger;
  readonly everyMs?: number;
}

const EVERY_MS = 250;
/** The proxies' health looks at its age. */
const STANDING_MS = 5_000;

interface Told {
  readonly text: string;
  readonly isComplete: boolean;
}

export function startTelling(parts: TellingParts) {
  const { book, store, statusOf, fence, now, logger, everyMs = EVERY_MS } = parts;
  const changed = new Set<string>();
  const told = new Map<string, Told>();
  let under: Fence | undefined;
  let stood = { at: -Infinity, unreachable: "" };
  let running: Promise<void> | undefined;
  const unfollow = book.onChange((id) => changed.add(id));

  /** Whether all chains were looked at is part of what is said, and nobody's news. */
  function next(): ReadonlyMap<string, Told & { readonly status: BridgeStatus }> {
    const found = new Map<string, Told & { readonly status: BridgeStatus }>();
    for (const record of book.records()) {
      const before = told.get(record.id);
      const isComplete = book.isComplete(record.id);
      if (before?.isComplete === isComplete && !changed.has(record.id)) continue;
      const status = statusOf(record, book.progressOf(record));
      const text = JSON.stringify(status);
      if (before?.text === text) told.set(record.id, { text, isComplete });
      else found.set(record.id, { text, isComplete, status });
    }
    changed.clear();
    return found;
  }

  async function pass(): Promise<void> {
    const held = fence();
    if (held === undefined) return;
    if (held !== under) told.clear();
    const writes = store.underLease(held);
    const tellings = next();
    try {
      await writes.tell([...tellings.values()].map(({ status }) => status));
      under = held;
      for (const [id, { text, isComplete }] of tellings) told.set(id, { text, isComplete });
      const standing = { heads: book.heads(), unreachable: [...book.unreachable()], at: now() };
      const unreachable = standing.unreachable.join(" ");
      if (standing.at - stood.at < STANDING_MS && unreachable === stood.unreachable) return;
      await writes.stand(standing);
      stood = { at: standing.at, unreachable };
    } catch (error) {
      for (const id of tellings.keys()) changed.add(id);
      if (!(error instanceof LeaseLost)) throw error;
    }
  }

  const timer = setInterval(() => {
    running ??= pass()
      .catch((error: unknown) => logger.error({ err: error }, "what the bridges do could not be told"))
      .finally(() => (running = undefined));
  }, everyMs);

  return {
    /** Of a request that is watched no more. */
    async forget(id: string): Promise<void> {
      told.delete(id);
      const held = fence();
      if (held !== undefined) await store.underLease(held).forget(id);
    },
    async stop(): Promise<void> {
      clearInterval(timer);
      unfollow();
      await running;
    },
  };
}
