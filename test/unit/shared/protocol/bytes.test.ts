import assert from "node:assert/strict";
import fc from "fast-check";
import {
  ByteReader,
  bytesToUint,
  concatBytes,
  equalBytes,
  mustFromHex,
  toAddress,
  toBytes32,
  toHex,
  uintToBytes,
  word,
} from "../../../../shared/protocol/bytes.ts";

describe("shared/protocol/bytes", () => {
  it("writes hex as Node does, and reads either case back", () => {
    fc.assert(
      fc.property(fc.uint8Array(), (bytes) => {
        const text = toHex(bytes);
        assert.equal(text, `0x${Buffer.from(bytes).toString("hex")}`);
        assert.deepEqual(mustFromHex(text), bytes);
        assert.deepEqual(mustFromHex(`0x${text.slice(2).toUpperCase()}`), bytes);
      }),
    );
  });

  it("throws for what we did not write as hex", () => {
    assert.throws(() => mustFromHex("0x0"), RangeError);
    assert.throws(() => mustFromHex("00"), TypeError);
  });

  it("writes integers big-endian in exactly their room", () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: (1n << 64n) - 1n }), (value) => {
        const expected = Buffer.alloc(8);
        expected.writeBigUInt64BE(value);
        assert.deepEqual(uintToBytes(value, 8), new Uint8Array(expected));
        assert.equal(bytesToUint(word(value)), value);
      }),
    );
    assert.throws(() => uintToBytes(256n, 1), RangeError);
    assert.throws(() => uintToBytes(-1n, 8), RangeError);
    assert.equal(bytesToUint(new Uint8Array(0)), 0n);
  });

  it("makes addresses and words of their one length", () => {
    assert.equal(toAddress(new Uint8Array(20).fill(0xab)), `0x${"ab".repeat(20)}`);
    assert.deepEqual(mustFromHex(toAddress(new Uint8Array(20).fill(1))), new Uint8Array(20).fill(1));
    assert.equal(toBytes32(new Uint8Array(32)), `0x${"00".repeat(32)}`);
    for (const length of [0, 19, 21, 31, 33]) {
      assert.throws(() => toAddress(new Uint8Array(length)), RangeError);
      assert.throws(() => toBytes32(new Uint8Array(length)), RangeError);
    }
  });

  it("compares by content and length", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 3 }), fc.uint8Array({ maxLength: 3 }), (a, b) => {
        assert.equal(equalBytes(a, b), Buffer.from(a).equals(Buffer.from(b)));
        assert.equal(equalBytes(a, a.slice()), true);
      }),
    );
  });

  it("joins", () => {
    assert.deepEqual(concatBytes(), new Uint8Array(0));
    assert.deepEqual(
      concatBytes(Uint8Array.of(1), new Uint8Array(0), Uint8Array.of(2, 3)),
      Uint8Array.of(1, 2, 3),
    );
  });

  describe("ByteReader", () => {
    it("reads in order and is done exactly at the end", () => {
      const reader = new ByteReader(Uint8Array.of(1, 0, 2, 3, 4, 5, 6));
      assert.equal(reader.number(1), 1);
      assert.equal(reader.uint(2), 2n);
      assert.equal(reader.done(), false);
      assert.deepEqual(reader.list(2, 2), [Uint8Array.of(3, 4), Uint8Array.of(5, 6)]);
      assert.equal(reader.done(), true);
    });

    it("answers nothing after the first short read, even what would fit", () => {
      const reader = new ByteReader(Uint8Array.of(1, 2, 3));
      assert.deepEqual(reader.take(4), new Uint8Array(0));
      assert.deepEqual(reader.take(1), new Uint8Array(0));
      assert.equal(reader.number(1), 0);
      assert.deepEqual(reader.list(1, 1), []);
      assert.equal(reader.done(), false);
    });

    it("makes no list of what is not there", () => {
      const reader = new ByteReader(new Uint8Array(64));
      assert.deepEqual(reader.list(0xffff, 32), []);
      assert.equal(reader.done(), false);
    });

    it("hands out copies", () => {
      const bytes = Uint8Array.of(1, 2);
      const part = new ByteReader(bytes).take(2);
      bytes[0] = 9;
      assert.deepEqual(part, Uint8Array.of(1, 2));
    });
  });
});
