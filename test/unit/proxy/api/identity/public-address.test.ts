import assert from "node:assert/strict";
import { isLoopback, isPublicAddress } from "../../../../../proxy/api/identity/public-address.ts";

describe("public addresses", () => {
  it("are the internet's", () => {
    for (const address of ["1.1.1.1", "93.184.216.34", "172.32.0.1", "100.63.255.255", "2606:4700::1111"]) {
      assert.equal(isPublicAddress(address), true, address);
    }
  });

  const PRIVATE: Readonly<Record<string, readonly string[]>> = {
    loopback: ["127.0.0.1", "127.255.255.254", "::1"],
    private: ["10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1"],
    "unique-local": ["fc00::1", "fd12:3456::1"],
    "link-local and metadata": ["169.254.169.254", "fe80::1", "fe80::1%eth0"],
    "carrier-grade NAT": ["100.64.0.1", "100.127.255.255"],
    "this network": ["0.0.0.0", "0.1.2.3", "::"],
    "IPv4 in IPv6": ["::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:1.1.1.1", "::7f00:1", "64:ff9b::7f00:1"],
    "tunnels that hide IPv4": ["2002:7f00:1::", "2001:0:7f00:1::"],
    "multicast, reserved, broadcast": ["224.0.0.1", "255.255.255.255", "240.0.0.1", "ff02::1"],
    documentation: ["192.0.2.1", "198.51.100.1", "203.0.113.1", "2001:db8::1", "3fff::1"],
    "no address": ["", "example.com", "1.1.1", "0x7f000001", "2606:4700::1111%1"],
  };
  for (const [what, addresses] of Object.entries(PRIVATE)) {
    it(`are not ${what}`, () => {
      for (const address of addresses) assert.equal(isPublicAddress(address), false, address);
    });
  }

  it("loopback is what a development setting may open, and nothing else", () => {
    assert.deepEqual(
      ["127.0.0.1", "127.1.2.3", "::1", "::ffff:127.0.0.1", "10.0.0.1", "127.example"].map(isLoopback),
      [true, true, true, false, false, false],
    );
  });
});
