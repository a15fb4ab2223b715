// Asks for other values of a few wires while all others stay: every solution, not only those nearby.

import { FIELD_ORDER, holds, inOneWire, inverse, mod, wiresOf, type R1cs } from "./r1cs.ts";

export type Answer =
  | { readonly found: "only the honest one" }
  | { readonly found: "another"; readonly witness: readonly bigint[] }
  /** Two wires or more stand in every constraint left: no constraint alone gives their values. */
  | { readonly found: "undecided" };

/**
 * Goes through all solutions: a constraint with one open wire is a polynomial of degree two at most, so
 * it leaves that wire two values or one, and each is followed further.
 */
export function secondWitness(
  r1cs: R1cs,
  honest: readonly bigint[],
  touching: readonly (readonly number[])[],
  open: ReadonlySet<number>,
): Answer {
  const witness = [...honest];
  /** The constraints concerned, with the open wires of each. */
  const concerned = new Map(
    [...new Set([...open].flatMap((wire) => touching[wire] ?? []))].map((at) => {
      const constraint = r1cs.constraints[at];
      return [at, constraint === undefined ? [] : [...wiresOf(constraint)].filter((wire) => open.has(wire))];
    }),
  );

  function follow(left: ReadonlySet<number>): Answer {
    if (left.size === 0) {
      const isHonest = [...open].every((wire) => witness[wire] === honest[wire]);
      return isHonest ? { found: "only the honest one" } : { found: "another", witness: [...witness] };
    }
    for (const [at, wires] of concerned) {
      const constraint = r1cs.constraints[at];
      const unknown = wires.filter((wire) => left.has(wire));
      const [wire] = unknown;
      if (constraint === undefined || wire === undefined || unknown.length > 1) continue;
      const values = roots(inOneWire(constraint, wire, witness));
      if (values === "any") continue;
      const rest = new Set([...left].filter((other) => other !== wire));
      let answer: Answer = { found: "only the honest one" };
      for (const value of values) {
        witness[wire] = value;
        if (!isConsistent(wire, rest)) continue;
        const next = follow(rest);
        if (next.found === "another") return next;
        if (next.found === "undecided") answer = next;
      }
      witness[wire] = honest[wire] ?? 0n;
      return answer;
    }
    return { found: "undecided" };
  }

  function isConsistent(wire: number, left: ReadonlySet<number>): boolean {
    return (touching[wire] ?? []).every((at) => {
      const constraint = r1cs.constraints[at];
      if (constraint === undefined || concerned.get(at)?.some((other) => left.has(other))) return true;
      return holds(constraint, witness);
    });
  }

  return follow(open);
}

/** Of square·x² + slope·x + rest. */
function roots(polynomial: ReturnType<typeof inOneWire>): readonly bigint[] | "any" {
  const { square, slope, rest } = polynomial;
  if (square === 0n && slope === 0n) return rest === 0n ? "any" : [];
  if (square === 0n) return [mod(-rest * inverse(slope))];
  const root = squareRoot(mod(slope * slope - 4n * square * rest));
  if (root === undefined) return [];
  const scale = inverse(2n * square);
  return [...new Set([mod((root - slope) * scale), mod((-root - slope) * scale)])];
}

/** Tonelli and Shanks; undefined for a number that is no square. */
function squareRoot(value: bigint): bigint | undefined {
  if (value === 0n) return 0n;
  if (power(value, (FIELD_ORDER - 1n) / 2n) !== 1n) return undefined;
  let odd = FIELD_ORDER - 1n;
  let twos = 0;
  for (; odd % 2n === 0n; odd /= 2n) twos += 1;
  let unit = power(GENERATOR, odd);
  let rest = power(value, odd);
  let root = power(value, (odd + 1n) / 2n);
  while (rest !== 1n) {
    let order = 0;
    for (let square = rest; square !== 1n; square = mod(square * square)) order += 1;
    const factor = power(unit, 1n << BigInt(twos - order - 1));
    root = mod(root * factor);
    unit = mod(factor * factor);
    rest = mod(rest * unit);
    twos = order;
  }
  return root;
}

/** Of the field's multiplicative group, hence no square. */
const GENERATOR = 5n;

function power(base: bigint, exponent: bigint): bigint {
  let result = 1n;
  for (let square = base, left = exponent; left > 0n; left >>= 1n) {
    if (left & 1n) result = mod(result * square);
    square = mod(square * square);
  }
  return result;
}
