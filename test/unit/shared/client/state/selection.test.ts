import fc from "fast-check";
import assert from "node:assert/strict";
import { ClientError } from "../../../../../shared/client/base/errors.ts";
import type { Exposure } from "../../../../../shared/client/state/exposure.ts";
import { selectForConsolidation, selectNotes, sumOf } from "../../../../../shared/client/state/selection.ts";
import type { OwnedNote } from "../../../../../shared/client/state/state.ts";
import { mustField, type Address } from "../../../../../shared/protocol/brands.ts";

const aNote = (value: bigint, leafIndex: number): OwnedNote => ({
  asset: "0x00000000000000000000000000000000000000bb" as Address,
  value,
  blinding: mustField(1n),
  leafIndex,
  commitment: mustField(BigInt(leafIndex)),
  nullifier: mustField(BigInt(leafIndex)),
  source: "spend",
  block: 1,
  txHash: "0x",
});
const notes = fc
  .array(fc.bigInt(1n, 1000n), { maxLength: 12 })
  .map((values) => values.map((value, at) => aNote(value, at)));
const refused = fc
  .array(fc.uniqueArray(fc.nat(11), { minLength: 1, maxLength: 2 }), { minLength: 1, maxLength: 3 })
  .map((all) => all.map((leafIndexes): Exposure => ({ leafIndexes, until: 0 })));
const select = (
  from: readonly OwnedNote[],
  amount: bigint,
  exposed: readonly Exposure[] = [],
  limit = 2,
): OwnedNote[] | string => {
  try {
    return selectNotes(from, amount, limit, exposed);
  } catch (error) {
    return (error as ClientError).code;
  }
};

