/**
 * Poseidon with four inputs, the hash of the tree's nodes. SPEC, section 1.1: constants and matrix are drawn here by the
 * paper's generator (Grain LFSR; ePrint 2019/458, appendix F), so no table has to be believed.
 */
import { inverse, r } from "./field.ts";

const INPUTS = 4;
const T = INPUTS + 1;
const FULL_ROUNDS = 8;
const PARTIAL_ROUNDS = 60;
const FIELD_BITS = 254;

/** The generator's bits, without end. */
function* grain(): Generator<number, never> {
  const bits = (value: number, length: number): number[] =>
    Array.from({ length }, (_, i) => (value >> (length - 1 - i)) & 1);
  const register = [
    ...bits(1, 2),
    ...bits(0, 4),
    ...bits(FIELD_BITS, 12),
    ...bits(T, 12),
    ...bits(FULL_ROUNDS, 10),
    ...bits(PARTIAL_ROUNDS, 10),
    ...Array<number>(30).fill(1),
  ];
  const step = (): number => {
    const bit = [62, 51, 38, 23, 13, 0].reduce((sum, at) => sum ^ register[at]!, 0);
    register.push(bit);
    register.shift();
    return bit;
  };
  for (let i = 0; i < 160; i++) step();
  while (true) {
    const isTaken = step() === 1;
    const bit = step();
    if (isTaken) yield bit;
  }
}

function draw(): { constants: readonly (readonly bigint[])[]; matrix: readonly (readonly bigint[])[] } {
  const source = grain();
  const number = (): bigint => {
    let drawn = 0n;
    for (let i = 0; i < FIELD_BITS; i++) drawn = (drawn << 1n) | BigInt(source.next().value);
    return drawn;
  };
  const below = (): bigint => {
    const drawn = number();
    return drawn < r ? drawn : below();
  };
  const many = (count: number, make: () => bigint): bigint[] => Array.from({ length: count }, make);
  const constants = Array.from({ length: FULL_ROUNDS + PARTIAL_ROUNDS }, () => many(T, below));
  const [x, y] = [many(T, number), many(T, number)];
  return { constants, matrix: x.map((xi) => y.map((yj) => inverse((xi + yj) % r))) };
}

const { constants, matrix } = draw();

const fifth = (x: bigint): bigint => {
  const square = (x * x) % r;
  return (((square * square) % r) * x) % r;
};

/** H4. The inputs are field elements; who calls sees to it. */
export function hash4(inputs: readonly [bigint, bigint, bigint, bigint]): bigint {
  let state: readonly bigint[] = [0n, ...inputs];
  for (const [round, added] of constants.entries()) {
    const isFull = round < FULL_ROUNDS / 2 || round >= FULL_ROUNDS / 2 + PARTIAL_ROUNDS;
    const raised = state.map((element, i) => {
      const sum = element + added[i]!;
      return isFull || i === 0 ? fifth(sum % r) : sum;
    });
    // Five products of 254 and 255 bits: one division for all of them.
    state = matrix.map((row) => row.reduce((sum, entry, j) => sum + entry * raised[j]!, 0n) % r);
  }
  return state[0]!;
}
