import assert from "node:assert/strict";
import { grainGenConstants, poseidon } from "@noble/curves/abstract/poseidon.js";
import { bn254 } from "@noble/curves/bn254.js";
import { keccak256 as ethersKeccak } from "ethers";
import fc from "fast-check";
import { poseidon2 as lite2, poseidon3 as lite3, poseidon4 as lite4 } from "poseidon-lite";
import { FIELD_ORDER } from "../../../../shared/protocol/brands.ts";
import { toHex } from "../../../../shared/protocol/bytes.ts";
import { keccak256, keccakHex } from "../../../../shared/protocol/hash.ts";
import { poseidon2, poseidon3, poseidon4 } from "../../../../shared/protocol/host/poseidon.ts";

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

  it("is noble's permutation, which takes every round as the paper defines it", () => {
    const noble = ([2, 3, 4] as const).map((inputs) => {
      const roundsPartial = { 2: 57, 3: 56, 4: 60 }[inputs];
      const shape = { Fp: bn254.fields.Fr, t: inputs + 1, roundsFull: 8, roundsPartial, sboxPower: 5 };
      const permutation = poseidon({ ...shape, ...grainGenConstants(shape) });
      return (...values: bigint[]): bigint => permutation([0n, ...values])[0]!;
    });
    fc.assert(
      fc.property(element, element, element, element, (a, b, c, d) => {
        assert.equal(poseidon2(a, b), noble[0]!(a, b));
        assert.equal(poseidon3(a, b, c), noble[1]!(a, b, c));
        assert.equal(poseidon4(a, b, c, d), noble[2]!(a, b, c, d));
      }),
    );
  });

  // From circomlib's own tests, and of zeros, as everybody's empty trees have them.
  it("gives the known values", () => {
    assert.equal(
      poseidon2(1n, 2n),
      7853200120776062878684798364095072458815029376092732009249414926327459813530n,
    );
    assert.equal(
      poseidon3(1n, 2n, 3n),
      6542985608222806190361240322586112750744169038454362455181422643027100751666n,
    );
    assert.equal(
      poseidon4(1n, 2n, 3n, 4n),
      18821383157269793795438455681495246036402687001665670618754263018637548127333n,
    );
    assert.equal(
      poseidon2(0n, 0n),
      14744269619966411208579211824598458697587494354926760081771325075741142829156n,
    );
  });

  it("takes a value above the order for its remainder", () => {
    assert.equal(poseidon2(FIELD_ORDER + 5n, 7n), poseidon2(5n, 7n));
    assert.equal(poseidon4(1n, 2n, 3n, 2n * FIELD_ORDER - 1n), poseidon4(1n, 2n, 3n, FIELD_ORDER - 1n));
  });
});
