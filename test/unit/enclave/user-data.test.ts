import assert from "node:assert/strict";
import { encodeUserData } from "../../../enclave/user-data.ts";
import type { Address, Bytes32 } from "../../../shared/protocol/brands.ts";
import { toHex } from "../../../shared/protocol/bytes.ts";

describe("enclave/user-data", () => {
  it("has one fixed layout", () => {
    const bytes = encodeUserData({
      type: "live",
      signer: `0x${"a1".repeat(20)}` as Address,
      configurationHash: `0x${"c2".repeat(32)}` as Bytes32,
    });
    assert.equal(bytes.length, 70);
    // "cloister-enclave", version 1, type 3
    assert.equal(toHex(bytes), `0x636c6f69737465722d656e636c6176650103${"a1".repeat(20)}${"c2".repeat(32)}`);
  });
});
