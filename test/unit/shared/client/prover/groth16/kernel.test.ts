// Additions in affine batches: the right sum for every pair there is, whatever its neighbours in the batch are.
import assert from "node:assert/strict";
import type { Bn128 } from "ffjavascript";
import { provingCurve } from "../../../../../../shared/client/prover/groth16/engine.ts";
import { areasOf, GROUPS, kernelOf } from "../../../../../../shared/client/prover/groth16/kernel.ts";
import { concatBytes } from "../../../../../../shared/protocol/bytes.ts";
import { Dice } from "../../../../../contract/circuits/statements.ts";
import { aPoint, groupOf, type Group } from "./points.ts";

for (const name of ["G1", "G2"] as const) {
  describe(`client: additions in affine batches (${name})`, () => {
    const dice = new Dice(`affine batches ${name}`);
    const pointBytes = 2 * GROUPS[name].coordinateBytes;
    const infinity = new Uint8Array(pointBytes);
    let curve: Bn128;
    let G: Group;
    let free: number;

    before(async () => {
      curve = await provingCurve();
      G = groupOf(curve, name);
      // The memory of the calling thread does not grow: every run writes over the one before.
      free = curve.tm.alloc(100_000);
    });

    const point = (): Uint8Array => aPoint(G, dice);
    const opposite = (of: Uint8Array): Uint8Array => G.toAffine(G.neg(of));
    const sum = (a: Uint8Array, b: Uint8Array): Uint8Array => G.toAffine(G.add(a, b));

    /** Calls a function of the kernel with a list of [address, second] for [place of a point, second]. */
    function run(
      fnName: "addPairs" | "sumRows",
      points: readonly Uint8Array[],
      entries: readonly (readonly [number, number])[],
      secondIsPlace: boolean,
    ): Uint8Array[] {
      const addressOf = (place: number): number => free + place * pointBytes;
      const list = addressOf(points.length);
      const end = list + entries.length * 8;
      curve.tm.setBuff(free, concatBytes(...points));
      const words = entries.flatMap(([place, second]) => [
        addressOf(place),
        secondIsPlace ? addressOf(second) : second,
      ]);
      curve.tm.setBuff(list, new Uint8Array(Uint32Array.from(words).buffer));
      curve.tm.instance.exports[kernelOf(name)[fnName]](list, end, end);
      return points.map((_, place) => curve.tm.getBuff(addressOf(place), pointBytes));
    }

    /** Left points after the batch. */
    function added(pairs: readonly (readonly [Uint8Array, Uint8Array])[]): Uint8Array[] {
      const places = pairs.map((_, i) => [2 * i, 2 * i + 1] as const);
      return run("addPairs", pairs.flat(), places, true).filter((_, i) => i % 2 === 0);
    }

    it("adds what needs no slope and what needs one, in any order", () => {
      const [p, q, r] = [point(), point(), point()];
      const cases: [Uint8Array, Uint8Array, Uint8Array][] = [
        [p, q, sum(p, q)],
        [p, infinity, p],
        [infinity, p, p],
        [infinity, infinity, infinity],
        [p, opposite(p), infinity],
        [p, p, sum(p, p)],
        [q, r, sum(q, r)],
        [opposite(q), opposite(q), sum(opposite(q), opposite(q))],
      ];
      for (let turn = 0; turn < cases.length; turn++) {
        const turned = [...cases.slice(turn), ...cases.slice(0, turn)];
        assert.deepEqual(
          added(turned.map(([left, right]) => [left, right])),
          turned.map(([, , expected]) => expected),
        );
      }
      for (const [left, right, expected] of cases) assert.deepEqual(added([[left, right]]), [expected]);
      assert.deepEqual(added([]), []);
    });

    it("leaves the right points as they were", () => {
      const points = [point(), point(), point(), point()];
      const after = run("addPairs", points, [[0, 1], [2, 3]], true); // prettier-ignore
      assert.deepEqual([after[1], after[3]], [points[1], points[3]]);
    });

    it("sums rows of any length in place", () => {
      const p = point();
      const rows = [
        [],
        [point()],
        [point(), point()],
        [point(), point(), point()],
        [p, p, p, p, p, p, p],
        [p, opposite(p), p, opposite(p)],
        [p, p, opposite(p), opposite(p), point()],
        Array.from({ length: 33 }, () => point()),
        [infinity, infinity, infinity],
      ];
      let place = 0;
      const entries = rows.map((row) => [(place += row.length) - row.length, row.length] as const);
      const after = run("sumRows", rows.flat(), entries, false);
      rows.forEach((row, i) => {
        if (row.length === 0) return;
        const expected = row.reduce((total, next) => G.add(total, next), G.zero);
        assert.deepEqual(after[entries[i]![0]], G.toAffine(expected), `row ${String(i)}`);
      });
    });

    it("says how much room a window needs, for one point and for the widest window too", () => {
      assert.deepEqual(areasOf(name, 1, 2), {
        rows: 24,
        sorted: pointBytes,
        tables: 4 * pointBytes,
        work: 2 * (8 + pointBytes / 2),
      });
      assert.equal(areasOf(name, 10, 15).rows, (2 ** 14 + 1) * 8);
    });
  });
}
