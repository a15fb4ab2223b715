import assert from "node:assert/strict";
import fc from "fast-check";
import { asField, FIELD_ORDER, type Address } from "../../../../shared/protocol/brands.ts";
import { concatBytes, toAddress, toBytes32, word } from "../../../../shared/protocol/bytes.ts";
import * as field from "../../../../shared/protocol/layouts.ts";

const exactly = (length: number) => fc.uint8Array({ minLength: length, maxLength: length });
const canonical = field.only(field.uint(32), asField);

describe("shared/protocol/layouts", () => {
  const any: readonly (readonly [string, field.Codec<unknown>, fc.Arbitrary<unknown>])[] = [
    ["address", field.address, exactly(20).map(toAddress)],
    ["bytes32", field.bytes32, exactly(32).map(toBytes32)],
    ["uint", field.uint(8), fc.bigInt({ min: 0n, max: (1n << 64n) - 1n })],
    ["number", field.number(3), fc.nat(0xff_ffff)],
    ["oneOf", field.oneOf(["a", "b"]), fc.constantFrom("a", "b")],
    ["only", canonical, fc.bigInt({ min: 0n, max: FIELD_ORDER - 1n })],
    ["fixed", field.fixed(5), exactly(5)],
    ["bytes", field.bytes(2), fc.uint8Array({ maxLength: 300 })],
    ["words", field.words(1), fc.array(fc.bigInt({ min: 0n, max: (1n << 256n) - 1n }), { maxLength: 9 })],
    ["times", field.times(3, field.number(1)), fc.array(fc.nat(255), { minLength: 3, maxLength: 3 })],
  ];
  for (const [name, codec, values] of any) {
    it(`${name}: reads what it wrote, and nothing shorter or longer`, () => {
      fc.assert(
        fc.property(values, (value) => {
          const bytes = codec.write(value);
          assert.deepEqual(field.decode(codec, bytes), value);
          assert.equal(field.decode(codec, bytes.slice(0, -1)), undefined);
          assert.equal(field.decode(codec, concatBytes(bytes, Uint8Array.of(0))), undefined);
        }),
      );
    });
  }

  it("puts fields one behind the other, in their order", () => {
    const codec = field.inOrder({ b: field.number(1), a: field.uint(2), left: field.rest });
    const bytes = codec.write({ left: Uint8Array.of(9, 8), a: 2n, b: 1 });
    assert.deepEqual(bytes, Uint8Array.of(1, 0, 2, 9, 8));
    assert.deepEqual(field.decode(codec, bytes), { b: 1, a: 2n, left: Uint8Array.of(9, 8) });
    assert.equal(field.decode(codec, bytes.slice(0, 2)), undefined);
  });

  it("reads no place that nothing has, and no value that is not let pass", () => {
    assert.equal(field.decode(field.oneOf(["a", "b"]), Uint8Array.of(2)), undefined);
    assert.equal(field.decode(canonical, word(FIELD_ORDER)), undefined);
  });

  it("reads nothing after what it refused, though the rest would fit", () => {
    const codec = field.inOrder({ first: field.oneOf(["a"]), second: field.rest });
    assert.equal(field.decode(codec, Uint8Array.of(1, 7)), undefined);
  });

  it("throws for what does not fit", () => {
    const misfits: readonly (() => Uint8Array)[] = [
      () => field.uint(1).write(256n),
      () => field.uint(1).write(-1n),
      () => field.number(1).write(256),
      () => field.oneOf(["a", "b"]).write("c"),
      () => field.address.write("0x00" as Address),
      () => field.fixed(2).write(new Uint8Array(3)),
      () => field.bytes(1).write(new Uint8Array(256)),
      () => field.words(1).write([1n << 256n]),
      () => field.times(2, field.number(1)).write([1]),
    ];
    for (const write of misfits) assert.throws(write, RangeError);
  });
});
