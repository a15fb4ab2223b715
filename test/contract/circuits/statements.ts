// Builders of circuit inputs, with poseidon-lite as a hash of its own and a small tree of its own. A plan
// says what somebody claims; the builder makes everything else fit, so that an attack breaks one rule only.

import { createHash } from "node:crypto";
import { poseidon2, poseidon3, poseidon4 } from "poseidon-lite";
import { KIND_NAMES, KINDS, type Kind } from "../../../shared/protocol/statements.ts";
import { FIELD_ORDER } from "./r1cs.ts";
import type { Inputs } from "./witness.ts";

export const DEPTH = 16;

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

export interface SpentNote {
  readonly value: bigint;
  readonly blinding: bigint;
  readonly leafIndex: bigint;
  /** What the tree holds at leafIndex; undefined for a note that no tree holds. */
  readonly leaf: bigint | undefined;
}

export interface MadeNote {
  readonly npk: bigint;
  readonly value: bigint;
}

export interface SpendPlan {
  readonly context: bigint;
  readonly spendingKey: bigint;
  readonly noteAsset: bigint;
  readonly spent: readonly SpentNote[];
  readonly made: readonly MadeNote[];
  readonly amountOut: bigint;
}

export interface DepositPlan {
  readonly context: bigint;
  readonly asset: bigint;
  readonly amountIn: bigint;
  readonly made: readonly MadeNote[];
}

export function ownerOf(spendingKey: bigint): bigint {
  return poseidon2([poseidon2([spendingKey, 0n]), poseidon2([spendingKey, 1n])]);
}

export function commitmentOf(owner: bigint, blinding: bigint, asset: bigint, value: bigint): bigint {
  return poseidon3([poseidon2([owner, blinding]), asset, value]);
}

export function nullifierOf(spendingKey: bigint, commitment: bigint, leafIndex: bigint): bigint {
  return poseidon3([poseidon2([spendingKey, 1n]), commitment, leafIndex]);
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
    leaf: commitmentOf(ownerOf(note.spendingKey), blinding, note.asset, note.value),
  };
}

/** A note worth nothing, in no tree. */
export function aDummy(dice: Dice): SpentNote {
  return { value: 0n, blinding: dice.field(), leafIndex: dice.below(1n << 32n), leaf: undefined };
}

export function madeNotes(dice: Dice, values: readonly bigint[]): MadeNote[] {
  return values.map((value) => ({ npk: poseidon2([dice.field(), dice.field()]), value }));
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

export interface SpendInputs extends Inputs {
  readonly context: bigint;
  readonly root: bigint;
  readonly asset: bigint;
  readonly amountOut: bigint;
  readonly nullifiers: readonly bigint[];
  readonly commitments: readonly bigint[];
  readonly noteAsset: bigint;
  readonly inLeafIndices: readonly bigint[];
  readonly inPathElements: readonly (readonly (readonly bigint[])[])[];
}

export function spendInputs(plan: SpendPlan): SpendInputs {
  const leaves = new Map<bigint, bigint>();
  for (const note of plan.spent) {
    if (note.leaf !== undefined) leaves.set(note.leafIndex, note.leaf);
  }
  const tree = new SparseTree(leaves);
  const owner = ownerOf(plan.spendingKey);
  return {
    context: plan.context,
    root: tree.node(DEPTH, 0n),
    asset: plan.amountOut === 0n ? 0n : plan.noteAsset,
    amountOut: plan.amountOut,
    nullifiers: plan.spent.map((note) =>
      nullifierOf(
        plan.spendingKey,
        commitmentOf(owner, note.blinding, plan.noteAsset, note.value),
        note.leafIndex,
      ),
    ),
    commitments: plan.made.map((note) => poseidon3([note.npk, plan.noteAsset, note.value])),
    spendingKey: plan.spendingKey,
    noteAsset: plan.noteAsset,
    inValues: plan.spent.map((note) => note.value),
    inBlindings: plan.spent.map((note) => note.blinding),
    inLeafIndices: plan.spent.map((note) => note.leafIndex),
    inPathElements: plan.spent.map((note) => tree.path(note.leafIndex)),
    outNpks: plan.made.map((note) => note.npk),
    outValues: plan.made.map((note) => note.value),
  };
}

export interface DepositInputs extends Inputs {
  readonly context: bigint;
  readonly asset: bigint;
  readonly amountIn: bigint;
  readonly commitments: readonly bigint[];
}

export function depositInputs(plan: DepositPlan): DepositInputs {
  return {
    context: plan.context,
    asset: plan.asset,
    amountIn: plan.amountIn,
    commitments: plan.made.map((note) => poseidon3([note.npk, plan.asset, note.value])),
    outNpks: plan.made.map((note) => note.npk),
    outValues: plan.made.map((note) => note.value),
  };
}

/** The tree by its definition: a node is the hash of its four children, an empty leaf is 0. */
export class SparseTree {
  readonly #leaves: ReadonlyMap<bigint, bigint>;
  readonly #nodes = new Map<string, bigint>();

  constructor(leaves: ReadonlyMap<bigint, bigint>) {
    this.#leaves = leaves;
  }

  node(level: number, index: bigint): bigint {
    if (level === 0) return this.#leaves.get(index) ?? 0n;
    const isUsed = [...this.#leaves.keys()].some((leaf) => leaf >> BigInt(2 * level) === index);
    const key = isUsed ? `${String(level)}/${String(index)}` : `${String(level)}/empty`;
    let hash = this.#nodes.get(key);
    if (hash === undefined) {
      hash = poseidon4([0n, 1n, 2n, 3n].map((digit) => this.node(level - 1, 4n * index + digit)));
      this.#nodes.set(key, hash);
    }
    return hash;
  }

  path(leafIndex: bigint): bigint[][] {
    return Array.from({ length: DEPTH }, (_, level) => {
      const index = leafIndex >> BigInt(2 * level);
      return [0n, 1n, 2n, 3n]
        .map((digit) => (index & ~3n) + digit)
        .filter((sibling) => sibling !== index)
        .map((sibling) => this.node(level, sibling));
    });
  }
}
