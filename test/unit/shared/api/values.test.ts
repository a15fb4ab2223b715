// The primitive shapes: one spelling each.
import assert from "node:assert/strict";
import { getAddress } from "ethers";
import fc from "fast-check";
import { checksumAddress, hasGoodChecksum } from "../../../../shared/api/checksum.ts";
import { address, amount, fieldElement } from "../../../../shared/api/values.ts";
import { FIELD_ORDER, type Address } from "../../../../shared/protocol/brands.ts";

describe("addresses at the HTTP border", () => {
  it("have the checksum that ethers computes", () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 20, maxLength: 20 }), (bytes) => {
        const text = `0x${Buffer.from(bytes).toString("hex")}`;
        assert.equal(checksumAddress(text as Address), getAddress(text));
        assert.ok(
          hasGoodChecksum(text) &&
            hasGoodChecksum(getAddress(text)) &&
            hasGoodChecksum(`0x${text.slice(2).toUpperCase()}`),
        );
      }),
    );
  });

  it("in mixed case are refused with any one letter in the other case", () => {
    const good = "0x5FbDB2315678afecb367f032d93F642f64180aa3";
    assert.ok(address.safeParse(good).success);
    for (let at = 2; at < good.length; at++) {
      const letter = good.charAt(at);
      const flipped = letter === letter.toLowerCase() ? letter.toUpperCase() : letter.toLowerCase();
      if (flipped === letter) continue;
      assert.ok(
        !address.safeParse(good.slice(0, at) + flipped + good.slice(at + 1)).success,
        `letter ${String(at)}`,
      );
    }
  });
});

describe("numbers at the HTTP border", () => {
  const hex = (value: bigint): string => `0x${value.toString(16).padStart(64, "0")}`;

  it("field elements end below the group order", () => {
    assert.ok(fieldElement.safeParse(hex(0n)).success);
    assert.ok(fieldElement.safeParse(hex(FIELD_ORDER - 1n)).success);
    for (const value of [FIELD_ORDER, FIELD_ORDER + 1n, (1n << 256n) - 1n]) {
      assert.ok(!fieldElement.safeParse(hex(value)).success);
    }
    assert.ok(!fieldElement.safeParse(hex(10n).toUpperCase()).success);
  });

  it("amounts end below 2^128", () => {
    assert.ok(amount.safeParse(String((1n << 128n) - 1n)).success);
    assert.ok(!amount.safeParse(String(1n << 128n)).success);
  });
});
