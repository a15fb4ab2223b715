// Breaks one constraint of a circuit on purpose and makes everything computed after it fit, as an attacker
// would do who found a way past that constraint alone.

import { slopeOf, type Order, type Step } from "./order.ts";
import { constraintsByWire, defect, holds, inverse, mod, type Constraint, type R1cs } from "./r1cs.ts";

export interface Forgery {
  readonly witness: readonly bigint[];
  /** Every constraint that this witness breaks. */
  readonly broken: readonly number[];
}

export class Forward {
  readonly r1cs: R1cs;
  /** A witness that every constraint accepts. */
  readonly honest: readonly bigint[];
  readonly #touching: readonly (readonly number[])[];
  readonly #steps: readonly Step[];
  /** The step of a constraint, and that of a wire. */
  readonly #stepOf: ReadonlyMap<number, number>;
  readonly #stepTo: ReadonlyMap<number, number>;

  constructor(r1cs: R1cs, honest: readonly bigint[], { steps }: Order) {
    this.r1cs = r1cs;
    this.honest = honest;
    this.#touching = constraintsByWire(r1cs);
    this.#steps = steps;
    this.#stepOf = new Map(steps.map(({ at }, place) => [at, place]));
    this.#stepTo = new Map(steps.map(({ wire }, place) => [wire, place]));
  }

  /** Whether something is computed with this constraint; otherwise it is a check on what was computed before. */
  computesWith(at: number): boolean {
    return this.#stepOf.has(at);
  }

  /** The constraint that a wire is computed with; undefined for one that the prover chooses. */
  computedBy(wire: number): number | undefined {
    return this.#steps[this.#stepTo.get(wire) ?? -1]?.at;
  }

  /** The honest witness with constraint `at` broken, and everything computed with it following. */
  breakStep(at: number): Forgery {
    return this.#follow(new Map(), at);
  }

  /** The honest witness with some given wires chosen again, and everything computed from them following. */
  choose(changes: ReadonlyMap<number, bigint>): Forgery {
    return this.#follow(changes, -1);
  }

  #follow(changes: ReadonlyMap<number, bigint>, fault: number): Forgery {
    const witness = [...this.honest];
    const changed = new Set<number>();
    const isStale = new Uint8Array(this.#steps.length);
    let place = this.#steps.length;
    const move = (wire: number, value: bigint, after: number): void => {
      witness[wire] = value;
      changed.add(wire);
      for (const at of this.#touching[wire] ?? []) {
        const step = this.#stepOf.get(at) ?? -1;
        if (step <= after) continue;
        isStale[step] = 1;
        place = Math.min(place, step);
      }
    };
    for (const [wire, value] of changes) move(wire, value, -1);
    const broken = this.#stepOf.get(fault);
    if (broken !== undefined) {
      isStale[broken] = 1;
      place = Math.min(place, broken);
    }
    for (; place < isStale.length; place++) {
      const step = this.#steps[place];
      if (isStale[place] === 0 || step === undefined) continue;
      const constraint = this.#constraint(step.at);
      const miss = mod(defect(constraint, witness) - (step.at === fault ? 1n : 0n));
      const slope = slopeOf(constraint, step.along, witness);
      // Where the slope is 0 nothing can be made to fit; the constraint counts as broken below.
      if (miss === 0n || slope === 0n) continue;
      const distance = mod(-miss * inverseOf(slope));
      for (const [wire, share] of step.direction) {
        move(wire, mod((witness[wire] ?? 0n) + distance * share), place);
      }
    }
    const touched = new Set([...changed].flatMap((wire) => this.#touching[wire] ?? []));
    return { witness, broken: [...touched].filter((at) => !holds(this.#constraint(at), witness)) };
  }

  #constraint(at: number): Constraint {
    const found = this.r1cs.constraints[at];
    if (found === undefined) throw new RangeError("no such constraint");
    return found;
  }
}

/** Slopes repeat: most are constants of the circuit. */
const inverses = new Map<bigint, bigint>();
function inverseOf(value: bigint): bigint {
  let found = inverses.get(value);
  if (found === undefined) {
    found = inverse(value);
    inverses.set(value, found);
  }
  return found;
}
