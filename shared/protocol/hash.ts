/** Keccak-256 and Poseidon, the two hashes of the protocol, and SHA-256 for what belongs to platform and KMS. */
import { grainGenConstants } from "@noble/curves/abstract/poseidon.js";
import { Field as primeField } from "@noble/curves/abstract/modular.js";
import { sha256 } from "@noble/hashes/sha2.js";
import { keccak_256 } from "@noble/hashes/sha3.js";
import { FIELD_ORDER, mustField, type Address, type Bytes32, type Field } from "./brands.ts";
import { concatBytes, toBytes32, word } from "./bytes.ts";

export function keccak256(...parts: readonly Uint8Array[]): Uint8Array {
  return keccak_256(concatBytes(...parts));
}

export function keccakHex(...parts: readonly Uint8Array[]): Bytes32 {
  return toBytes32(keccak256(...parts));
}

/** Members of one word each, one behind the other: `abi.encode` of static values. */
export function hashWords(...members: readonly (bigint | Bytes32 | Address)[]): Bytes32 {
  return keccakHex(...members.map((member) => word(BigInt(member))));
}

export function sha256Hex(bytes: Uint8Array): Bytes32 {
  return toBytes32(sha256(bytes));
}

/**
 * Partial rounds by number of inputs, 128-bit security, alpha 5, 8 full rounds (Poseidon paper,
 * ePrint 2019/458, table 2 rounded as circomlib does). Constants and matrix come from the paper's
 * Grain generator at first use, so no table of numbers has to be believed; tests compare the
 * results with noble's own permutation and with circomlib's circuits.
 */
const PARTIAL_ROUNDS: Readonly<Record<2 | 3 | 4, number>> = { 2: 57, 3: 56, 4: 60 };
const HALF_OF_FULL_ROUNDS = 4;
const Fr = primeField(FIELD_ORDER);

/** Partial rounds whose effect on all elements but the first is reduced once. */
const BLOCK = 4;

type Vector = readonly bigint[];

/** Constants are added, each element is raised to the fifth power, then the matrix is applied. */
interface FullRound {
  readonly constants: Vector;
  matrix: readonly Vector[];
}

/**
 * In a partial round only the first element meets the fifth power, so what the round does to the others can be
 * done in another round (the paper's appendix B): their constants are carried on to the next full round, and of
 * the matrix [[m, v], [w, R]] the square R is carried back to the full round before. The k-th partial round from
 * the end is left with [[m, v·R^-k], [R^(k-1)·w, 1]]: nine products for five elements instead of 25.
 */
function makePoseidon(inputs: 2 | 3 | 4) {
  const partialRounds = PARTIAL_ROUNDS[inputs];
  const { roundConstants, mds } = grainGenConstants({
    Fp: Fr,
    t: inputs + 1,
    roundsFull: 2 * HALF_OF_FULL_ROUNDS,
    roundsPartial: partialRounds,
    sboxPower: 5,
  });
  const end = HALF_OF_FULL_ROUNDS + partialRounds;

  let carried: Vector = mds.map(() => 0n);
  const added = roundConstants.slice(HALF_OF_FULL_ROUNDS, end + 1).map((constants) => {
    const sum = constants.map((constant, i) => (constant + carried[i]!) % FIELD_ORDER);
    carried = times(mds, [0n, ...sum.slice(1)]);
    return sum;
  });

  const corner = mds[0]![0]!;
  const square = mds.slice(1).map((row) => row.slice(1));
  const inverse = transposed(inverted(square));
  let row: Vector = mds[0]!.slice(1);
  let columns = transposed(mds.slice(1));
  const rounds = added
    .slice(0, -1)
    .reverse()
    .map(([constant]) => {
      row = times(inverse, row);
      const column = columns[0]!;
      columns = columns.map((each) => times(square, each));
      return { constant: constant!, row, column };
    });
  rounds.reverse();

  const partial = Array.from({ length: Math.ceil(partialRounds / BLOCK) }, (_, i) => {
    const members = rounds.slice(BLOCK * i, BLOCK * (i + 1));
    /** Each row makes the first element out of the others and of all fifth powers of the block so far. */
    const block = members.map(({ constant, row }, k) => {
      const ofEarlier = members.slice(0, k).map(({ column }) => dot(row, column));
      return { constant, row: [...row, ...ofEarlier, corner] };
    });
    /** What those powers add to the others. */
    return { block, columns: transposed(members.map(({ column }) => column)) };
  });
  const full = (constants: Vector): FullRound => ({ constants, matrix: mds });
  const before = roundConstants.slice(0, HALF_OF_FULL_ROUNDS).map(full);
  before[HALF_OF_FULL_ROUNDS - 1]!.matrix = [mds[0]!, ...transposed(columns)];
  const after = [added.at(-1)!, ...roundConstants.slice(end + 1)].map(full);
  return { before, partial, after };
}

const made = new Map<number, ReturnType<typeof makePoseidon>>();

/** Of two, three or four field elements with circomlib's parameters (initial state 0). */
export function poseidon(inputs: readonly bigint[]): Field {
  const count = inputs.length as 2 | 3 | 4;
  const rounds = made.get(count) ?? makePoseidon(count);
  made.set(count, rounds);

  const fullRound = (state: Vector, { constants, matrix }: FullRound): Vector => {
    const powers = constants.map((constant, i) => fifthPower(state[i]! + constant));
    return times(matrix, powers);
  };
  let [first, ...others] = rounds.before.reduce(fullRound, [0n, ...inputs]) as [bigint, ...bigint[]];
  for (const { block, columns } of rounds.partial) {
    // The others as they were before the block, then its powers.
    const known = others.slice();
    for (const { constant, row } of block) {
      known.push(fifthPower(first + constant));
      first = dot(row, known);
    }
    const powers = known.slice(others.length);
    others = columns.map((column, i) => others[i]! + dot(column, powers));
  }
  return mustField(rounds.after.reduce(fullRound, [first, ...others])[0]!);
}

/** The fourth power is not reduced by itself. */
function fifthPower(value: bigint): bigint {
  const square = (value * value) % FIELD_ORDER;
  return (square * square * value) % FIELD_ORDER;
}

/** Reduced once, not for each product. */
function dot(a: Vector, b: Vector): bigint {
  let sum = a[0]! * b[0]!;
  for (let i = 1; i < a.length; i++) sum += a[i]! * b[i]!;
  return sum % FIELD_ORDER;
}

function times(matrix: readonly Vector[], vector: Vector): Vector {
  return matrix.map((row) => dot(row, vector));
}

function transposed(matrix: readonly Vector[]): readonly Vector[] {
  return matrix[0]!.map((_, i) => matrix.map((row) => row[i]!));
}

/** By elimination. No pivot is zero: every square of a Cauchy matrix, which the generator makes, has an inverse. */
function inverted(matrix: readonly Vector[]): readonly Vector[] {
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
