import assert from "node:assert/strict";
import { bn254 } from "@noble/curves/bn254.js";
import {
  addressFromField,
  addressToField,
  asAddress,
  asBytes32,
  asField,
  BASE_FIELD_ORDER,
  FIELD_ORDER,
  mustField,
  parseField,
  ZERO_ADDRESS,
  ZERO_BYTES32,
} from "../../../../shared/protocol/brands.ts";

describe("shared/protocol/brands", () => {
  it("has noble's orders of the curve's two fields", () => {
    assert.equal(FIELD_ORDER, bn254.fields.Fr.ORDER);
    assert.equal(BASE_FIELD_ORDER, bn254.fields.Fp.ORDER);
  });

  it("makes fields of [0, r) only", () => {
    for (const value of [0n, 1n, FIELD_ORDER - 1n]) {
      assert.equal(asField(value), value);
      assert.equal(mustField(value), value);
      assert.equal(parseField(String(value)), value);
    }
    for (const value of [-1n, FIELD_ORDER, FIELD_ORDER + 7n]) {
      assert.equal(asField(value), undefined);
      assert.throws(() => mustField(value), RangeError);
      assert.equal(parseField(String(value)), undefined);
    }
  });

  it("reads a canonical decimal and nothing else", () => {
    for (const text of [
      "",
      "00",
      "01",
      "+1",
      "-0",
      " 1",
      "1 ",
      "1\n",
      "0x1",
      "1e3",
      "1n",
      "१",
      "9".repeat(78),
      1,
      1n,
      null,
    ]) {
      assert.equal(parseField(text), undefined, String(text));
    }
  });

  it("reads addresses of any case to lower case, words in lower case only", () => {
    assert.equal(asAddress(`0x${"aB".repeat(20)}`), `0x${"ab".repeat(20)}`);
    for (const text of [
      "",
      "0x",
      `0x${"a".repeat(39)}`,
      `0x${"a".repeat(41)}`,
      `0x${"g".repeat(40)}`,
      "a".repeat(40),
      5,
      null,
    ]) {
      assert.equal(asAddress(text), undefined);
    }
    assert.equal(asBytes32(ZERO_BYTES32), ZERO_BYTES32);
    for (const text of [`0x${"A".repeat(64)}`, `0x${"a".repeat(63)}`, "a".repeat(64), undefined]) {
      assert.equal(asBytes32(text), undefined);
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
