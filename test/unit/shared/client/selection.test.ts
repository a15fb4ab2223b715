import fc from "fast-check";
import assert from "node:assert/strict";
import { ClientError } from "../../../../shared/client/errors.ts";
import type { Exposure } from "../../../../shared/client/exposure.ts";
import { selectForConsolidation, selectNotes, sumOf } from "../../../../shared/client/selection.ts";
import type { OwnedNote } from "../../../../shared/client/state.ts";
import { mustField, type Address } from "../../../../shared/protocol/brands.ts";

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
): OwnedNote[] | string => {
  try {
    return selectNotes(from, amount, exposed);
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
        groups.map((leafIndexes) => ({ leafIndexes, until: 0 })),
      ).map(({ value }) => value);
    assert.deepEqual(taken([0]), [1n, 4n]);
    assert.deepEqual(taken([0, 1], [1, 2]), [2n, 4n]);
    assert.throws(() => taken([0], [1], [2]), ClientError);
    assert.throws(() => taken([7]), ClientError);
  });

  it("consolidation merges the two largest, and repeated it makes any covered amount payable", () => {
    fc.assert(
      fc.property(notes, (from) => {
        if (from.length < 2) {
          assert.throws(() => selectForConsolidation(from), ClientError);
          return;
        }
        let held = [...from];
        const total = sumOf(held);
        for (let round = 0; !Array.isArray(select(held, total)); round++) {
          assert.ok(round < from.length);
          const merged = selectForConsolidation(held);
          held = [...held.filter((note) => !merged.includes(note)), aNote(sumOf(merged), 1000 + round)];
        }
      }),
      { numRuns: 100 },
    );
  });
});
