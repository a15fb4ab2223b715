/**
 * The numbers of PoseidonTreeTable.sol, drawn and derived again. Poseidon as ePrint 2019/458 has it; the partial rounds
 * in the coordinates in which they are a recurrence with fixed numbers.
 */
import { grainGenConstants } from "@noble/curves/abstract/poseidon.js";
import { bn254 } from "@noble/curves/bn254.js";

const Fr = bn254.fields.Fr;
const HALF_OF_FULL_ROUNDS = 4;
const PARTIAL_ROUNDS = 60;

type Vector = readonly bigint[];
type Matrix = readonly Vector[];

export interface Recurrence {
  /** As the generator draws them. */
  readonly drawn: { readonly roundConstants: Matrix; readonly matrix: Matrix };
  /** Each meets an S-box: five in a full round, one in a partial round. */
  readonly constants: { readonly before: Matrix; readonly partial: Vector; readonly after: Matrix };
  /** The last four words to the coordinates, and back. */
  readonly into: Matrix;
  readonly back: Matrix;
  /** z_i' = z_(i+1) + feedback_i · z_1 + input_i · x. */
  readonly feedback: Vector;
  readonly input: Vector;
}

/**
 * Of the matrix [[m, v], [w, N]] a partial round makes x, the S-box's output, and s, the last four words, into
 * m·x + v·s and N·s + w·x. With N⁴ = a₁N³ + a₂N² + a₃N + a₄ (Cayley and Hamilton), let z₁ = v·s and
 * z₍ᵢ₊₁₎ = pᵢN·s − aᵢz₁, where pᵢ is the row that makes zᵢ. Then zᵢ' = z₍ᵢ₊₁₎ + aᵢz₁ + (pᵢ·w)x, and z₅ is zero.
 */
export function poseidonRecurrence(): Recurrence {
  const { roundConstants, mds } = grainGenConstants({
    ...{ Fp: Fr, t: 5, roundsFull: 2 * HALF_OF_FULL_ROUNDS, roundsPartial: PARTIAL_ROUNDS, sboxPower: 5 },
  });
  const [v, w, N] = [
    mds[0]!.slice(1),
    mds.slice(1).map((row) => row[0]!),
    mds.slice(1).map((row) => row.slice(1)),
  ];
  const feedback = characteristic(N);
  const into: Vector[] = [v];
  for (let i = 0; i < 3; i++) {
    const next = times(transposed(N), into[i]!);
    into.push(next.map((value, j) => Fr.sub(value, Fr.mul(feedback[i]!, v[j]!))));
  }
  return {
    drawn: { roundConstants, matrix: mds },
    constants: carriedConstants(roundConstants, mds),
    ...{ into, back: inverted(into), feedback, input: times(into, w) },
  };
}

/** In the order of the table. */
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
  const end = HALF_OF_FULL_ROUNDS + PARTIAL_ROUNDS;
  let carried: Vector = [0n, 0n, 0n, 0n, 0n];
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

/** [a₁, …, a₄] with N⁴ = a₁N³ + a₂N² + a₃N + a₄, by Faddeev and Le Verrier. */
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
