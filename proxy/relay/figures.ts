/**
 * How the bridges stand, for the operator's figures: kept up with every change, so that being asked costs nothing. What
 * happened is counted from what the chains show and did not show before, not from what we meant to do.
 */
import type { BridgeRecord } from "../base/store/bridge-records.ts";
import type { BridgeStore } from "../base/store/bridges.ts";
import { BRIDGE_EVENTS, type BridgeEvent, type BridgeFigures } from "./metrics.ts";
import type { Book, Progress } from "./requests.ts";

/** Of what waits for us, or for a chain: the rest waits for its user, or for the refund clock. */
const OURS: readonly Progress["state"][] = ["detected", "confirming", "bridging", "shielding"];

export interface FiguresParts {
  readonly store: Pick<BridgeStore, "open">;
  readonly book: Pick<Book, "progressOf" | "unreachable" | "isComplete">;
  readonly onChange: (listener: (record: BridgeRecord) => void) => () => void;
  readonly count: (event: BridgeEvent) => void;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

interface Standing {
  readonly venue: BridgeRecord["way"]["venue"];
  readonly state: Progress["state"];
  /** Unix seconds of the oldest deposit that waits for us. */
  readonly since: number | undefined;
}
type Tally = Readonly<Record<BridgeEvent, number>>;

export function createBridgeFigures({ store, book, onChange, count, now }: FiguresParts) {
  const standings = new Map<string, Standing>();
  const tallies = new Map<string, Tally>();
  let stop: (() => void) | undefined;

  function take(record: BridgeRecord): void {
    const { id } = record;
    if (record.closedAt !== undefined) {
      standings.delete(id);
      tallies.delete(id);
      return;
    }
    const progress = book.progressOf(record);
    const waiting = progress.deposits.filter(({ state }) => OURS.includes(state));
    const times = waiting.flatMap(({ since }) => since ?? []);
    standings.set(id, {
      ...{ venue: record.way.venue, state: progress.state },
      since: times.length === 0 ? undefined : Math.min(...times),
    });
    if (book.isComplete(id)) tell(id, tallyOf(progress));
  }

  /** What was there when this process first looked is not news. A reorganisation takes nothing back. */
  function tell(id: string, seen: Tally): void {
    const before = tallies.get(id) ?? seen;
    const most = (event: keyof Tally): number => Math.max(before[event], seen[event]);
    for (const event of BRIDGE_EVENTS) for (let n = before[event]; n < seen[event]; n++) count(event);
    tallies.set(id, { arrival: most("arrival"), sweep: most("sweep"), refund: most("refund") });
  }

  return {
    async start(): Promise<void> {
      stop = onChange(take);
      for await (const page of store.open()) page.forEach(take);
    },
    stop: (): void => stop?.(),
    snapshot(): BridgeFigures {
      const requests = new Map<string, BridgeFigures["requests"][number]>();
      let oldest: number | undefined;
      for (const { venue, state, since } of standings.values()) {
        const key = `${venue} ${state}`;
        requests.set(key, { venue, state, count: (requests.get(key)?.count ?? 0) + 1 });
        if (since !== undefined) oldest = Math.min(oldest ?? since, since);
      }
      return {
        requests: [...requests.values()],
        oldestWaitingSecs: oldest === undefined ? 0 : Math.max(0, now() / 1000 - oldest),
        unreachable: book.unreachable().length,
      };
    },
  };
}

function tallyOf({ deposits }: Progress): Tally {
  const steps = deposits.flatMap(({ transactions }) => transactions);
  const of = (...kinds: readonly string[]): number =>
    new Set(steps.filter(({ what }) => kinds.includes(what)).map(({ chain, hash }) => `${chain} ${hash}`))
      .size;
  return { arrival: deposits.length, sweep: of("sweep", "flush"), refund: of("refund", "return") };
}
