// What the judge computes with, against other implementations: the hash, the lines of the pairing, the group of B, keys.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { bn254 } from "@noble/curves/bn254.js";
import { poseidon4 } from "poseidon-lite";
import { hash4 } from "../../../../enclave/second/judge/poseidon.ts";
import { linesOf, X } from "../../../../enclave/second/judge/lines.ts";
import { pointOnTwist, type G2Point, type Quad } from "../../../../enclave/second/judge/points.ts";
import { recomputeUpdate } from "../../../../enclave/second/judge/tree.ts";
import { readKeys } from "../../../../enclave/second/judge/verification-key.ts";
import { drawField } from "../../../support/drafts.ts";
import { STATEMENTS } from "../../../contract/vectors/story.ts";
import { onTwistOutsideSubgroup } from "../support/toy-groth16.ts";
import { KEYS } from "./requests.ts";

const q = 0x30644e72e131a029b85045b68181585d97816a916871ca8d3c208c16d87cfd47n;
const r = 0x30644e72e131a029b85045b68181585d2833e84879b9709143e1f593f0000001n;
const { Fp2 } = bn254.fields;

const quadOf = (point: InstanceType<typeof bn254.G2.Point>): Quad => {
  const { x, y } = point.toAffine();
  return [x.c1, x.c0, y.c1, y.c0];
};
const read = (quad: Quad): G2Point => {
  const point = pointOnTwist(quad);
  assert.ok(point !== undefined);
  return point;
};

