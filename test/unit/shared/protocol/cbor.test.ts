import assert from "node:assert/strict";
import fc from "fast-check";
import {
  decodeCbor,
  encodeCbor,
  entryOf,
  itemsOf,
  mapOf,
  type Cbor,
} from "../../../../shared/protocol/cbor.ts";
import { mustFromHex, toHex } from "../../../../shared/protocol/bytes.ts";

/** RFC 8949, appendix A, as far as our subset goes. */
const VECTORS: readonly [string, Cbor][] = [
  ["0x00", 0],
  ["0x17", 23],
  ["0x1818", 24],
  ["0x18ff", 255],
  ["0x190100", 256],
  ["0x1903e8", 1000],
  ["0x1a000f4240", 1_000_000],
  ["0x1b000000e8d4a51000", 1_000_000_000_000],
  ["0x1b001fffffffffffff", Number.MAX_SAFE_INTEGER],
  ["0x20", -1],
  ["0x3863", -100],
  ["0x3903e7", -1000],
  ["0xf4", false],
  ["0xf5", true],
  ["0xf6", null],
  ["0x40", new Uint8Array(0)],
  ["0x4401020304", Uint8Array.of(1, 2, 3, 4)],
  ["0x60", ""],
  ["0x6449455446", "IETF"],
  ["0x62c3bc", "ü"],
  ["0x80", []],
  ["0x8301820203820405", [1, [2, 3], [4, 5]]],
  ["0xa0", new Map()],
  [
    "0xa201020304",
    new Map([
      [1, 2],
      [3, 4],
    ]),
  ],
  [
    "0xa26161016162820203",
    new Map<string, Cbor>([
      ["a", 1],
      ["b", [2, 3]],
    ]),
  ],
];

describe("shared/protocol/cbor", () => {
  for (const [hex, value] of VECTORS) {
    it(`reads and writes ${hex}`, () => {
      assert.deepEqual(decodeCbor(mustFromHex(hex)), value);
      assert.equal(toHex(encodeCbor(value)), hex);
    });
  }

  const refused: Record<string, string> = {
    "nothing at all": "0x",
    "a byte left over": "0x0000",
    "23 in two bytes": "0x1817",
    "255 in three bytes": "0x1900ff",
    "65535 in five bytes": "0x1a0000ffff",
    "2^32 - 1 in nine bytes": "0x1b00000000ffffffff",
    "2^53": "0x1b0020000000000000",
    "a head cut off": "0x19",
    "reserved additional information": "0x1c",
    "an indefinite byte string": "0x5f42010243030405ff",
    "an indefinite text": "0x7f6161ff",
    "an indefinite integer": "0x1f",
    "an indefinite map without its end": "0xbf616101",
    "an indefinite map that ends behind a key": "0xbf6161ff",
    "a repeated key in an indefinite map": "0xbf01020103ff",
    "an indefinite array without its end": "0x9f01",
    "a break in a definite array": "0x82ff01",
    "a break in a definite map": "0xa1ff",
    "a lone break": "0xff",
    "a tag": "0xd28440a04040",
    "a float": "0xf93c00",
    undefined: "0xf7",
    "a simple value": "0xf0",
    "a byte string cut off": "0x4201",
    "a byte string of 4 GiB": "0x5affffffff",
    "text that is not UTF-8": "0x61ff",
    "an array cut off": "0x8201",
    "an array of 2^32 - 1": "0x9affffffff",
    "a map of 2^32 - 1": "0xbaffffffff",
    "a map without its last value": "0xa101",
    "a repeated key": "0xa201020103",
    "a key that is an array": "0xa18001",
    "a key that is null": "0xa1f601",
    "ten arrays deep": `0x${"81".repeat(9)}00`,
  };
  for (const [what, hex] of Object.entries(refused)) {
    it(`refuses ${what}`, () => assert.equal(decodeCbor(mustFromHex(hex)), undefined));
  }

  it("reads maps and arrays of indefinite length, nested too", () => {
    const inner = new Map<string, Cbor>([["b", [2, 3]]]);
    const whole = new Map<string, Cbor>([
      ["a", 1],
      ["c", inner],
    ]);
    assert.deepEqual(decodeCbor(mustFromHex("0xbf6161016163bf61629f0203ffffff")), whole);
    assert.deepEqual(decodeCbor(mustFromHex("0xbfff")), new Map());
    assert.deepEqual(decodeCbor(mustFromHex("0x9fff")), []);
  });

  it("reads eight arrays deep", () => {
    assert.notEqual(decodeCbor(mustFromHex(`0x${"81".repeat(8)}00`)), undefined);
  });

  it("throws for a number of ours that it cannot carry", () => {
    for (const value of [0.5, 2 ** 53, -(2 ** 53) - 2, Number.NaN])
      assert.throws(() => encodeCbor(value), RangeError);
  });

  it("never throws on random bytes, and what it reads it would write the same, but for indefinite lengths", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 64 }), (bytes) => {
        const value = decodeCbor(bytes);
        if (value === undefined) return;
        assert.deepEqual(decodeCbor(encodeCbor(value)), value);
        if (!bytes.includes(0x9f) && !bytes.includes(0xbf)) assert.deepEqual(encodeCbor(value), bytes);
      }),
      { numRuns: 5_000 },
    );
  });

  it("gives back what it was given", () => {
    const { value } = fc.letrec<{ value: Cbor }>((tie) => ({
      value: fc.oneof(
        { maxDepth: 3 },
        fc.maxSafeInteger().filter((n) => n > Number.MIN_SAFE_INTEGER && !Object.is(n, -0)),
        fc.string({ unit: "grapheme" }),
        fc.boolean(),
        fc.constant(null),
        fc.uint8Array(),
        fc.array(tie("value"), { maxLength: 4 }),
        fc
          .array(fc.tuple(fc.oneof(fc.string(), fc.nat()), tie("value")), { maxLength: 4 })
          .map((entries): Cbor => new Map(entries)),
      ),
    }));
    fc.assert(fc.property(value, (given) => assert.deepEqual(decodeCbor(encodeCbor(given)), given)));
  });

  it("finds entries in maps only", () => {
    assert.equal(entryOf(new Map([["a", 1]]), "a"), 1);
    assert.equal(entryOf(new Map([["a", 1]]), "b"), undefined);
    for (const value of [undefined, null, 1, "a", ["a"], Uint8Array.of(1)])
      assert.equal(entryOf(value, "a"), undefined);
  });

  it("gives maps and arrays, and nothing else, as what they are", () => {
    const map = new Map([["a", 1]]);
    assert.equal(mapOf(map), map);
    assert.deepEqual(itemsOf([1, 2]), [1, 2]);
    for (const value of [undefined, null, 1, "a", Uint8Array.of(1)]) {
      assert.equal(mapOf(value), undefined);
      assert.deepEqual(itemsOf(value), []);
    }
  });
});
