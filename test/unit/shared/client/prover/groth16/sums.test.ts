// Sums of points: what ffjavascript's own multi-exponentiation makes of the same points and scalars.
import assert from "node:assert/strict";
import type { Bn128 } from "ffjavascript";
import { sumOf, windowsOf } from "../../../../../../shared/client/prover/groth16/sums.ts";
import { FIELD_ORDER } from "../../../../../../shared/protocol/brands.ts";
import { concatBytes } from "../../../../../../shared/protocol/bytes.ts";
import { Dice } from "../../../../../contract/circuits/statements.ts";
import { curveFor } from "./curve.ts";
import { allScalars, aPoint, groupOf, type Group } from "./points.ts";

const EXTREMES = [
  0n,
  1n,
  2n,
  3n,
  2n ** 32n,
  2n ** 253n,
  FIELD_ORDER / 2n,
  FIELD_ORDER - 2n,
  FIELD_ORDER - 1n,
];

describe("client: signed windows of scalars", () => {
  const dice = new Dice("signed windows");
  const scalars = [...EXTREMES, 2n ** 254n - 1n, ...Array.from({ length: 50 }, () => dice.field())];
  for (let bits = 2; bits <= 15; bits++) {
    it(`of ${String(bits)} bits are the scalars again, and small`, () => {
      const windows = windowsOf(allScalars(scalars), bits);
      scalars.forEach((scalar, i) => {
        const digits = windows.map((window) => window[i]!);
        const total = digits.reduceRight((sum, digit) => sum * 2n ** BigInt(bits) + BigInt(digit), 0n);
        assert.equal(total, scalar);
        for (const digit of digits) assert.ok(digit > -(2 ** (bits - 1)) && digit <= 2 ** (bits - 1));
      });
    });
  }
});

for (const name of ["G1", "G2"] as const) {
  for (const threads of [0, 3]) {
    describe(`client: sums of points (${name}, ${threads === 0 ? "in this thread" : "in threads"})`, () => {
      const dice = new Dice(`sums of points ${name}`);
      let curve: Bn128;
      let end: () => Promise<void>;
      let G: Group;
      let infinity: Uint8Array;

      before(async () => {
        ({ curve, end } = await curveFor(threads));
        G = groupOf(curve, name);
        infinity = new Uint8Array(2 * G.F.n8);
      });
      after(() => end());

      const opposite = (of: Uint8Array): Uint8Array => G.toAffine(G.neg(of));
      const points = (count: number): Uint8Array[] => Array.from({ length: count }, () => aPoint(G, dice));
      const scalars = (count: number): bigint[] => Array.from({ length: count }, () => dice.field());
      const repeated = <T>(item: T, count: number): T[] => Array.from({ length: count }, () => item);

      async function check(bases: readonly Uint8Array[], values: readonly bigint[]): Promise<Uint8Array> {
        assert.equal(bases.length, values.length);
        const [all, each] = [concatBytes(...bases), allScalars(values)];
        const sum = await sumOf(curve, name, all, each);
        assert.ok(G.eq(sum, await G.multiExpAffine(all, each)));
        return sum;
      }

      it("of no point is zero", async () => {
        assert.ok(G.isZero(await check([], [])));
      });

      it("of one point is its multiple, for every extreme scalar", async () => {
        for (const value of EXTREMES) {
          const [point] = points(1) as [Uint8Array];
          const sum = await check([point], [value]);
          assert.deepEqual(sum.length, 3 * G.F.n8);
          assert.ok(G.eq(sum, G.timesScalar(point, value)));
          assert.equal(G.isZero(sum), value === 0n);
        }
      });

      for (const count of [2, 3, 17, 100, 400]) {
        it(`of ${String(count)} points with random scalars`, async () => {
          await check(points(count), scalars(count));
        });
      }

      it("with points at infinity among them, and of these alone", async () => {
        const bases = points(60).map((point, i) => (i % 3 === 0 ? infinity : point));
        await check(bases, scalars(60));
        // Not compared: ffjavascript 0.3 makes (0 : 0 : 1) of these, which is no point.
        const none = await sumOf(curve, name, concatBytes(...repeated(infinity, 5)), allScalars(scalars(5)));
        assert.ok(G.isZero(none));
      });

      it("of equal points with equal scalars, all in one bucket", async () => {
        const [point] = points(1) as [Uint8Array];
        const value = dice.field();
        for (const count of [2, 3, 64, 129]) {
          const sum = await check(repeated(point, count), repeated(value, count));
          assert.ok(G.eq(sum, G.timesScalar(point, (value * BigInt(count)) % FIELD_ORDER)));
        }
      });

      it("of opposite points, which cancel out", async () => {
        const half = points(40);
        const values = scalars(40);
        const sum = await check([...half, ...half.map(opposite)], [...values, ...values]);
        assert.ok(G.isZero(sum));
        const [point] = points(1) as [Uint8Array];
        assert.ok(G.isZero(await check([point, point], [5n, FIELD_ORDER - 5n])));
      });

      it("with scalars that are bits or small, as many wires are", async () => {
        const bases = points(200);
        await check(
          bases,
          bases.map((_, i) => BigInt(i % 2)),
        );
        await check(
          bases,
          bases.map((_, i) => EXTREMES[i % EXTREMES.length]!),
        );
        assert.ok(G.isZero(await check(bases, repeated(0n, 200))));
      });

      it("of equal and opposite points, infinity, small and large scalars all at once", async () => {
        const few = points(4);
        const pool = [...few, ...few.map(opposite), infinity];
        const bases = Array.from({ length: 300 }, () => pool[Number(dice.below(9n))]!);
        const values = bases.map(() => (dice.below(2n) === 0n ? dice.below(4n) : dice.field()));
        await check(bases, values);
      });

      it("with scalars that stand at any place of a larger buffer", async () => {
        const bases = concatBytes(...points(5));
        const each = allScalars(scalars(5));
        for (const shift of [0, 1, 4]) {
          const larger = new Uint8Array(each.length + shift);
          larger.set(each, shift);
          const sum = await sumOf(curve, name, bases, larger.subarray(shift));
          assert.ok(G.eq(sum, await G.multiExpAffine(bases, each)));
        }
      });
    });
  }
}
