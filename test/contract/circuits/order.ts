// The order in which a circuit's constraints compute its wires from those that a prover chooses. A wire that
// has no place in it is one that the constraints do not determine.

import { evaluate, inverse, mod, wiresOf, type Constraint, type Linear, type R1cs } from "./r1cs.ts";

/**
 * One constraint is made to hold by moving the witness along `direction`, which leaves every
 * constraint of an earlier step as it is. `along` says how a, b and c change on the way.
 */
export interface Step {
  readonly at: number;
  readonly wire: number;
  readonly direction: readonly (readonly [wire: number, share: bigint])[];
  readonly along: { readonly a: bigint; readonly b: bigint; readonly c: bigint };
}

/** How a constraint changes on the way along a step, at this witness. */
export function slopeOf({ a, b }: Constraint, along: Step["along"], witness: readonly bigint[]): bigint {
  const inA = along.a === 0n ? 0n : along.a * evaluate(b, witness);
  const inB = along.b === 0n ? 0n : along.b * evaluate(a, witness);
  return mod(inA + inB - along.c);
}

/** A linear form over the wires that are not known yet. */
type Form = Map<number, bigint>;

/**
 * Puts the constraints in an order in which each has one unknown. The compiler has merged all linear
 * steps, so what is known is seldom a wire: it is a sum of wires. Where both factors of a constraint
 * are known, its product fixes one more sum, and one wire of it is from then on written by the others.
 */
export class Order {
  readonly steps: readonly Step[];
  /** Wires that are neither given nor computed: the constraints leave them free. */
  readonly free: readonly number[];
  readonly #found: Step[] = [];
  readonly #r1cs: R1cs;
  readonly #honest: readonly bigint[];
  readonly #forms: readonly { readonly a: Form; readonly b: Form; readonly c: Form }[];
  readonly #touching: Map<number, Set<number>> = new Map();
  /** Computed wires by the unknown ones that they are still written with. */
  readonly #written = new Map<number, Form>();
  readonly #writtenWith = new Map<number, Set<number>>();
  readonly #isDone: Uint8Array;

  /** `given` are the wires that a prover chooses; a slope that is 0 at the honest witness makes no step. */
  constructor(r1cs: R1cs, honest: readonly bigint[], given: ReadonlySet<number>) {
    this.#r1cs = r1cs;
    this.#honest = honest;
    this.#isDone = new Uint8Array(r1cs.constraints.length);
    const formOf = (linear: Linear): Form =>
      new Map(linear.filter(([wire, coefficient]) => wire !== 0 && coefficient !== 0n && !given.has(wire)));
    this.#forms = r1cs.constraints.map(({ a, b, c }) => ({ a: formOf(a), b: formOf(b), c: formOf(c) }));
    r1cs.constraints.forEach((constraint, at) => {
      for (const wire of wiresOf(constraint)) if (!given.has(wire)) addMember(this.#touching, wire, at);
    });
    const waiting = new Set(r1cs.constraints.keys());
    const divisions = new Set<number>();
    do {
      // Grows while it is read.
      for (const at of waiting) {
        waiting.delete(at);
        if (this.#hasUnknownFactor(at)) divisions.add(at);
        else for (const next of this.#look(at)) waiting.add(next);
      }
      // Products come first, so that a constraint which only compares two sums stays a check.
      for (const at of divisions) {
        divisions.delete(at);
        for (const next of this.#look(at)) waiting.add(next);
        if (waiting.size > 0) break;
      }
    } while (waiting.size > 0);
    this.steps = this.#found;
    const computed = new Set(this.#found.map(({ wire }) => wire));
    this.free = Array.from({ length: r1cs.wires }, (_, wire) => wire).filter(
      (wire) => wire !== 0 && !given.has(wire) && !computed.has(wire),
    );
  }

  #hasUnknownFactor(at: number): boolean {
    const { a, b } = this.#forms[at] ?? {};
    return (a?.size ?? 0) + (b?.size ?? 0) > 0;
  }

  /** Makes a step of a constraint if it is its turn; tells which constraints to look at again. */
  #look(at: number): Iterable<number> {
    const { a, b, c } = this.#forms[at] ?? {};
    const constraint = this.#r1cs.constraints[at];
    if (!a || !b || !c || constraint === undefined || this.#isDone[at] === 1) return [];
    if (a.size > 1 || b.size > 1) return [];
    const unknown = new Set([...a.keys(), ...b.keys(), ...c.keys()]);
    const wire = a.size + b.size === 0 ? this.#leastUsed(c) : [...unknown][0];
    if (wire === undefined || (a.size + b.size > 0 && unknown.size > 1)) return [];
    const along = { a: a.get(wire) ?? 0n, b: b.get(wire) ?? 0n, c: c.get(wire) ?? 0n };
    if (along.a * along.b !== 0n || slopeOf(constraint, along, this.#honest) === 0n) return [];
    this.#isDone[at] = 1;

    const others = new Map(c);
    others.delete(wire);
    const scale = others.size === 0 ? 0n : mod(-inverse(along.c));
    const expression: Form = new Map([...others].map(([other, share]) => [other, mod(share * scale)]));
    const direction: [number, bigint][] = [[wire, 1n]];
    for (const before of this.#writtenWith.get(wire) ?? []) {
      const form = this.#written.get(before) ?? new Map<number, bigint>();
      direction.push([before, form.get(wire) ?? 0n]);
      substitute(form, wire, expression);
      for (const other of expression.keys()) {
        if (form.has(other)) addMember(this.#writtenWith, other, before);
        else this.#writtenWith.get(other)?.delete(before);
      }
    }
    this.#writtenWith.delete(wire);
    this.#written.set(wire, expression);
    for (const other of expression.keys()) addMember(this.#writtenWith, other, wire);
    this.#found.push({ at, wire, direction, along });

    const touched = this.#touching.get(wire) ?? new Set();
    this.#touching.delete(wire);
    for (const next of touched) {
      if (this.#isDone[next] === 1) continue;
      const forms = this.#forms[next];
      if (forms === undefined) continue;
      for (const form of [forms.a, forms.b, forms.c]) substitute(form, wire, expression);
      for (const other of expression.keys()) addMember(this.#touching, other, next);
    }
    return touched;
  }

  /** The wire that stands in the fewest other places: writing it by the others costs least. */
  #leastUsed(form: Form): number | undefined {
    let [best, uses] = [undefined as number | undefined, Infinity];
    for (const wire of form.keys()) {
      const count = (this.#touching.get(wire)?.size ?? 0) + (this.#writtenWith.get(wire)?.size ?? 0);
      if (count < uses) [best, uses] = [wire, count];
    }
    return best;
  }
}

function substitute(form: Form, wire: number, expression: Form): void {
  const factor = form.get(wire);
  if (factor === undefined) return;
  form.delete(wire);
  for (const [other, share] of expression) {
    const sum = mod((form.get(other) ?? 0n) + factor * share);
    if (sum === 0n) form.delete(other);
    else form.set(other, sum);
  }
}

function addMember(sets: Map<number, Set<number>>, key: number, member: number): void {
  const set = sets.get(key);
  if (set === undefined) sets.set(key, new Set([member]));
  else set.add(member);
}
