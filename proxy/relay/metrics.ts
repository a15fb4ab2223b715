/** Every figure that the relay tells its operator. Labels come from closed lists. */
import {
  BRIDGE_STATES,
  BRIDGE_VENUES,
  type BridgeState,
  type BridgeVenue,
} from "../../shared/api/bridge-status.ts";
import { counter, gauge, registered, show, type FigureTable } from "../base/observe/figures.ts";

/** `sweep`: into a note, or on to the other side. */
export const BRIDGE_EVENTS = ["arrival", "sweep", "refund"] as const;
export type BridgeEvent = (typeof BRIDGE_EVENTS)[number];

export const RELAY_METRICS = {
  cloister_bridge_requests: gauge("Open bridge requests by what was last seen of them", {
    venue: BRIDGE_VENUES,
    state: BRIDGE_STATES,
  }),
  cloister_bridge_events_total: counter("What the chains have shown of open bridge requests", {
    event: BRIDGE_EVENTS,
  }),
  cloister_bridge_oldest_waiting_seconds: gauge(
    "Age of the oldest deposit that neither its user nor the refund clock holds up, 0 when there is none",
  ),
  cloister_bridge_unreachable: gauge("Chains and venues of the bridges that do not answer"),
  cloister_relay_lease_held: gauge("1 while this relay is the one that acts"),
} as const satisfies FigureTable;

/** What is read when somebody asks. */
export interface BridgeFigures {
  readonly requests: readonly {
    readonly venue: BridgeVenue;
    readonly state: BridgeState;
    readonly count: number;
  }[];
  readonly oldestWaitingSecs: number;
  readonly unreachable: number;
}

export function createRelayMetrics(hasLease: () => boolean) {
  const { figures, text, ...registry } = registered(RELAY_METRICS);
  // Something that never happened is a zero: of a figure that begins at one, nobody can say that it grew.
  for (const event of BRIDGE_EVENTS) figures.cloister_bridge_events_total.inc({ event }, 0);
  let read: (() => BridgeFigures) | undefined;

  return {
    ...registry,
    count: (event: BridgeEvent) => figures.cloister_bridge_events_total.inc({ event }),
    /** Reads the snapshot, once its parts are put together. */
    observe(by: () => BridgeFigures) {
      read = by;
    },
    text() {
      const now = read?.();
      show(figures.cloister_relay_lease_held, Number(hasLease()));
      show(figures.cloister_bridge_oldest_waiting_seconds, now?.oldestWaitingSecs);
      show(figures.cloister_bridge_unreachable, now?.unreachable);
      figures.cloister_bridge_requests.reset();
      for (const { venue, state, count } of now?.requests ?? [])
        figures.cloister_bridge_requests.set({ venue, state }, count);
      return text();
    },
  };
}
