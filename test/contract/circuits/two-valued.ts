// Constraints that leave a form two values: x·(x − 1) = 0 of a bit, also where the compiler has put
// a sum of other wires in the bit's place.

import { FIELD_ORDER, inverse, mod, type Constraint, type Linear, type R1cs } from "./r1cs.ts";

export interface TwoValued {
  /** Without a constant. */
  readonly form: ReadonlyMap<number, bigint>;
  /** What the form may be. */
  readonly values: readonly [bigint, bigint];
}

/** Undefined for a constraint of another shape: both factors must be the same form up to scale and constant. */
export function twoValued({ a, b, c }: Constraint): TwoValued | undefined {
  if (c.some(([, coefficient]) => coefficient !== 0n)) return undefined;
  const form = withoutConstant(a);
  const other = withoutConstant(b);
  const [first] = form;
  if (first === undefined || form.size !== other.size) return undefined;
  const scale = mod((other.get(first[0]) ?? 0n) * inverse(first[1]));
  if (scale === 0n) return undefined;
  for (const [wire, coefficient] of form) {
    if (mod(coefficient * scale) !== other.get(wire)) return undefined;
  }
  return { form, values: [mod(-constantOf(a)), mod(-constantOf(b) * inverse(scale))] };
}

export function twoValuedOf({ constraints }: R1cs): Map<number, TwoValued> {
  return new Map(
    constraints.flatMap((constraint, at) => {
      const found = twoValued(constraint);
      return found === undefined ? [] : [[at, found] as const];
    }),
  );
}

/** The wires that a form of their own makes 0 or 1. */
export function bitsOf(forms: ReadonlyMap<number, TwoValued>): Set<number> {
  const bits = new Set<number>();
  for (const { form, values } of forms.values()) {
    const [only, ...more] = form;
    if (only === undefined || more.length > 0) continue;
    const scale = inverse(only[1]);
    if (sameSet([mod(values[0] * scale), mod(values[1] * scale)], [0n, 1n])) bits.add(only[0]);
  }
  return bits;
}

function sameSet(values: readonly bigint[], others: readonly bigint[]): boolean {
  return values.length === others.length && others.every((value) => values.includes(value));
}

/**
 * Whether numbers of two values each are fixed by their weighted sum: when the weights, scaled, are
 * different powers of two whose sum stays below the field's order, the sum is the numbers' binary form.
 */
export function isBinarySum(weights: readonly bigint[]): boolean {
  return weights.some((unit) => {
    const scale = inverse(unit);
    const scaled = weights.map((weight) => mod(weight * scale));
    const total = scaled.reduce((sum, weight) => sum + weight, 0n);
    return new Set(scaled).size === scaled.length && scaled.every(isPowerOfTwo) && total < FIELD_ORDER;
  });
}

/**
 * The bits that a sum of the circuit fixes once the `known` wires are: every other wire of such a sum is
 * a bit, and the sum, itself one bit more, is then the binary form of a known number.
 */
export function fixedBits(
  forms: ReadonlyMap<number, TwoValued>,
  bits: ReadonlySet<number>,
  known: ReadonlySet<number>,
): Set<number> {
  const fixed = new Set<number>();
  for (const { form, values } of forms.values()) {
    const unknown = [...form].filter(([wire]) => !known.has(wire));
    if (form.size === 1 || !unknown.every(([wire]) => bits.has(wire))) continue;
    const weights = unknown.map(([, weight]) => weight);
    const [one, other] = values;
    // Which of its two values stands for 1 decides the sign of the sum's own weight.
    if (isBinarySum([...weights, mod(one - other)]) || isBinarySum([...weights, mod(other - one)])) {
      for (const [wire] of unknown) fixed.add(wire);
    }
  }
  return fixed;
}

function isPowerOfTwo(value: bigint): boolean {
  return value > 0n && (value & (value - 1n)) === 0n;
}

function withoutConstant(linear: Linear): Map<number, bigint> {
  return new Map(linear.filter(([wire, coefficient]) => wire !== 0 && coefficient !== 0n));
}

function constantOf(linear: Linear): bigint {
  return linear.find(([wire]) => wire === 0)?.[1] ?? 0n;
}
