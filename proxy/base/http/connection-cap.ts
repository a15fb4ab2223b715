/**
 * How many connections there may be, in all and from one address. One too many is told so in answer to its first
 * request, as long as few of them wait for it; beyond those it is cut without a word, which costs nothing.
 */
import type { Socket } from "node:net";
import type { CapReached } from "../observe/metrics.ts";
import type { OwnHops } from "../own-hops.ts";
import { addressGroup } from "./client-address.ts";
import { ApiError } from "./errors.ts";

export interface ConnectionLimits {
  readonly all: number;
  readonly perAddress: number;
}

/** The outcome of a new connection: served, told why not, or cut. */
export type Admission = "served" | "cut" | ApiError;

export interface ConnectionCap {
  /** Counts the connection until it is closed. */
  admit(socket: Socket): Admission;
  /** Connections that are open, served or not. */
  open(): number;
}

/** So many are told, beyond those that are served. */
const TOLD: ConnectionLimits = { all: 64, perAddress: 8 };
const RETRY_SECS = 5;

export function createConnectionCap(
  limits: ConnectionLimits,
  hops: Pick<OwnHops, "isOwn">,
  onRefused: (by: CapReached) => void = () => undefined,
): ConnectionCap {
  const byAddress = new Map<string, number>();
  let open = 0;

  const refusals: Readonly<Record<CapReached, ApiError>> = {
    all: new ApiError("RATE_LIMITED", "The service has as many connections as it takes", {
      retryAfterSecs: RETRY_SECS,
      policy: "connections",
    }),
    address: new ApiError(
      "RATE_LIMITED",
      `At most ${String(limits.perAddress)} connections may come from one address`,
      { retryAfterSecs: RETRY_SECS, policy: "connections-address" },
    ),
  };

  return {
    admit(socket) {
      const peer = socket.remoteAddress ?? "";
      // Behind our own balancer are the connections of everybody.
      const group = hops.isOwn(peer) ? undefined : addressGroup(peer);
      const here = group === undefined ? 0 : (byAddress.get(group) ?? 0) + 1;
      open += 1;
      if (group !== undefined) byAddress.set(group, here);
      socket.on("close", () => {
        open -= 1;
        if (group === undefined) return;
        const left = (byAddress.get(group) ?? 1) - 1;
        if (left === 0) byAddress.delete(group);
        else byAddress.set(group, left);
      });
      const [overAll, overHere] = [open - limits.all, here - limits.perAddress];
      if (overAll <= 0 && overHere <= 0) return "served";
      const by = overHere > 0 ? "address" : "all";
      onRefused(by);
      return overAll > TOLD.all || overHere > TOLD.perAddress ? "cut" : refusals[by];
    },
    open: () => open,
  };
}
