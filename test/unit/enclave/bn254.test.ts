import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { bn254 as noble } from "@noble/curves/bn254.js";
import { buildBn128, type Bn128 } from "ffjavascript";
import {
  AFFINE,
  AFFINE_TWIST,
  buildBn254,
  fixedPoint,
  FQ12,
  JACOBIAN,
  MAX_PAIRS,
  type At,
  type Bn254,
} from "../../../enclave/bn254.ts";
import { generatePairings, PAIRINGS_FILE } from "../../../scripts/build/pairings.ts";
import { BASE_FIELD_ORDER, FIELD_ORDER } from "../../../shared/protocol/brands.ts";
import type { Proof } from "../../../shared/protocol/proof.ts";
import { aField } from "./support/random.ts";
import { g1, g2, negateG2, onTwistOutsideSubgroup } from "./support/toy-groth16.ts";

const X = 4_965_661_367_192_848_881n;
/** Number of points of the twist over Fq²: cofactor times r. */
const COFACTOR = 2n * BASE_FIELD_ORDER - FIELD_ORDER;
const TWIST_ORDER = COFACTOR * FIELD_ORDER;
const COFACTOR_PRIMES = [
  10_069n,
  5_864_401n,
  1_875_725_156_269n,
  197_620_364_512_881_247_228_717_050_342_013_327_560_683_201_906_968_909n,
];

