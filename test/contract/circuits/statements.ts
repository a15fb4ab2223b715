// Plans of what somebody claims, for the oracle, which makes everything else fit: an attack breaks one rule only.

import { createHash } from "node:crypto";
import { KIND_NAMES, KINDS, type Kind } from "../../../shared/protocol/statements.ts";
import {
  commitmentOf,
  depositInputs,
  npkOf,
  ownerOf,
  spendInputs,
  type DepositPlan,
  type MadeNote,
  type SpendPlan,
  type SpentNote,
} from "../../support/oracle.ts";
import { FIELD_ORDER } from "./r1cs.ts";
import type { Inputs } from "./witness.ts";

export type SpendKind = Exclude<Kind, "deposit-shield">;
export const SPEND_KINDS = KIND_NAMES.filter((kind): kind is SpendKind => kind !== "deposit-shield");

/** Repeatable randomness: print the seed, and a failure can be seen again. */
export class Dice {
  readonly #seed: string;
  #rolls = 0;

  constructor(seed: string) {
    this.#seed = seed;
  }

  below(limit: bigint): bigint {
    let value = 0n;
    for (const half of ["a", "b"]) {
      const bytes = createHash("sha256")
        .update(`${this.#seed}/${String(this.#rolls)}/${half}`)
        .digest("hex");
      value = (value << 256n) | BigInt(`0x${bytes}`);
    }
    this.#rolls += 1;
    return value % limit;
  }

  field(): bigint {
    return this.below(FIELD_ORDER);
  }
}

/** A note of `spendingKey` that the tree holds. */
export function aNote(
  dice: Dice,
  note: { spendingKey: bigint; asset: bigint; value: bigint; leafIndex?: bigint },
): SpentNote {
  const blinding = dice.field();
  return {
    value: note.value,
    blinding,
    leafIndex: note.leafIndex ?? dice.below(1n << 32n),
    leaf: commitmentOf(npkOf(ownerOf(note.spendingKey), blinding), note.asset, note.value),
  };
}

/** A note worth nothing, in no tree. */
export function aDummy(dice: Dice): SpentNote {
  return { value: 0n, blinding: dice.field(), leafIndex: dice.below(1n << 32n), leaf: undefined };
}

export function madeNotes(dice: Dice, values: readonly bigint[]): MadeNote[] {
  return values.map((value) => ({ npk: npkOf(dice.field(), dice.field()), value }));
}

/** One unit for each place, and the rest of `total` in the first. */
export function spread(total: bigint, places: number): bigint[] {
  return Array.from({ length: places }, (_, i) => (i === 0 ? total - BigInt(places - 1) : 1n));
}

/** `total` in the place given, nothing in the others. */
export function alone(total: bigint, place: number, places: number): bigint[] {
  return Array.from({ length: places }, (_, i) => (i === place ? total : 0n));
}

/** As many notes as the kind takes, 100 in all, of which `amountOut` (nothing, unless said) leaves in public. */
export function aSpend(dice: Dice, kind: SpendKind, changes: Partial<SpendPlan> = {}): SpendPlan {
  const { inputs, outputs } = KINDS[kind];
  const spendingKey = changes.spendingKey ?? dice.field();
  const noteAsset = changes.noteAsset ?? dice.below(1n << 160n);
  const amountOut = changes.amountOut ?? 0n;
  return {
    context: dice.field(),
    spendingKey,
    noteAsset,
    spent: spread(100n, inputs).map((value) => aNote(dice, { spendingKey, asset: noteAsset, value })),
    made: madeNotes(dice, spread(100n - amountOut, outputs)),
    amountOut,
    ...changes,
  };
}

/** Notes worth nothing become notes worth nothing: valid, and no step leads from a note to the root. */
export function anEmptySpend(dice: Dice, kind: SpendKind): SpendPlan {
  const { inputs, outputs } = KINDS[kind];
  return aSpend(dice, kind, {
    spent: Array.from({ length: inputs }, () => aDummy(dice)),
    made: madeNotes(dice, alone(0n, 0, outputs)),
  });
}

/** A statement in which every input matters: all notes real, and a payment in public. */
export function anyInputs(dice: Dice, kind: Kind): Inputs {
  return kind === "deposit-shield"
    ? depositInputs(aDeposit(dice))
    : spendInputs(aSpend(dice, kind, { amountOut: 60n }));
}

export function aDeposit(dice: Dice, changes: Partial<DepositPlan> = {}): DepositPlan {
  return {
    context: dice.field(),
    asset: dice.below(1n << 160n),
    amountIn: 100n,
    made: madeNotes(dice, [98n, 1n, 1n]),
    ...changes,
  };
}
