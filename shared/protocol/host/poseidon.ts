/** Poseidon with as many arguments as a use has. */
import type { Field } from "../brands.ts";
import { poseidon } from "../hash.ts";

export function poseidon2(a: bigint, b: bigint): Field {
  return poseidon([a, b]);
}
export function poseidon3(a: bigint, b: bigint, c: bigint): Field {
  return poseidon([a, b, c]);
}
export function poseidon4(a: bigint, b: bigint, c: bigint, d: bigint): Field {
  return poseidon([a, b, c, d]);
}
