/** The network address a request is counted under. Believes X-Forwarded-For only as far as our own hops wrote it. */
import { isIPv4, isIPv6 } from "node:net";
import type { ParameterizedContext } from "koa";
import { plainAddress, type OwnHops } from "../own-hops.ts";

/**
 * With n trusted hops the n-th entry from the right was written by the outermost of them; everything left of
 * it is the caller's own invention.
 */
export function clientAddress({ count, isOwn }: OwnHops): (ctx: ParameterizedContext) => string {
  return (ctx) => {
    const peer = ctx.req.socket.remoteAddress ?? "";
    if (count === 0 || !isOwn(peer)) return addressGroup(peer);
    const hops = ctx
      .get("X-Forwarded-For")
      .split(",")
      .map((hop) => hop.trim());
    return addressGroup(hops.at(-count) ?? peer);
  };
}

/** IPv6 by /64: one subscriber has 2^64 addresses, so each alone would be no limit. */
export function addressGroup(given: string): string {
  const address = plainAddress(given);
  if (isIPv4(address)) return address;
  if (!isIPv6(address)) return "unknown";
  const [left = "", right] = address.split("::");
  const head = left === "" ? [] : left.split(":");
  const tail = right === undefined || right === "" ? [] : right.split(":");
  const zeros = right === undefined ? 0 : Math.max(0, 8 - head.length - tail.length);
  const groups = [...head, ...Array.from({ length: zeros }, () => "0"), ...tail];
  return `${groups
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(":")}::/64`;
}
