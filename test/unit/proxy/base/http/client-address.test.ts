import assert from "node:assert/strict";
import { addressGroup } from "../../../../../proxy/base/http/client-address.ts";

describe("addressGroup", () => {
  const groups: [string, string][] = [
    ["203.0.113.7", "203.0.113.7"],
    ["::ffff:203.0.113.7", "203.0.113.7"],
    ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"],
    ["2001:0db8:0001:0002::9", "2001:db8:1:2::/64"],
    ["2001:db8::9", "2001:db8:0:0::/64"],
    ["::1", "0:0:0:0::/64"],
    ["fe80::1%eth0", "fe80:0:0:0::/64"],
    ["not an address", "unknown"],
    ["", "unknown"],
  ];
  for (const [address, group] of groups) {
    it(`${address || "(nothing)"} counts as ${group}`, () => assert.equal(addressGroup(address), group));
  }

  it("one subscriber's /64 is one group, the neighbour's another", () => {
    assert.equal(addressGroup("2001:db8:1:2::a"), addressGroup("2001:db8:1:2:ffff:ffff:ffff:ffff"));
    assert.notEqual(addressGroup("2001:db8:1:2::a"), addressGroup("2001:db8:1:3::a"));
  });
});
