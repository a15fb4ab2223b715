// Points and scalars for the tests of sums, from a seed.
import type { Bn128, CurveGroup } from "ffjavascript";
import { FIELD_ORDER } from "../../../../../../shared/protocol/brands.ts";
import { concatBytes } from "../../../../../../shared/protocol/bytes.ts";
import type { GroupName } from "../../../../../../shared/client/prover/groth16/kernel.ts";
import type { Dice } from "../../../../../contract/circuits/statements.ts";

/** What both groups have, whatever their coordinates. */
export type Group = Pick<
  CurveGroup<never>,
  "F" | "g" | "zero" | "add" | "neg" | "eq" | "isZero" | "timesScalar" | "toAffine" | "multiExpAffine"
>;

export const groupOf = (curve: Bn128, name: GroupName): Group => curve[name];

/** An affine point of the group. */
export const aPoint = (G: Group, dice: Dice): Uint8Array =>
  G.toAffine(G.timesScalar(G.g, 1n + dice.below(FIELD_ORDER - 1n)));

/** 32 bytes, little-endian. */
export function scalarBytes(value: bigint): Uint8Array {
  return Uint8Array.from({ length: 32 }, (_, i) => Number((value >> BigInt(8 * i)) & 0xffn));
}

export const allScalars = (values: readonly bigint[]): Uint8Array => concatBytes(...values.map(scalarBytes));
