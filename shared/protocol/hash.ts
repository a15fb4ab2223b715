/** Keccak-256 and Poseidon, the two hashes of the protocol. */
import { grainGenConstants, poseidon } from "@noble/curves/abstract/poseidon.js";
import { bn254 } from "@noble/curves/bn254.js";
import { keccak_256 } from "@noble/hashes/sha3.js";
import { mustField, type Bytes32, type Field } from "./brands.ts";
import { concatBytes, toBytes32 } from "./bytes.ts";

export function keccak256(...parts: readonly Uint8Array[]): Uint8Array {
  return keccak_256(concatBytes(...parts));
}

export function keccakHex(...parts: readonly Uint8Array[]): Bytes32 {
  return toBytes32(keccak256(...parts));
}

/**
 * Partial rounds by number of inputs, 128-bit security, alpha 5, 8 full rounds (Poseidon paper,
 * ePrint 2019/458, table 2 rounded as circomlib does). Constants and matrix come from the paper's
 * Grain generator at first use, so no table of numbers has to be believed; tests compare the
 * results with circomlib's circuits.
 */
const PARTIAL_ROUNDS: Readonly<Record<2 | 3 | 4, number>> = { 2: 57, 3: 56, 4: 60 };

type Permutation = (state: bigint[]) => bigint[];
const permutations = new Map<number, Permutation>();

function permutationOf(inputs: 2 | 3 | 4): Permutation {
  const known = permutations.get(inputs);
  if (known !== undefined) return known;
  const shape = {
    Fp: bn254.fields.Fr,
    t: inputs + 1,
    roundsFull: 8,
    roundsPartial: PARTIAL_ROUNDS[inputs],
    sboxPower: 5,
  };
  const made: Permutation = poseidon({ ...shape, ...grainGenConstants(shape) });
  permutations.set(inputs, made);
  return made;
}

function hash(inputs: readonly bigint[]): Field {
  const [first] = permutationOf(inputs.length as 2 | 3 | 4)([0n, ...inputs]);
  return mustField(first as bigint);
}

/** Poseidon of two, three or four field elements with circomlib's parameters (initial state 0). */
export function poseidon2(a: bigint, b: bigint): Field {
  return hash([a, b]);
}
export function poseidon3(a: bigint, b: bigint, c: bigint): Field {
  return hash([a, b, c]);
}
export function poseidon4(a: bigint, b: bigint, c: bigint, d: bigint): Field {
  return hash([a, b, c, d]);
}
