import assert from "node:assert/strict";
import { bn254 } from "@noble/curves/bn254.js";
import {
  addressFromField,
  asField,
  BASE_FIELD_ORDER,
  FIELD_ORDER,
  mustField,
  ZERO_ADDRESS,
} from "../../../../shared/protocol/brands.ts";
import { addressToField, asAddress } from "../../../../shared/protocol/host/text.ts";

describe("shared/protocol/brands", () => {
  it("has noble's orders of the curve's two fields", () => {
    assert.equal(FIELD_ORDER, bn254.fields.Fr.ORDER);
    assert.equal(BASE_FIELD_ORDER, bn254.fields.Fp.ORDER);
  });

  it("makes fields of [0, r) only", () => {
    for (const value of [0n, 1n, FIELD_ORDER - 1n]) {
      assert.equal(asField(value), value);
      assert.equal(mustField(value), value);
    }
    for (const value of [-1n, FIELD_ORDER, FIELD_ORDER + 7n]) {
      assert.equal(asField(value), undefined);
      assert.throws(() => mustField(value), RangeError);
    }
  });

  it("turns addresses into fields and back, below 2^160 only", () => {
    for (const address of [
      ZERO_ADDRESS,
      asAddress(`0x${"00".repeat(19)}01`)!,
      asAddress(`0x${"ff".repeat(20)}`)!,
    ]) {
      assert.equal(addressFromField(addressToField(address)), address);
    }
    assert.equal(addressFromField(1n << 160n), undefined);
    assert.equal(addressFromField(-1n), undefined);
  });
});
