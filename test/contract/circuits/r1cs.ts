// Reads an r1cs file (iden3 binary format, version 1) and checks witnesses against it with plain
// integers: an oracle that shares no code with the compiler, the witness program or snarkjs.

export const FIELD_ORDER = 0x30644e72e131a029b85045b68181585d2833e84879b9709143e1f593f0000001n;

/** A sum of coefficient times wire. */
export type Linear = readonly (readonly [wire: number, coefficient: bigint])[];

/** a(w) · b(w) = c(w) */
export interface Constraint {
  readonly a: Linear;
  readonly b: Linear;
  readonly c: Linear;
}

export interface R1cs {
  readonly wires: number;
  readonly publicInputs: number;
  readonly privateInputs: number;
  readonly constraints: readonly Constraint[];
}

export function readR1cs(file: Buffer): R1cs {
  const sections = new Map<number, number>();
  let offset = 12;
  for (let i = file.readUInt32LE(8); i > 0; i--) {
    sections.set(file.readUInt32LE(offset), offset + 12);
    offset += 12 + Number(file.readBigUInt64LE(offset + 4));
  }
  const header = sections.get(1);
  const body = sections.get(2);
  if (header === undefined || body === undefined) throw new Error("the r1cs file lacks a section");
  if (readField(file, header + 4) !== FIELD_ORDER) throw new Error("the circuit is over another field");

  const count = file.readUInt32LE(header + 60);
  let at = body;
  const linear = (): Linear => {
    const terms: [number, bigint][] = [];
    for (let i = file.readUInt32LE(at), term = at + 4; i > 0; i--, term += 36) {
      terms.push([file.readUInt32LE(term), readField(file, term + 4)]);
    }
    at += 4 + 36 * terms.length;
    return terms;
  };
  const constraints: Constraint[] = [];
  for (let i = 0; i < count; i++) constraints.push({ a: linear(), b: linear(), c: linear() });
  return {
    wires: file.readUInt32LE(header + 36),
    publicInputs: file.readUInt32LE(header + 44),
    privateInputs: file.readUInt32LE(header + 48),
    constraints,
  };
}

function readField(file: Buffer, at: number): bigint {
  let value = 0n;
  for (let i = 3; i >= 0; i--) value = (value << 64n) | file.readBigUInt64LE(at + 8 * i);
  return value;
}

export function mod(value: bigint): bigint {
  const rest = value % FIELD_ORDER;
  return rest < 0n ? rest + FIELD_ORDER : rest;
}

export function evaluate(linear: Linear, witness: readonly bigint[]): bigint {
  let sum = 0n;
  for (const [wire, coefficient] of linear) sum += coefficient * (witness[wire] ?? 0n);
  return mod(sum);
}

/** By how much a witness misses a constraint; 0 when it holds. */
export function defect({ a, b, c }: Constraint, witness: readonly bigint[]): bigint {
  return mod(evaluate(a, witness) * evaluate(b, witness) - evaluate(c, witness));
}

export function holds(constraint: Constraint, witness: readonly bigint[]): boolean {
  return defect(constraint, witness) === 0n;
}

/** Whether the constraints accept a witness. */
export function isAccepted(r1cs: R1cs, witness: readonly bigint[]): boolean {
  if (witness.length !== r1cs.wires || witness[0] !== 1n) throw new Error("not a witness of this circuit");
  return r1cs.constraints.every((constraint) => holds(constraint, witness));
}

/** The circuit with one constraint fewer. */
export function without(r1cs: R1cs, at: number): R1cs {
  return { ...r1cs, constraints: r1cs.constraints.filter((_, other) => other !== at) };
}

/** The wires of a constraint, each once, the constant one left out. */
export function wiresOf({ a, b, c }: Constraint): Set<number> {
  const wires = new Set([...a, ...b, ...c].map(([wire]) => wire));
  wires.delete(0);
  return wires;
}

/** For each wire the constraints that it takes part in. */
export function constraintsByWire({ wires, constraints }: R1cs): readonly (readonly number[])[] {
  const found: number[][] = Array.from({ length: wires }, () => []);
  constraints.forEach((constraint, at) => {
    for (const wire of wiresOf(constraint)) found[wire]?.push(at);
  });
  return found;
}

/** A constraint as a polynomial in one wire, α·x² + β·x + γ, while the other wires are as in `witness`. */
export function inOneWire(
  { a, b, c }: Constraint,
  wire: number,
  witness: readonly bigint[],
): { readonly square: bigint; readonly slope: bigint; readonly rest: bigint } {
  const [inA, restA] = apart(a, wire, witness);
  const [inB, restB] = apart(b, wire, witness);
  const [inC, restC] = apart(c, wire, witness);
  return {
    square: mod(inA * inB),
    slope: mod(inA * restB + inB * restA - inC),
    rest: mod(restA * restB - restC),
  };
}

function apart(
  linear: Linear,
  wire: number,
  witness: readonly bigint[],
): [coefficient: bigint, rest: bigint] {
  let [coefficient, rest] = [0n, 0n];
  for (const [other, factor] of linear) {
    if (other === wire) coefficient += factor;
    else rest += factor * (witness[other] ?? 0n);
  }
  return [mod(coefficient), mod(rest)];
}

/** By Euclid's algorithm; of 0 there is none. */
export function inverse(value: bigint): bigint {
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
