import assert from "node:assert/strict";
import { keccak256 as ethersKeccak } from "ethers";
import fc from "fast-check";
import { poseidon2 as lite2, poseidon3 as lite3, poseidon4 as lite4 } from "poseidon-lite";
import { FIELD_ORDER } from "../../../../shared/protocol/brands.ts";
import { toHex } from "../../../../shared/protocol/bytes.ts";
import { keccak256, keccakHex, poseidon2, poseidon3, poseidon4 } from "../../../../shared/protocol/hash.ts";

const element = fc.oneof(
  fc.bigInt({ min: 0n, max: FIELD_ORDER - 1n }),
  fc.constantFrom(0n, 1n, FIELD_ORDER - 1n),
);

describe("shared/protocol/hash", () => {
  it("is ethers' Keccak-256 of the parts joined", () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array()), (parts) => {
        const expected = ethersKeccak(Buffer.concat(parts));
        assert.equal(keccakHex(...parts), expected);
        assert.equal(toHex(keccak256(...parts)), expected);
      }),
    );
  });

  it("is poseidon-lite's Poseidon, which has circomlib's constants as tables", () => {
    fc.assert(
      fc.property(element, element, element, element, (a, b, c, d) => {
        assert.equal(poseidon2(a, b), lite2([a, b]));
        assert.equal(poseidon3(a, b, c), lite3([a, b, c]));
        assert.equal(poseidon4(a, b, c, d), lite4([a, b, c, d]));
      }),
    );
  });
});
