import assert from "node:assert/strict";
import { isSubnet, ownHops } from "../../../../proxy/base/own-hops.ts";

describe("our own hops", () => {
  it("are those whose addresses are named, in every spelling that a socket has for them", () => {
    const { isOwn } = ownHops(1, ["10.0.0.0/8", "192.0.2.1", "2001:db8::/32", "fe80::1"]);
    for (const own of ["10.1.2.3", "::ffff:10.1.2.3", "192.0.2.1", "2001:db8:5::7", "fe80::1%eth0"])
      assert.equal(isOwn(own), true, own);
    for (const other of ["11.1.2.3", "::ffff:11.1.2.3", "192.0.2.2", "2001:db9::7", "fe80::2", "", "x"])
      assert.equal(isOwn(other), false, other);
  });

  it("are whoever connects where there are some and none is named", () => {
    assert.equal(ownHops(1).isOwn("198.51.100.1"), true);
    assert.equal(ownHops(0).isOwn("198.51.100.1"), false);
  });

  it("are named as addresses and subnets", () => {
    for (const good of ["10.0.0.0/8", "0.0.0.0/0", "192.0.2.1/32", "::/0", "2001:db8::1", "::1/128"])
      assert.equal(isSubnet(good), true, good);
    for (const bad of [
      "",
      "/8",
      "10.0.0/8",
      "10.0.0.0/33",
      "::/129",
      "10.0.0.0/8/8",
      "10.0.0.0/-1",
      "a",
      "::1%lo",
    ])
      assert.equal(isSubnet(bad), false, bad);
  });
});
