/**
 * The numbers of PoseidonTreeTable.sol and PoseidonNoteTable.sol, drawn and derived again. Poseidon as ePrint 2019/458
 * has it; the partial rounds in the coordinates in which they are a recurrence with fixed numbers.
 */
import { grainGenConstants } from "@noble/curves/abstract/poseidon.js";
import { bn254 } from "@noble/curves/bn254.js";

const Fr = bn254.fields.Fr;
const HALF_OF_FULL_ROUNDS = 4;
/** By the number of inputs; the state has one word more. */
const PARTIAL_ROUNDS = { 3: 56, 4: 60 } as const;

type Vector = readonly bigint[];
type Matrix = readonly Vector[];

export interface Recurrence {
  /** As the generator draws them. */
  readonly drawn: { readonly roundConstants: Matrix; readonly matrix: Matrix };
  /** Each meets an S-box: one for each word in a full round, one in a partial round. */
  readonly constants: { readonly before: Matrix; readonly partial: Vector; readonly after: Matrix };
  /** The words behind the first to the coordinates, and back. */
  readonly into: Matrix;
  readonly back: Matrix;
  /** z_i' = z_(i+1) + feedback_i · z_1 + input_i · x. */
  readonly feedback: Vector;
  readonly input: Vector;
}

/**
 * Of the matrix [[m, v], [w, N]] a partial round makes x, the S-box's output, and s, the words behind the first, into
 * m·x + v·s and N·s + w·x. Said for four of them: with N⁴ = a₁N³ + a₂N² + a₃N + a₄ (Cayley and Hamilton), let z₁ = v·s and
 * z₍ᵢ₊₁₎ = pᵢN·s − aᵢz₁, where pᵢ is the row that makes zᵢ. Then zᵢ' = z₍ᵢ₊₁₎ + aᵢz₁ + (pᵢ·w)x, and z₅ is zero.
 */
export function poseidonRecurrence(inputs: keyof typeof PARTIAL_ROUNDS): Recurrence {
  const roundsPartial = PARTIAL_ROUNDS[inputs];
  const { roundConstants, mds } = grainGenConstants({
    ...{ Fp: Fr, t: inputs + 1, roundsFull: 2 * HALF_OF_FULL_ROUNDS, roundsPartial, sboxPower: 5 },
  });
  const [v, w, N] = [
    mds[0]!.slice(1),
    mds.slice(1).map((row) => row[0]!),
    mds.slice(1).map((row) => row.slice(1)),
  ];
  const feedback = characteristic(N);
  const into: Vector[] = [v];
  for (let i = 0; i < inputs - 1; i++) {
    const next = times(transposed(N), into[i]!);
    into.push(next.map((value, j) => Fr.sub(value, Fr.mul(feedback[i]!, v[j]!))));
  }
  return {
    drawn: { roundConstants, matrix: mds },
    constants: carriedConstants(roundConstants, mds),
    ...{ into, back: inverted(into), feedback, input: times(into, w) },
  };
}

/** In the order of the tables. */
export function tableNumbers({ constants, into, back }: Recurrence): Vector {
  return [
    constants.before.flat(),
    into.flat(),
    constants.partial,
    back.flat(),
    constants.after.flat(),
  ].flat();
}

/** Appendix B: a constant on a word that meets no S-box is carried through the matrix until it meets one. */
function carriedConstants(roundConstants: Matrix, mds: Matrix): Recurrence["constants"] {
  const end = roundConstants.length - HALF_OF_FULL_ROUNDS;
  let carried: Vector = mds.map(() => 0n);
  const partial = roundConstants.slice(HALF_OF_FULL_ROUNDS, end).map((row) => {
    const [first, ...others] = row.map((constant, i) => Fr.add(constant, carried[i]!));
    carried = times(mds, [0n, ...others]);
    return first!;
  });
  const [meeting, ...rest] = roundConstants.slice(end);
  return {
    before: roundConstants.slice(0, HALF_OF_FULL_ROUNDS),
    partial,
    after: [meeting!.map((constant, i) => Fr.add(constant, carried[i]!)), ...rest],
  };
}

/** [a₁, …, aₙ], of n = 4 with N⁴ = a₁N³ + a₂N² + a₃N + a₄, by Faddeev and Le Verrier. */
function characteristic(N: Matrix): Vector {
  const found: bigint[] = [];
  let power: Matrix = N;
  for (let k = 1; k <= N.length; k++) {
    const trace = power.reduce((sum, row, i) => Fr.add(sum, row[i]!), 0n);
    const a = Fr.div(trace, BigInt(k));
    found.push(a);
    power = product(
      N,
      power.map((row, i) => row.map((value, j) => (i === j ? Fr.sub(value, a) : value))),
    );
  }
  return found;
}

function times(matrix: Matrix, vector: Vector): Vector {
  return matrix.map((row) => row.reduce((sum, value, i) => Fr.add(sum, Fr.mul(value, vector[i]!)), 0n));
}

function product(a: Matrix, b: Matrix): Matrix {
  return a.map((row) => times(transposed(b), row));
}

function transposed(matrix: Matrix): Matrix {
  return matrix[0]!.map((_, i) => matrix.map((row) => row[i]!));
}

/** By elimination; throws when there is no inverse. */
function inverted(matrix: Matrix): Matrix {
  const size = matrix.length;
  let rows = matrix.map((row, i) => [...row, ...row.map((_, j) => (i === j ? 1n : 0n))]);
  for (let pivot = 0; pivot < size; pivot++) {
    const scale = Fr.inv(rows[pivot]![pivot]!);
    const own = rows[pivot]!.map((value) => Fr.mul(value, scale));
    rows = rows.map((row, i) =>
      i === pivot ? own : row.map((value, j) => Fr.sub(value, Fr.mul(row[pivot]!, own[j]!))),
    );
  }
  return rows.map((row) => row.slice(size));
}
