import assert from "node:assert/strict";
import { bn254 } from "@noble/curves/bn254.js";
import { keccak256 } from "ethers";
import fc from "fast-check";
import { BASE_FIELD_ORDER } from "../../../../shared/protocol/brands.ts";
import { bytesToUint, word } from "../../../../shared/protocol/bytes.ts";
import { compressProof, decodeProof, proofHashOf, type Proof } from "../../../../shared/protocol/proof.ts";
import { COMPRESSED_PROOF_BYTES, encodeProof } from "../../../../shared/protocol/host/proofs.ts";

const { Fp, Fp2 } = bn254.fields;
const coordinate = fc.bigInt({ min: 0n, max: BASE_FIELD_ORDER - 1n });
const pair = fc.tuple(coordinate, coordinate);
const anyProof: fc.Arbitrary<Proof> = fc.record(
  { a: pair, b: fc.tuple(pair, pair), c: pair },
  { noNullPrototype: true },
);

/** Points of the groups, from noble. */
const scalar = fc.bigInt({ min: 1n, max: 1n << 250n });
const realProof: fc.Arbitrary<Proof> = fc.tuple(scalar, scalar, scalar).map(([a, b, c]) => {
  const g1 = (k: bigint): [bigint, bigint] => {
    const { x, y } = bn254.G1.Point.BASE.multiply(k).toAffine();
    return [x, y];
  };
  const { x, y } = bn254.G2.Point.BASE.multiply(b).toAffine();
  return {
    a: g1(a),
    b: [
      [x.c0, x.c1],
      [y.c0, y.c1],
    ],
    c: g1(c),
  };
});

describe("shared/protocol/proof", () => {
  it("reads back what it wrote, and no coordinate at or above q", () => {
    fc.assert(
      fc.property(anyProof, fc.nat(7), (proof, place) => {
        const bytes = encodeProof(proof);
        assert.deepEqual(decodeProof(bytes), proof);
        const second = new Uint8Array(bytes);
        second.set(
          word(bytesToUint(bytes.slice(32 * place, 32 * place + 32)) + BASE_FIELD_ORDER),
          32 * place,
        );
        assert.equal(decodeProof(second), undefined);
      }),
    );
    assert.equal(decodeProof(new Uint8Array(255)), undefined);
    assert.equal(decodeProof(new Uint8Array(257)), undefined);
  });

  it("compresses so that the points can be found again", () => {
    fc.assert(
      fc.property(realProof, ({ a, b, c }) => {
        const bytes = compressProof({ a, b, c });
        assert.equal(bytes.length, COMPRESSED_PROOF_BYTES);
        const words = [0, 1, 2, 3].map((i) => bytesToUint(bytes.slice(32 * i, 32 * i + 32)));
        const odd = (i: number): boolean => words[i]! >> 255n === 1n;
        const x = (i: number): bigint => words[i]! & ((1n << 255n) - 1n);
        const y1 = (i: number): bigint => {
          const root = Fp.sqrt(Fp.add(Fp.pow(x(i), 3n), 3n));
          return (root & 1n) === (odd(i) ? 1n : 0n) ? root : Fp.neg(root);
        };
        assert.deepEqual([x(0), y1(0)], a);
        assert.deepEqual([x(3), y1(3)], c);
        assert.equal(odd(2), false);
        const bx = Fp2.fromBigTuple([x(2), x(1)]);
        const root = Fp2.sqrt(Fp2.add(Fp2.mul(Fp2.sqr(bx), bx), bn254.G2.Point.CURVE().b));
        const sign = root.c0 === 0n ? root.c1 : root.c0;
        const by = (sign & 1n) === (odd(1) ? 1n : 0n) ? root : Fp2.neg(root);
        assert.deepEqual(
          [
            [bx.c0, bx.c1],
            [by.c0, by.c1],
          ],
          b,
        );
      }),
      { numRuns: 20 },
    );
  });

  it("takes the sign of y from its imaginary part when the real one is zero", () => {
    const flag = (y: readonly [bigint, bigint]): number =>
      compressProof({ a: [1n, 2n], b: [[1n, 1n], y], c: [1n, 2n] })[32]! >> 7;
    assert.equal(flag([0n, 3n]), 1);
    assert.equal(flag([0n, 4n]), 0);
    assert.equal(flag([1n, 4n]), 1);
    assert.equal(flag([2n, 3n]), 0);
  });

  it("hashes the compressed bytes", () => {
    fc.assert(
      fc.property(anyProof, (proof) => assert.equal(proofHashOf(proof), keccak256(compressProof(proof)))),
    );
  });
});
