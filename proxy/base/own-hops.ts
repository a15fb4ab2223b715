/** The operator's own proxies and balancers in front of this one: what they say of a caller is believed, and their connections are those of many. */
import { BlockList, isIP, isIPv4, isIPv6 } from "node:net";

export interface OwnHops {
  /** How many of them append to X-Forwarded-For. */
  readonly count: number;
  /** Whether a connection comes from one of them. */
  readonly isOwn: (peer: string) => boolean;
}

/** `addresses` are addresses and subnets, as `isSubnet` takes them. Where none is named, whoever connects is taken for a hop if there are any. */
export function ownHops(count: number, addresses: readonly string[] = []): OwnHops {
  if (addresses.length === 0) return { count, isOwn: () => count > 0 };
  const list = new BlockList();
  for (const text of addresses) {
    const { net, prefix, family } = subnetOf(text);
    list.addSubnet(net, prefix, family);
  }
  return {
    count,
    isOwn(peer) {
      const address = plainAddress(peer);
      // A connection that is gone already has none.
      if (isIP(address) === 0) return false;
      return list.check(address, isIPv4(address) ? "ipv4" : "ipv6");
    },
  };
}

/** `10.0.0.0/8`, `2001:db8::/32`, or one address. */
export function isSubnet(text: string): boolean {
  const { net, prefix, family } = subnetOf(text);
  const most = family === "ipv4" ? 32 : 128;
  const isAddress = family === "ipv4" ? isIPv4(net) : isIPv6(net) && !net.includes("%");
  return isAddress && Number.isInteger(prefix) && prefix >= 0 && prefix <= most;
}

function subnetOf(text: string): {
  readonly net: string;
  readonly prefix: number;
  readonly family: "ipv4" | "ipv6";
} {
  const [net = "", prefix, ...more] = text.split("/");
  const family = isIPv4(net) ? "ipv4" : "ipv6";
  if (prefix === undefined) return { net, prefix: family === "ipv4" ? 32 : 128, family };
  return { net, prefix: more.length === 0 && /^[0-9]{1,3}$/.test(prefix) ? Number(prefix) : NaN, family };
}

/** Without the zone, and in its own form where it is an IPv4 caller of a socket that listens on both. */
export function plainAddress(address: string): string {
  const bare = address.replace(/%.*$/, "");
  return /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(bare)?.[1] ?? bare;
}
