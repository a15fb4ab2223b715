// SPEC.md's section 1.1 and nothing else: Poseidon from four numbers, without a table and without a library, so that the
// text is shown to be enough. Slow, and plain.

const R = 0x30644e72e131a029b85045b68181585d2833e84879b9709143e1f593f0000001n;
const FIELD_BITS = 254;
const FULL_ROUNDS = 8;
const PARTIAL_ROUNDS: Readonly<Record<number, number>> = { 2: 57, 3: 56, 4: 60 };

export interface PoseidonNumbers {
  /** A row a round. */
  readonly constants: readonly (readonly bigint[])[];
  readonly matrix: readonly (readonly bigint[])[];
}

export function poseidonNumbers(inputs: number): PoseidonNumbers {
  const [t, partialRounds] = [inputs + 1, PARTIAL_ROUNDS[inputs]!];
  const number = generator(t, partialRounds);
  const below = (): bigint => {
    for (;;) {
      const drawn = number();
      if (drawn < R) return drawn;
    }
  };
  const constants = Array.from({ length: FULL_ROUNDS + partialRounds }, () =>
    Array.from({ length: t }, below),
  );
  const drawn = Array.from({ length: 2 * t }, () => number() % R);
  const [x, y] = [drawn.slice(0, t), drawn.slice(t)];
  return { constants, matrix: x.map((xi) => y.map((yj) => power(xi + yj, R - 2n))) };
}

export function poseidonOf(inputs: readonly bigint[]): bigint {
  const { constants, matrix } = poseidonNumbers(inputs.length);
  let state = [0n, ...inputs];
  for (const [round, added] of constants.entries()) {
    const isFull = round < FULL_ROUNDS / 2 || round >= constants.length - FULL_ROUNDS / 2;
    state = state
      .map((value, i) => value + added[i]!)
      .map((value, i) => (isFull || i === 0 ? power(value, 5n) : value));
    state = matrix.map((row) => row.reduce((sum, factor, j) => sum + factor * state[j]!, 0n) % R);
  }
  return state[0]!;
}

/** Numbers of 254 bits from the register of 80 bits. */
function generator(t: number, partialRounds: number): () => bigint {
  const bits = (value: number, width: number): number[] =>
    Array.from({ length: width }, (_, i) => Math.floor(value / 2 ** (width - 1 - i)) % 2);
  const register = [
    [bits(1, 2), bits(0, 4), bits(FIELD_BITS, 12), bits(t, 12)],
    [bits(FULL_ROUNDS, 10), bits(partialRounds, 10), bits(2 ** 30 - 1, 30)],
  ].flat(2);
  const step = (): number => {
    const next = [62, 51, 38, 23, 13, 0].reduce((sum, place) => sum ^ register[place]!, 0);
    register.push(next);
    register.shift();
    return next;
  };
  for (let i = 0; i < 160; i++) step();
  const bit = (): number => {
    for (;;) {
      const [isKept, drawn] = [step(), step()];
      if (isKept === 1) return drawn;
    }
  };
  return () => BigInt(`0b${Array.from({ length: FIELD_BITS }, bit).join("")}`);
}

function power(base: bigint, exponent: bigint): bigint {
  let [result, square] = [1n, base % R];
  for (let left = exponent; left > 0n; left >>= 1n) {
    if ((left & 1n) === 1n) result = (result * square) % R;
    square = (square * square) % R;
  }
  return result;
}
