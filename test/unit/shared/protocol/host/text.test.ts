import assert from "node:assert/strict";
import fc from "fast-check";
import { FIELD_ORDER, ZERO_BYTES32 } from "../../../../../shared/protocol/brands.ts";
import { toHex } from "../../../../../shared/protocol/bytes.ts";
import { asAddress, asBytes32, fromHex, parseField } from "../../../../../shared/protocol/host/text.ts";

describe("shared/protocol/host/text", () => {
  it("reads hex of either case", () => {
    fc.assert(
      fc.property(fc.uint8Array(), (bytes) => {
        assert.deepEqual(fromHex(toHex(bytes)), bytes);
        assert.deepEqual(fromHex(`0x${toHex(bytes).slice(2).toUpperCase()}`), bytes);
      }),
    );
  });

  it("reads nothing else as hex", () => {
    for (const text of [
      "",
      "0",
      "00",
      "0X00",
      "0x0",
      "0x0g",
      " 0x00",
      "0x00\n",
      "-0x00",
      0,
      null,
      undefined,
    ]) {
      assert.equal(fromHex(text), undefined, String(text));
    }
  });

  it("reads fields below r only", () => {
    for (const value of [0n, 1n, FIELD_ORDER - 1n]) assert.equal(parseField(String(value)), value);
    for (const value of [-1n, FIELD_ORDER, FIELD_ORDER + 7n])
      assert.equal(parseField(String(value)), undefined);
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
});