describe("enclave/second/judge: arithmetic", function () {
  it("hashes four numbers as circomlib's tables do: ends of the range, and at random", () => {
    const ends = [0n, 1n, r - 1n].map((end): [bigint, bigint, bigint, bigint] => [end, end, end, end]);
    const drawn = Array.from({ length: 20 }, (): [bigint, bigint, bigint, bigint] => [
      ...([drawField(), drawField()] as const),
      ...([drawField(), drawField()] as const),
    ]);
    for (const four of [...ends, ...drawn]) assert.equal(hash4(four), poseidon4(four));
  });

  it("has the vectors' roots for every number of leaves", () => {
    const file = new URL("../../../support/vectors/tree.json", import.meta.url);
    const { trees } = JSON.parse(readFileSync(file, "utf8")) as { trees: { count: number; root: string }[] };
    for (const { count, root } of trees) {
      const leaves = Array.from({ length: Math.max(count, 1) }, (_, i) => BigInt(i + 1));
      const update = recomputeUpdate(0n, [], new Uint8Array(32), leaves);
      assert.ok(typeof update === "object");
      assert.equal(count === 0 ? update.oldRoot : update.newRoot, BigInt(root), String(count));
    }
    assert.ok(trees.length > 5);
  });

  it("q and r are the polynomials of the parameter that the loop walks by", () => {
    assert.equal(36n * X ** 4n + 36n * X ** 3n + 24n * X ** 2n + 6n * X + 1n, q);
    assert.equal(36n * X ** 4n + 36n * X ** 3n + 18n * X ** 2n + 6n * X + 1n, r);
  });

  // ψ² = tψ − q in the ring of the twist's endomorphisms; an element a + bψ has the norm a² + abt + b²q.
  it("[6X + 2] + ψ − ψ² + ψ³ is 0 for no point of the twist but those of order r", () => {
    const t = q + 1n - r;
    const times = ([a, b]: readonly [bigint, bigint], [c, d]: readonly [bigint, bigint]) =>
      [a * c - b * d * q, a * d + b * c + b * d * t] as const;
    const psi = [0n, 1n] as const;
    const [psi2, psi3] = [times(psi, psi), times(psi, times(psi, psi))];
    const a = 6n * X + 2n + psi[0] - psi2[0] + psi3[0];
    const b = psi[1] - psi2[1] + psi3[1];
    const norm = a * a + a * b * t + b * b * q;
    const gcd = (m: bigint, n: bigint): bigint => (n === 0n ? m : gcd(n, m % n));
    // The twist has r · (2q − r) points.
    assert.equal(gcd(norm, r * (2n * q - r)), r);
  });

  it("finds the points of order r among those of the twist, and gives each the same lines in any company", () => {
    const inside = [1n, 2n, 3n, r - 1n, 123456789n ** 7n % r].map((scalar) =>
      quadOf(bn254.G2.Point.BASE.multiply(scalar)),
    );
    const outside: Quad[] = [1n, 50n, 999n].map((from): Quad => {
      const [[x0, x1], [y0, y1]] = onTwistOutsideSubgroup(from);
      return [x1, x0, y1, y0];
    });
    // Of the cofactor's group alone, and of a small divisor of it: the walk of the second comes back to where it was.
    const point = bn254.G2.Point.fromAffine(affine(outside[0]!));
    const cofactor = point.multiplyUnsafe(r - 1n).add(point);
    const SMALL = 10_069n;
    assert.equal((2n * q - r) % SMALL, 0n);
    const small = manyTimes(point, (r * (2n * q - r)) / SMALL);
    assert.ok(!small.is0() && manyTimes(small, SMALL).is0());
    const all = [
      ...inside,
      ...outside,
      quadOf(cofactor),
      quadOf(small),
      quadOf(cofactor.add(bn254.G2.Point.BASE)),
    ];
    const together = linesOf(all.map(read));
    assert.deepEqual(
      together.map((lines) => lines !== undefined),
      all.map((_, i) => i < inside.length),
    );
    all.forEach((quad, i) => assert.deepEqual(linesOf([read(quad)])[0], together[i]));
    assert.deepEqual(linesOf([]), []);
  });

  it("refuses a walk that cannot go on, and its neighbours go on", () => {
    // No such point is on the twist, whose order is odd, and noble makes none.
    const stuck = { toAffine: () => ({ x: Fp2.ONE, y: Fp2.ZERO }) } as G2Point;
    const good = read(quadOf(bn254.G2.Point.BASE));
    const [first, second, third] = linesOf([good, stuck, good]);
    assert.equal(second, undefined);
    assert.ok(first !== undefined);
    assert.deepEqual([first, third], [linesOf([good])[0], first]);
  });

  it("gives lines by which noble's loop computes noble's pairing", () => {
    const a = bn254.G1.Point.BASE.multiply(77n);
    const b = bn254.G2.Point.BASE.multiply(99n);
    const { x, y } = a.toAffine();
    const [lines] = linesOf([read(quadOf(b))]);
    const mine = bn254.fields.Fp12.finalExponentiate(bn254.millerLoopBatch([[lines!, x, y]]));
    assert.ok(bn254.fields.Fp12.eql(mine, bn254.pairing(a, b)));
  });

  describe("verification keys", () => {
    it("have the hashes that other implementations sign", () => {
      const keys = readKeys(KEYS);
      for (const { kind, attestation } of STATEMENTS) {
        const hash = `0x${Buffer.from(keys[kind].hash).toString("hex")}`;
        assert.equal(hash, attestation.message["verifyingKeyHash"]);
      }
    });

    const spend = KEYS["spend"] as Record<string, unknown>;
    const points = spend["IC"] as string[][];
    const beta = spend["vk_beta_2"] as string[][];
    const [[x0, x1], [y0, y1]] = onTwistOutsideSubgroup();
    const strange = [
      [x0, x1],
      [y0, y1],
      [1n, 0n],
    ].map((pair) => pair.map(String));
    for (const [what, changes] of [
      ["a curve that is another", { curve: "bls12381" }],
      ["a system that is another", { protocol: "plonk" }],
      ["fewer signals", { nPublic: 9 }],
      ["a point fewer", { IC: points.slice(1) }],
      ["a point off the curve", { IC: points.with(3, ["1", "3", "1"]) }],
      ["a point at infinity", { IC: points.with(3, ["0", "0", "1"]) }],
      ["a point that is not affine", { IC: points.with(3, points[3]!.with(2, "2")) }],
      ["a coordinate of q and more", { vk_alpha_1: ["1", String(q + 2n), "1"] }],
      ["a number in hex", { vk_alpha_1: ["0x1", "2", "1"] }],
      ["a number that is none", { vk_alpha_1: [1, 2, 1] }],
      ["a point of another order", { vk_beta_2: strange }],
      ["a point off the twist", { vk_gamma_2: beta.with(0, ["1", "1"]) }],
      [
        "a point of G2 at infinity",
        {
          vk_delta_2: [
            ["0", "0"],
            ["0", "0"],
            ["1", "0"],
          ],
        },
      ],
      ["a point of G2 that is not affine", { vk_delta_2: beta.with(2, ["1", "1"]) }],
      ["no point", { vk_alpha_1: null }],
    ] as const) {
      it(`are refused with ${what}`, () => {
        assert.throws(() => readKeys({ ...KEYS, spend: { ...spend, ...changes } }), /verification keys: /);
      });
    }
    it("are refused when one is missing, one more is there, or none is", () => {
      const { spend9, ...fewer } = KEYS;
      for (const keys of [fewer, { ...KEYS, spend10: spend9 }, { ...KEYS, spend: 1 }, null, "keys"])
        assert.throws(() => readKeys(keys), /verification keys: /);
    });
  });
});

function affine([x1, x0, y1, y0]: Quad) {
  return { x: Fp2.fromBigTuple([x0, x1]), y: Fp2.fromBigTuple([y0, y1]) };
}

/** noble multiplies by numbers below r. */
function manyTimes(point: InstanceType<typeof bn254.G2.Point>, factor: bigint): typeof point {
  let sum = bn254.G2.Point.ZERO;
  for (const bit of factor.toString(2)) {
    sum = sum.double();
    if (bit === "1") sum = sum.add(point);
  }
  return sum;
}
