// For a constraint, a witness that breaks it and no other: proof that it is needed, and that what it
// forbids is forbidden by nothing else.

import type { Forward, Forgery } from "./forward.ts";
import { inverse, mod, wiresOf, type R1cs } from "./r1cs.ts";
import { bitsOf, twoValuedOf, type TwoValued } from "./two-valued.ts";

type Changes = ReadonlyMap<number, bigint>;

/** A bit stands in few sums, and its nearest neighbours in them will do; so will the nearest choices of a prover. */
const TRIES = 8;

export class LoneFaults {
  readonly #bases: readonly Forward[];
  readonly #twoValued: ReadonlyMap<number, TwoValued>;
  /** The bits that are wires of their own. */
  readonly #bits: ReadonlySet<number>;
  /** For each wire the two-valued sums it stands in. */
  readonly #sums: ReadonlyMap<number, readonly TwoValued[]>;

  /** `bases` are honest witnesses to start from, each with its order of computation. */
  constructor(r1cs: R1cs, bases: readonly Forward[]) {
    this.#bases = bases;
    this.#twoValued = twoValuedOf(r1cs);
    this.#bits = bitsOf(this.#twoValued);
    const sums = new Map<number, TwoValued[]>();
    for (const each of this.#twoValued.values()) {
      if (each.form.size === 1) continue;
      for (const wire of each.form.keys()) sums.set(wire, [...(sums.get(wire) ?? []), each]);
    }
    this.#sums = sums;
  }

  /** Undefined when no attempt from any base breaks this constraint alone. */
  find(at: number): Forgery | undefined {
    for (const base of this.#bases) {
      for (const forgery of this.#attempts(base, at)) {
        if (forgery.broken.length === 1 && forgery.broken[0] === at) return forgery;
      }
    }
    return undefined;
  }

  *#attempts(base: Forward, at: number): Generator<Forgery> {
    if (base.computesWith(at)) yield base.breakStep(at);
    else for (const changes of this.#choices(base, at)) yield base.choose(changes);
  }

  *#choices(base: Forward, at: number): Generator<Changes> {
    const form = this.#twoValued.get(at);
    if (form?.form.size === 1) yield* this.#bitForged(base, form);
    else if (form !== undefined) yield* this.#sumForged(base, form);
    else {
      for (const wire of nearestChosen(base, at)) {
        yield new Map([[wire, mod((base.honest[wire] ?? 0n) + 1n)]]);
      }
    }
  }

  /** A bit that is none: alone, or with another wire that keeps the sum of both. */
  *#bitForged({ honest }: Forward, { form }: TwoValued): Generator<Changes> {
    const [bit = -1] = form.keys();
    const now = honest[bit] ?? 0n;
    const two = 2n;
    yield new Map([[bit, two]]);
    for (const { form: sum } of this.#sums.get(bit) ?? []) {
      const weight = sum.get(bit) ?? 0n;
      for (const other of this.#partners(sum, bit)) {
        const then = honest[other] ?? 0n;
        const factor = sum.get(other) ?? 0n;
        const flipped = this.#flipped(other, then);
        if (flipped === undefined) {
          const kept = then - (two - now) * weight * inverse(factor);
          yield new Map([
            [bit, two],
            [other, mod(kept)],
          ]);
        } else {
          const forged = mod(now - (flipped - then) * factor * inverse(weight));
          yield new Map([
            [bit, forged],
            [other, flipped],
          ]);
        }
      }
    }
  }

  /** A bit that the compiler replaced by a sum: something in the sum changes so that it is no bit. */
  *#sumForged({ honest }: Forward, { form }: TwoValued): Generator<Changes> {
    for (const wire of this.#partners(form, -1)) {
      const now = honest[wire] ?? 0n;
      yield new Map([[wire, this.#flipped(wire, now) ?? mod(now + 2n * inverse(form.get(wire) ?? 1n))]]);
    }
  }

  /** Wires of a sum: all that are no bits, and a few bits. */
  #partners(sum: TwoValued["form"], except: number): number[] {
    const others = [...sum.keys()].filter((wire) => wire !== except);
    const free = others.filter((wire) => !this.#bits.has(wire));
    const bits = others.filter((wire) => this.#bits.has(wire));
    return [...free, ...bits.slice(0, TRIES)];
  }

  /** The other value of a bit; undefined for a wire that is none. */
  #flipped(wire: number, now: bigint): bigint | undefined {
    return this.#bits.has(wire) ? 1n - now : undefined;
  }
}

/** The wires a prover chooses that a constraint depends on, those with the fewest steps between first. */
function nearestChosen(base: Forward, at: number): number[] {
  const found: number[] = [];
  const seen = new Set<number>();
  let edge = [at];
  while (edge.length > 0 && found.length < TRIES) {
    const next = new Set<number>();
    for (const each of edge) {
      const constraint = base.r1cs.constraints[each];
      for (const wire of constraint === undefined ? [] : wiresOf(constraint)) {
        if (seen.has(wire)) continue;
        seen.add(wire);
        const before = base.computedBy(wire);
        if (before === undefined) found.push(wire);
        else next.add(before);
      }
    }
    edge = [...next];
  }
  return found;
}
