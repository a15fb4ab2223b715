/**
 * Which addresses belong to the public internet. Everything else (our own host, our own network, a cloud's
 * metadata service) must not be reachable through a name that somebody else's DNS resolves.
 */
import { BlockList, isIPv4, isIPv6 } from "node:net";

/** IANA's registry of IPv4 special-purpose addresses (RFC 6890 and later), with multicast and class E. */
const NOT_PUBLIC_IPV4 = listOf("ipv4", [
  "0.0.0.0/8", // this network
  "10.0.0.0/8", // private, RFC 1918
  "100.64.0.0/10", // carrier-grade NAT, RFC 6598
  "127.0.0.0/8", // loopback
  "169.254.0.0/16", // link-local; metadata services live here
  "172.16.0.0/12", // private, RFC 1918
  "192.0.0.0/24", // protocol assignments, RFC 6890
  "192.0.2.0/24", // documentation, RFC 5737
  "192.88.99.0/24", // former 6to4 relays, RFC 7526
  "192.168.0.0/16", // private, RFC 1918
  "198.18.0.0/15", // benchmarks, RFC 2544
  "198.51.100.0/24", // documentation, RFC 5737
  "203.0.113.0/24", // documentation, RFC 5737
  "224.0.0.0/4", // multicast
  "240.0.0.0/4", // reserved, and limited broadcast
]);

/** The only space that IANA gives out as global unicast (RFC 4291): unique-local, link-local and mapped ones are outside. */
const GLOBAL_IPV6 = listOf("ipv6", ["2000::/3"]);
const NOT_PUBLIC_IPV6 = listOf("ipv6", [
  "2001::/23", // protocol assignments, Teredo among them, which hides an IPv4 address
  "2001:db8::/32", // documentation, RFC 3849
  "2002::/16", // 6to4, which hides an IPv4 address
  "3fff::/20", // documentation, RFC 9637
]);

export function isPublicAddress(address: string): boolean {
  if (isIPv4(address)) return !NOT_PUBLIC_IPV4.check(address, "ipv4");
  // A zone (`%eth0`) names one of our own interfaces.
  if (!isIPv6(address) || address.includes("%")) return false;
  return GLOBAL_IPV6.check(address, "ipv6") && !NOT_PUBLIC_IPV6.check(address, "ipv6");
}

export function isLoopback(address: string): boolean {
  return address === "::1" || (isIPv4(address) && address.startsWith("127."));
}

function listOf(family: "ipv4" | "ipv6", subnets: readonly string[]): BlockList {
  const list = new BlockList();
  for (const subnet of subnets) {
    const [net = "", prefix] = subnet.split("/");
    list.addSubnet(net, Number(prefix), family);
  }
  return list;
}