describe("enclave/bn254", function () {
  let pairing: Bn254;
  /** Whoever computes the same otherwise. */
  let curve: Bn128;
  let lines: At;
  let point: At;
  before(async () => {
    curve = await buildBn128(true);
    pairing = await buildBn254();
    point = pairing.alloc(AFFINE_TWIST);
    lines = pairing.drawLines(pairing.setNumbers(point, g2(1n).flat()));
  });

  it("bn254.wasm is what the package wasmcurves generates, byte for byte", async () => {
    assert.deepEqual(Buffer.from(generatePairings()), await readFile(PAIRINGS_FILE));
  });

  it("the memory never grows, and nothing is allotted behind its end", async () => {
    const { bytes, alloc } = await buildBn254();
    const [one, two] = [alloc(5), alloc(32)];
    assert.equal(two, one + 8);
    assert.throws(() => alloc(bytes.length), RangeError);
    assert.equal(bytes.length, 25 * 65_536);
  });

  type G2 = Proof["b"];
  const isOnCurve = (twisted: G2): boolean =>
    pairing.wasm.g2m_inCurveAffine(pairing.setNumbers(point, twisted.flat())) === 1;
  const isZero = (twisted: G2): boolean =>
    pairing.wasm.g2m_isZeroAffine(pairing.setNumbers(point, twisted.flat())) === 1;
  const isInSubgroup = (twisted: G2): boolean => {
    pairing.drawLines(pairing.setNumbers(point, twisted.flat()), lines);
    return pairing.isInSubgroup(lines);
  };
  /** The definition. */
  const hasOrderR = (point: G2): boolean => {
    const { G2 } = curve;
    return G2.isZero(G2.timesScalar(G2.fromObject(point), FIELD_ORDER));
  };
  const times = (point: G2, scalar: bigint): G2 => {
    const { G2 } = curve;
    const [x, y] = G2.toObject(G2.toAffine(G2.timesScalar(G2.fromObject(point), scalar)));
    return [x!, y!];
  };
  const plus = (a: G2, b: G2): G2 => {
    const { G2 } = curve;
    const [x, y] = G2.toObject(G2.toAffine(G2.add(G2.fromObject(a), G2.fromObject(b))));
    return [x!, y!];
  };

  describe("the subgroup test", () => {
    it("accepts what r takes to zero", () => {
      for (const scalar of [1n, 2n, 3n, 4n, X, 6n * X + 2n, FIELD_ORDER - 1n, aField(), aField()]) {
        for (const point of [g2(scalar), negateG2(g2(scalar))]) {
          assert.equal(hasOrderR(point), true);
          assert.equal(isInSubgroup(point), true);
        }
      }
    });

    it("refuses points of the whole twist, and what is left of them without r", () => {
      for (let i = 0, from = 1n; i < 20; i++) {
        const point = onTwistOutsideSubgroup(from);
        from = point[0][0] + 1n;
        for (const outside of [point, negateG2(point), times(point, FIELD_ORDER)]) {
          assert.equal(hasOrderR(outside), false);
          assert.equal(isInSubgroup(outside), false);
        }
      }
    });

    it("refuses points of every order that divides the cofactor, however small, alone and on top of a good one", () => {
      assert.equal(
        COFACTOR_PRIMES.reduce((product, prime) => product * prime),
        COFACTOR,
      );
      const point = onTwistOutsideSubgroup();
      // All subsets of the primes but the empty one.
      for (let subset = 1; subset < 16; subset++) {
        const order = COFACTOR_PRIMES.filter((_, i) => (subset >> i) & 1).reduce((a, b) => a * b);
        const small = times(point, TWIST_ORDER / order);
        assert.equal(isZero(small), false);
        for (const each of [small, times(small, 2n), negateG2(small), plus(small, g2(aField()))]) {
          assert.equal(isOnCurve(each), true);
          assert.equal(hasOrderR(each), false);
          assert.equal(isInSubgroup(each), false, String(order));
        }
      }
    });

    /*
     * Why it holds for every point of the twist. ψ satisfies ψ² − tψ + q = 0 there, so that f(ψ)(B) = 0 for a
     * polynomial f implies N·B = 0, where N is the norm of f in ℤ[ψ]; and the order of B divides gcd(N, order of
     * the twist).
     */
    describe("by whole numbers", () => {
      const t = 6n * X ** 2n + 1n;
      const q = BASE_FIELD_ORDER;
      const orderWithin = (...polynomial: bigint[]): bigint => {
        const terms = [...polynomial];
        while (terms.length > 2) {
          const top = terms.pop()!;
          terms[terms.length - 1]! += t * top;
          terms[terms.length - 2]! -= q * top;
        }
        const [a = 0n, b = 0n] = terms;
        return gcd(a * a + a * b * t + b * b * q, TWIST_ORDER);
      };
      const loop = 6n * X + 2n;

      it("X is the parameter of q and r", () => {
        const [x2, x3, x4] = [X ** 2n, X ** 3n, X ** 4n];
        assert.equal(36n * x4 + 36n * x3 + 24n * x2 + 6n * X + 1n, q);
        assert.equal(q + 1n - t, FIELD_ORDER);
      });

      it("ψ³(B) as the third point of the last line means order r, and order r means it", () => {
        assert.equal(orderWithin(loop, 1n, -1n, 1n), FIELD_ORDER);
        // ψ is q on the subgroup.
        assert.equal((loop + q - q ** 2n + q ** 3n) % FIELD_ORDER, 0n);
      });

      it("ψ³(B) is neither of the two points that the last line is drawn through", () => {
        assert.equal(orderWithin(0n, 0n, 1n, 1n), 1n); // ψ³ = −ψ²
        assert.equal(orderWithin(-loop, -1n, 0n, 1n), 1n); // ψ³ = loop + ψ
      });

      it("no line of the loop is drawn through a point twice, through a point and its opposite, or at zero", () => {
        let multiple = 1n;
        for (const bit of loop.toString(2).slice(1)) {
          assert.equal(orderWithin(2n * multiple), 1n);
          multiple *= 2n;
          if (bit === "0") continue;
          assert.equal(orderWithin(multiple - 1n), 1n);
          assert.equal(orderWithin(multiple + 1n), 1n);
          multiple += 1n;
        }
        assert.equal(multiple, loop);
        assert.equal(orderWithin(loop), 1n);
        for (const sign of [1n, -1n]) {
          assert.equal(orderWithin(loop, sign), 1n); // loop = ∓ψ
          assert.equal(orderWithin(loop, 1n, sign), 1n); // loop + ψ = ∓ψ²
        }
      });
    });
  });

  describe("a product of pairings", () => {
    let out: At;
    before(() => {
      out = pairing.alloc(FQ12);
    });
    const productIs = (points: At, allLines: readonly At[], target: At): boolean => {
      pairing.product(points, allLines, out);
      return pairing.wasm.ftm_eq(out, target) === 1;
    };
    const productIsOne = (scalars: readonly (readonly [bigint, bigint])[]): boolean => {
      const points = pairing.alloc(JACOBIAN * scalars.length);
      const allLines = scalars.map(([a, b], i) => {
        const at = points + JACOBIAN * i;
        if (a === 0n) pairing.wasm.g1m_zero(at);
        else pairing.wasm.g1m_toJacobian(pairing.setNumbers(point, g1(a)), at);
        return pairing.drawLines(pairing.setNumbers(point, g2(b).flat()));
      });
      return productIs(points, allLines, pairing.one);
    };

    it("is one when the products of the scalars add up to zero, and only then", () => {
      for (let i = 0; i < 4; i++) {
        const [a, b, c, d] = [aField(), aField(), aField(), aField()];
        const last = noble.fields.Fr.create(-(a * b + c * d));
        const pairs = [
          [a, b],
          [c, d],
          [last, 1n],
        ] as const;
        assert.equal(productIsOne(pairs), true);
        assert.equal(productIsOne(pairs.slice(1)), false);
        assert.equal(productIsOne([...pairs, [1n, 1n]]), false);
        // The point zero pairs to one.
        assert.equal(productIsOne([...pairs, [0n, d]]), true);
      }
    });

    it("is ffjavascript's own pairing for one pair", () => {
      const { G1, G2 } = curve;
      const [a, b] = [g1(aField()), g2(aField())];
      const jacobian = pairing.alloc(JACOBIAN);
      pairing.wasm.g1m_toJacobian(pairing.setNumbers(point, a), jacobian);
      pairing.drawLines(pairing.setNumbers(point, b.flat()), lines);
      const [theirs, others] = [G1.fromObject(a), G1.neg(G1.fromObject(a))].map((each) =>
        pairing.set(pairing.alloc(FQ12), curve.pairing(each, G2.fromObject(b))),
      );
      assert.equal(productIs(jacobian, [lines], theirs!), true);
      assert.equal(productIs(jacobian, [lines], others!), false);
    });

    it("throws for more pairs than have room", () => {
      assert.throws(() => pairing.product(0, new Array<At>(MAX_PAIRS + 1).fill(lines), out));
    });
  });

  it("a fixed point times a scalar is noble's product, added to what was there", () => {
    const { wasm, bytes, alloc, setNumbers } = pairing;
    const { G1 } = curve;
    const scratch = alloc(32 * AFFINE + 33 * JACOBIAN);
    const sum = alloc(JACOBIAN);
    for (const factor of [1n, FIELD_ORDER - 1n, aField()]) {
      const times = fixedPoint(pairing, setNumbers(point, g1(factor)), scratch);
      const scalars = [0n, 1n, 2n, 31n, 32n, 33n, 1n << 250n, FIELD_ORDER - 1n, aField(), aField()];
      for (const scalar of scalars) {
        wasm.g1m_zero(sum);
        times(scalar, sum);
        times(1n, sum);
        const { x, y } = noble.G1.Point.BASE.multiplyUnsafe(
          noble.fields.Fr.mul(factor, scalar + 1n),
        ).toAffine();
        const affine = G1.toAffine(bytes.slice(sum, sum + JACOBIAN));
        assert.deepEqual(G1.isZero(affine) ? [0n, 0n] : G1.toObject(affine).slice(0, 2), [x, y]);
      }
    }
  });
});

function gcd(a: bigint, b: bigint): bigint {
  let [large, small] = [a < 0n ? -a : a, b];
  while (small !== 0n) [large, small] = [small, large % small];
  return large;
}
