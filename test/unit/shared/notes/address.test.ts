import { bech32, bech32m } from "@scure/base";
import assert from "node:assert/strict";
import {
  decodeShieldedAddress,
  encodeShieldedAddress,
  isViewingKey,
} from "../../../../shared/notes/address.ts";
import { newSeed, SpendingKey } from "../../../../shared/notes/keys.ts";
import { FIELD_ORDER } from "../../../../shared/protocol/brands.ts";
import { concatBytes, mustFromHex, word } from "../../../../shared/protocol/bytes.ts";

const PREFIX = "cltest";
const { address } = SpendingKey.fromSeed(newSeed()).viewing;
const text = encodeShieldedAddress(address, PREFIX);
const encode = (payload: Uint8Array, prefix = PREFIX): string =>
  bech32m.encode(prefix, bech32m.toWords(payload), false);

describe("shielded addresses", () => {
  it("come back as they went in", () => {
    assert.deepEqual(decodeShieldedAddress(text, PREFIX), address);
    assert.deepEqual(decodeShieldedAddress(text.toUpperCase(), PREFIX), address);
  });

  it("refuses the address of another network", () => {
    assert.equal(decodeShieldedAddress(text, "clother"), undefined);
  });

  it("refuses every single changed character", () => {
    for (let at = 0; at < text.length; at++) {
      const other = text[at] === "q" ? "p" : "q";
      assert.equal(decodeShieldedAddress(text.slice(0, at) + other + text.slice(at + 1), PREFIX), undefined);
    }
  });

  it("refuses bech32 where bech32m belongs, other versions and other lengths", () => {
    const payload = concatBytes(Uint8Array.of(1), word(address.owner), address.viewingKey);
    assert.equal(encode(payload), text);
    assert.equal(
      decodeShieldedAddress(bech32.encode(PREFIX, bech32.toWords(payload), false), PREFIX),
      undefined,
    );
    assert.equal(
      decodeShieldedAddress(encode(concatBytes(Uint8Array.of(2), payload.slice(1))), PREFIX),
      undefined,
    );
    assert.equal(decodeShieldedAddress(encode(payload.slice(0, 64)), PREFIX), undefined);
    assert.equal(decodeShieldedAddress(encode(concatBytes(payload, Uint8Array.of(0))), PREFIX), undefined);
    assert.equal(decodeShieldedAddress("x".repeat(100_000), PREFIX), undefined);
    assert.equal(decodeShieldedAddress("", PREFIX), undefined);
  });

  it("refuses an owner at or above the field order: it would be a second spelling", () => {
    const second = concatBytes(Uint8Array.of(1), word(address.owner + FIELD_ORDER), address.viewingKey);
    assert.equal(decodeShieldedAddress(encode(second), PREFIX), undefined);
  });

  it("refuses viewing keys of low order, with which anyone could read", () => {
    // RFC 7748 section 7 points to these; values from the curve's 8-torsion.
    const lowOrder = [
      "0x0000000000000000000000000000000000000000000000000000000000000000",
      "0x0100000000000000000000000000000000000000000000000000000000000000",
      "0xe0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800",
      "0x5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157",
      "0xecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    ].map(mustFromHex);
    for (const key of lowOrder) {
      assert.equal(isViewingKey(key), false);
      assert.throws(() => encodeShieldedAddress({ ...address, viewingKey: key }, PREFIX));
      const payload = concatBytes(Uint8Array.of(1), word(address.owner), key);
      assert.equal(decodeShieldedAddress(encode(payload), PREFIX), undefined);
    }
  });

  it("refuses second spellings of a viewing key", () => {
    const high = address.viewingKey.slice();
    high[31]! |= 0x80;
    assert.equal(isViewingKey(high), false);
    // 9 + p, little endian.
    assert.equal(
      isViewingKey(mustFromHex("0xf6ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f")),
      false,
    );
    assert.equal(isViewingKey(mustFromHex(`0x09${"00".repeat(31)}`)), true);
  });
});
