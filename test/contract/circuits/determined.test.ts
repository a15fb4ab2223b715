import assert from "node:assert/strict";
import { compiled, type Compiled } from "./compiled.ts";
import { evaluate, FIELD_ORDER, mod, type Constraint } from "./r1cs.ts";
import { aDeposit, aSpend, depositInputs, Dice, madeNotes, spendInputs } from "./statements.ts";
import { WitnessProgram, type Inputs } from "./witness.ts";

/**
 * A search for under-constrained signals. At a valid witness in which every input matters (two real
 * notes, a payment in public), no wire may be free: neither alone (first test) nor, once the inputs are
 * fixed, together with others (second test: the constraints' slopes have full rank in all other wires).
 * That is uniqueness near this witness; that 128 or 32 bits have one sum below the field's order is
 * what makes it global for range checks.
 */
describe("no signal of a circuit is left free", function () {
  const cases: readonly { name: "deposit-shield" | "spend"; inputs: () => Inputs }[] = [
    { name: "deposit-shield", inputs: () => depositInputs(aDeposit(new Dice("determined"))) },
    {
      name: "spend",
      inputs: () => {
        const dice = new Dice("determined");
        return spendInputs(aSpend(dice, { amountOut: 60n, made: madeNotes(dice, [5n, 33n, 1n, 1n]) }));
      },
    },
  ];

  for (const { name, inputs } of cases) {
    describe(name, () => {
      let circuit: Compiled;
      let witness: readonly bigint[];
      let slopes: readonly ReadonlyMap<number, bigint>[];

      before(async function () {
        this.timeout(180_000);
        circuit = await compiled(name);
        const program = await WitnessProgram.load(new Uint8Array(circuit.wasm));
        witness = await program.honest(inputs());
        slopes = circuit.r1cs.constraints.map((constraint) => slopesAt(constraint, witness));
      });

      it("each wire alone, changed by one, breaks a constraint", () => {
        const noticed = new Set<number>();
        circuit.r1cs.constraints.forEach(({ a, b, c }, i) => {
          // a(w + e) · b(w + e) − c(w + e) = slope + (coefficient in a) · (coefficient in b)
          const inA = new Map(a);
          const inB = new Map(b);
          for (const wire of [...a, ...b, ...c].map(([touched]) => touched)) {
            const slope = slopes[i]?.get(wire) ?? 0n;
            if (mod(slope + (inA.get(wire) ?? 0n) * (inB.get(wire) ?? 0n)) !== 0n) noticed.add(wire);
          }
        });
        assert.deepEqual(missing(circuit, noticed), []);
      });

      it("all wires follow from the inputs", function () {
        this.timeout(180_000);
        const given = inputWires(circuit);
        const rows = slopes.map((row) => new Map([...row].filter(([wire]) => !given.has(wire))));
        assert.deepEqual(missing(circuit, new Set([...given, ...solvable(rows)])), []);
      });

      it("and the search sees a signal that lost its constraint", () => {
        const freed = circuit.wires.get("main.statement.contextSquared") ?? -1;
        const given = inputWires(circuit);
        const rows = slopes
          .filter((row) => !row.has(freed))
          .map((row) => new Map([...row].filter(([wire]) => !given.has(wire))));
        assert.deepEqual(missing(circuit, new Set([...given, ...solvable(rows)])), [
          "main.statement.contextSquared",
        ]);
      });
    });
  }
});

/** How a · b − c changes with each wire; a wire whose slope is 0 is left out, for it is not held here. */
function slopesAt({ a, b, c }: Constraint, witness: readonly bigint[]): Map<number, bigint> {
  const atA = evaluate(a, witness);
  const atB = evaluate(b, witness);
  const slopes = new Map<number, bigint>();
  const add = (wire: number, slope: bigint): void => {
    slopes.set(wire, mod((slopes.get(wire) ?? 0n) + slope));
  };
  for (const [wire, coefficient] of a) add(wire, coefficient * atB);
  for (const [wire, coefficient] of b) add(wire, coefficient * atA);
  for (const [wire, coefficient] of c) add(wire, -coefficient);
  for (const [wire, slope] of slopes) if (slope === 0n) slopes.delete(wire);
  return slopes;
}

/**
 * The unknowns that a system of linear equations fixes (Gaussian elimination, shortest row first, which
 * keeps the rows short: a circuit computes forward, so most rows have one unknown when their turn comes).
 * The rows are used up.
 */
function solvable(rows: readonly Map<number, bigint>[]): Set<number> {
  const rowsOf = new Map<number, Set<Map<number, bigint>>>();
  const byLength: Set<Map<number, bigint>>[] = [];
  const file = (row: Map<number, bigint>): void => {
    (byLength[row.size] ??= new Set()).add(row);
  };
  for (const row of rows) {
    for (const wire of row.keys()) {
      const touching = rowsOf.get(wire) ?? new Set();
      rowsOf.set(wire, touching.add(row));
    }
    file(row);
  }
  const pivots = new Set<number>();
  for (;;) {
    const [pivotRow] = byLength.find((group, length) => length > 0 && group.size > 0) ?? [];
    if (pivotRow === undefined) return pivots;
    byLength[pivotRow.size]?.delete(pivotRow);
    const touchCount = (wire: number): number => rowsOf.get(wire)?.size ?? 0;
    const [pivot, slope] = [...pivotRow].reduce((best, next) =>
      touchCount(next[0]) < touchCount(best[0]) ? next : best,
    );
    pivots.add(pivot);
    for (const wire of pivotRow.keys()) rowsOf.get(wire)?.delete(pivotRow);
    const scale = pivotRow.size > 1 ? inverse(slope) : 0n;
    for (const row of [...(rowsOf.get(pivot) ?? [])]) {
      byLength[row.size]?.delete(row);
      const factor = mod((row.get(pivot) ?? 0n) * scale);
      for (const [wire, coefficient] of pivotRow) {
        const rest = wire === pivot ? 0n : mod((row.get(wire) ?? 0n) - factor * coefficient);
        if (rest === 0n) {
          row.delete(wire);
          rowsOf.get(wire)?.delete(row);
        } else {
          row.set(wire, rest);
          rowsOf.get(wire)?.add(row);
        }
      }
      file(row);
    }
  }
}

/** By Euclid's algorithm; of 0 there is none. */
function inverse(value: bigint): bigint {
  let [rest, last] = [mod(value), FIELD_ORDER];
  let [factor, lastFactor] = [1n, 0n];
  while (rest > 1n) {
    const quotient = last / rest;
    [rest, last] = [last % rest, rest];
    [factor, lastFactor] = [lastFactor - quotient * factor, factor];
  }
  if (rest === 0n) throw new RangeError("0 has no inverse");
  return mod(factor);
}

/** The constant wire and those of the main component's own signals, which are all inputs. */
function inputWires(circuit: Compiled): Set<number> {
  const own = [...circuit.wires].filter(([name, wire]) => wire > 0 && /^main\.[^.]+$/.test(name));
  return new Set([0, ...own.map(([, wire]) => wire)]);
}

/** Names of the wires that are not in the set; wire 0 is the constant one. */
function missing(circuit: Compiled, found: ReadonlySet<number>): string[] {
  const names = new Map([...circuit.wires].map(([name, wire]) => [wire, name]));
  return Array.from({ length: circuit.r1cs.wires }, (_, wire) => wire)
    .filter((wire) => wire !== 0 && !found.has(wire))
    .map((wire) => names.get(wire) ?? String(wire));
}
