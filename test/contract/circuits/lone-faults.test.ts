import assert from "node:assert/strict";
import { KIND_NAMES, type Kind } from "../../../shared/protocol/statements.ts";
import { Forward } from "./forward.ts";
import { LoneFaults } from "./lone-faults.ts";
import { isAccepted, without } from "./r1cs.ts";
import { Dice } from "./statements.ts";
import { nameOf, subject, type Subject } from "./subjects.ts";
import { twoValuedOf } from "./two-valued.ts";

/**
 * For a constraint of the compiled circuit, a witness that breaks this one and satisfies all others. So
 * it is not dead and no other repeats it: without it that witness would pass.
 *
 * A constraint that computes something is broken by an error in its product, and everything after it is
 * computed again, public signals included. A bit becomes a number that is none while a neighbour keeps their
 * sum. A comparison of two sums is broken by another choice of a private input. Every constraint found is
 * counted with the plain integers of r1cs.ts over all constraints that a changed wire touches.
 *
 * Every constraint of a deposit is tried, and every check of the others; of their computing constraints
 * a sample, unless CLOISTER_ATTACK=all.
 */
describe("no constraint of a circuit is there in vain", function () {
  const tryAll = process.env["CLOISTER_ATTACK"] === "all";
  const SAMPLE = 40;
  const seed = process.env["SEED"] ?? String(Date.now());

  for (const kind of KIND_NAMES) {
    describe(kind, function () {
      this.timeout(tryAll ? 0 : 900_000);
      let attacked: Subject;
      let faults: LoneFaults;

      before(async () => {
        attacked = await subject(kind);
        faults = new LoneFaults(attacked.circuit.r1cs, basesOf(attacked));
      });

      it("some witness breaks it alone", function () {
        const tried = tryAll || kind === "deposit-shield" ? everything(attacked) : sample(kind, attacked);
        console.log(
          `        SEED=${seed}: ${String(tried.length)} of ${String(attacked.circuit.r1cs.constraints.length)}`,
        );
        assert.deepEqual(
          tried.filter((at) => faults.find(at) === undefined).map((at) => described(attacked, at)),
          [],
        );
      });
    });
  }

  describe("the search", function () {
    it("finds witnesses that the whole oracle refuses, and would accept without the one constraint", async () => {
      const { circuit, paying } = await subject("deposit-shield");
      const faults = new LoneFaults(circuit.r1cs, [paying]);
      for (const at of [0, 700, 900, 1423]) {
        const forged = faults.find(at);
        assert.ok(forged);
        assert.equal(isAccepted(circuit.r1cs, forged.witness), false);
        assert.equal(isAccepted(without(circuit.r1cs, at), forged.witness), true);
      }
    });

    it("finds none for a constraint that stands there twice", async () => {
      const { circuit, paying, order } = await subject("deposit-shield");
      const { r1cs } = circuit;
      for (const at of [0, 700, 900]) {
        const twice = { ...r1cs, constraints: [...r1cs.constraints, ...r1cs.constraints.slice(at, at + 1)] };
        const faults = new LoneFaults(twice, [new Forward(twice, paying.honest, order)]);
        assert.equal(faults.find(at), undefined);
        assert.equal(faults.find(r1cs.constraints.length), undefined);
      }
    });
  });

  function basesOf({ paying, empty }: Subject): Forward[] {
    return empty === undefined ? [paying] : [empty, paying];
  }

  function everything({ circuit }: Subject): number[] {
    return [...circuit.r1cs.constraints.keys()];
  }

  /** Every check but the plain bits, every division, some bits, and some of the rest. */
  function sample(kind: Kind, { circuit, paying, order }: Subject): number[] {
    const dice = new Dice(`${seed}: ${kind}`);
    const forms = twoValuedOf(circuit.r1cs);
    const isBit = (at: number): boolean => forms.get(at)?.form.size === 1;
    const all = [...circuit.r1cs.constraints.keys()];
    const some = (from: readonly number[]): number[] =>
      Array.from({ length: SAMPLE }, () => from[Number(dice.below(BigInt(from.length)))] ?? 0);
    return [
      ...all.filter((at) => !paying.computesWith(at) && !isBit(at)),
      ...order.steps.filter(({ along }) => along.a !== 0n || along.b !== 0n).map(({ at }) => at),
      ...some(all.filter(isBit)),
      ...some(all.filter((at) => paying.computesWith(at))),
    ];
  }
});

function described(attacked: Subject, at: number): string {
  const { a, b, c } = attacked.circuit.r1cs.constraints[at] ?? { a: [], b: [], c: [] };
  const wires = [...new Set([...a, ...b, ...c].map(([wire]) => wire))].filter((wire) => wire !== 0);
  return `${String(at)}: ${wires
    .slice(0, 6)
    .map((wire) => nameOf(attacked, wire))
    .join(", ")}`;
}