describe("note selection", () => {
  it("covers the amount with the smallest pair, exactly as trying all pairs would", () => {
    fc.assert(
      fc.property(notes, fc.bigInt(1n, 2500n), (from, amount) => {
        const pairs = from.flatMap((a, i) => from.slice(i + 1).map((b) => [a, b]));
        const sums = pairs.map(sumOf).filter((sum) => sum >= amount);
        const chosen = select(from, amount);
        if (sumOf(from) < amount) assert.equal(chosen, "INSUFFICIENT_FUNDS");
        else if (from.length === 1) assert.deepEqual(chosen, from);
        else if (sums.length === 0) assert.equal(chosen, "NEEDS_CONSOLIDATION");
        else {
          assert.ok(Array.isArray(chosen) && chosen.length === 2 && chosen[0] !== chosen[1]);
          assert.equal(
            sumOf(chosen),
            sums.reduce((a, b) => (a < b ? a : b)),
          );
        }
      }),
      { numRuns: 1000 },
    );
  });

  it("does not depend on the order of its input", () => {
    fc.assert(
      fc.property(notes, fc.bigInt(1n, 1500n), (from, amount) => {
        assert.deepEqual(select([...from].reverse(), amount), select(from, amount));
      }),
    );
  });

  it("holds a note of every refused payment, in the smallest pair that does, or says that there is none", () => {
    fc.assert(
      fc.property(notes, fc.bigInt(1n, 1500n), refused, (from, amount, exposed) => {
        const pairs =
          from.length === 1 ? [from] : from.flatMap((a, i) => from.slice(i + 1).map((b) => [a, b]));
        const sums = pairs
          .filter((pair) =>
            exposed.every(({ leafIndexes }) => pair.some((note) => leafIndexes.includes(note.leafIndex))),
          )
          .map(sumOf)
          .filter((sum) => sum >= amount);
        const chosen = select(from, amount, exposed);
        if (sums.length > 0) {
          assert.ok(Array.isArray(chosen));
          assert.equal(
            sumOf(chosen),
            sums.reduce((a, b) => (a < b ? a : b)),
          );
          for (const { leafIndexes } of exposed)
            assert.ok(chosen.some((note) => leafIndexes.includes(note.leafIndex)));
        } else {
          const free = select(from, amount);
          assert.equal(chosen, Array.isArray(free) ? "PAYMENT_UNRESOLVED" : free);
        }
      }),
      { numRuns: 1000 },
    );
  });

  it("consolidation takes a note of every refused payment too", () => {
    const from = [1n, 2n, 3n, 4n].map((value, at) => aNote(value, at));
    const taken = (...groups: number[][]): bigint[] =>
      selectForConsolidation(
        from,
        2,
        groups.map((leafIndexes) => ({ leafIndexes, until: 0 })),
      ).map(({ value }) => value);
    assert.deepEqual(taken([0]), [1n, 4n]);
    assert.deepEqual(taken([0, 1], [1, 2]), [2n, 4n]);
    assert.throws(() => taken([0], [1], [2]), ClientError);
    assert.throws(() => taken([7]), ClientError);
  });

  it("consolidation merges the largest, and repeated it makes any covered amount payable", () => {
    fc.assert(
      fc.property(notes, fc.constantFrom(2, 3, 9), (from, limit) => {
        if (from.length < 2) {
          assert.throws(() => selectForConsolidation(from, limit), ClientError);
          return;
        }
        let held = [...from];
        const total = sumOf(held);
        for (let round = 0; !Array.isArray(select(held, total, [], limit)); round++) {
          assert.ok(round < Math.ceil((from.length - 1) / (limit - 1)));
          const merged = selectForConsolidation(held, limit);
          assert.equal(merged.length, Math.min(limit, held.length));
          held = [...held.filter((note) => !merged.includes(note)), aNote(sumOf(merged), 1000 + round)];
        }
      }),
      { numRuns: 100 },
    );
  });

  describe("of more than two notes", () => {
    /** Every way to take at most `limit` notes that holds one of each refused payment. */
    const allowed = (from: readonly OwnedNote[], limit: number, exposed: readonly Exposure[]) =>
      Array.from({ length: 2 ** from.length }, (_, bits) =>
        from.filter((_note, at) => (bits >> at) & 1),
      ).filter(
        (chosen) =>
          chosen.length > 0 &&
          chosen.length <= limit &&
          exposed.every(({ leafIndexes }) => chosen.some((note) => leafIndexes.includes(note.leafIndex))),
      );
    const few = fc
      .array(fc.bigInt(1n, 200n), { maxLength: 9 })
      .map((values) => values.map((value, at) => aNote(value, at)));
    const manyRefused = fc
      .array(fc.uniqueArray(fc.nat(8), { minLength: 1, maxLength: 4 }), { maxLength: 4 })
      .map((all) => all.map((leafIndexes): Exposure => ({ leafIndexes, until: 0 })));

    it("finds a choice whenever there is one, as trying all sets would, and gives the true reason when not", () => {
      fc.assert(
        fc.property(
          few,
          fc.bigInt(1n, 900n),
          manyRefused,
          fc.integer({ min: 3, max: 6 }),
          (from, amount, exposed, limit) => {
            const covers = (chosen: readonly OwnedNote[]): boolean => sumOf(chosen) >= amount;
            const chosen = select(from, amount, exposed, limit);
            if (allowed(from, limit, exposed).some(covers)) {
              assert.ok(Array.isArray(chosen));
              assert.ok(covers(chosen) && new Set(chosen).size === chosen.length);
              assert.ok(
                allowed(from, limit, exposed).some((one) => one.every((note) => chosen.includes(note))),
              );
              assert.ok(chosen.length <= limit);
            } else if (sumOf(from) < amount) assert.equal(chosen, "INSUFFICIENT_FUNDS");
            else if (allowed(from, limit, []).some(covers)) assert.equal(chosen, "PAYMENT_UNRESOLVED");
            else assert.equal(chosen, "NEEDS_CONSOLIDATION");
          },
        ),
        { numRuns: 1000 },
      );
    });

    it("merging takes the largest sum that excludes every refused payment, as trying all sets would", () => {
      fc.assert(
        fc.property(few, manyRefused, fc.integer({ min: 2, max: 6 }), (from, exposed, limit) => {
          fc.pre(from.length >= 2);
          const sums = allowed(from, limit, exposed).map(sumOf);
          if (sums.length === 0) {
            assert.throws(() => selectForConsolidation(from, limit, exposed), ClientError);
            return;
          }
          const merged = selectForConsolidation(from, limit, exposed);
          assert.equal(
            sumOf(merged),
            sums.reduce((a, b) => (a > b ? a : b)),
          );
          for (const { leafIndexes } of exposed)
            assert.ok(merged.some((note) => leafIndexes.includes(note.leafIndex)));
        }),
        { numRuns: 1000 },
      );
    });

    it("takes two where two will do, and else fills the free places with the smallest", () => {
      const from = [5n, 1n, 9n, 2n, 7n, 3n, 8n].map((value, at) => aNote(value, at));
      const values = (amount: bigint, limit: number): bigint[] =>
        (select(from, amount, [], limit) as OwnedNote[]).map(({ value }) => value);
      assert.deepEqual(values(17n, 9), [8n, 9n]);
      assert.deepEqual(values(18n, 5), [9n, 8n, 7n, 1n, 2n]);
      assert.deepEqual(values(35n, 9), [9n, 8n, 7n, 5n, 3n, 2n, 1n]);
      assert.equal(select(from, 18n, [], 2), "NEEDS_CONSOLIDATION");
    });

    it("is quick with many notes and many refused payments", () => {
      const from = Array.from({ length: 400 }, (_, at) => aNote(BigInt(at + 1), at));
      const group = (start: number): Exposure => ({
        leafIndexes: Array.from({ length: 9 }, (_, at) => start * 9 + at),
        until: 0,
      });
      const apart = Array.from({ length: 9 }, (_, start) => group(start));
      assert.equal((select(from, 300n, apart, 9) as OwnedNote[]).length, 9);
      assert.equal(select(from, 300n, [...apart, group(9)], 9), "PAYMENT_UNRESOLVED");
    });
  });
});
