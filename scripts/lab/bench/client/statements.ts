// A valid statement of each kind with its witness, made by the client library from notes in a small tree: what a
// wallet proves, without a chain. Every call draws other notes. And notes of nobody, for statements without a proof.

import type { Fees } from "../../../../shared/client/statements/fees.ts";
import {
  prepareDeposit,
  prepareSpend,
  prepareSwap,
  type Prepared,
  type SpendInput,
} from "../../../../shared/client/statements/statements.ts";
import { newSeed, SpendingKey } from "../../../../shared/notes/keys.ts";
import { NoteTree } from "../../../../shared/notes/merkle.ts";
import { newNote, noteCommitment, randomField } from "../../../../shared/notes/note.ts";
import { mustField, ZERO_ADDRESS, type Address, type Field } from "../../../../shared/protocol/brands.ts";
import { asAddress } from "../../../../shared/protocol/host/text.ts";
import { KINDS, type Kind } from "../../../../shared/protocol/statements.ts";
import { TREE_DEPTH } from "../../../../shared/protocol/tree.ts";

const USDC = address("aa");
const WETH = address("bb");
const HOME = { chainId: 31_337n, pool: address("cc") };
const DEADLINE = 4_000_000_000;
/** What every note holds. */
const VALUE = 1_000_000n;
/** Leaves of strangers before ours. */
const STRANGERS = 64;

export function aStatement(kind: Kind): Prepared {
  const keys = SpendingKey.fromSeed(newSeed());
  const fee = { to: keys.viewing.address, value: 1_000n, enforced: true };
  const fees: Fees = { service: fee, developer: fee, total: 2n * fee.value };
  const common = { home: HOME, keys, asset: USDC, fees, deadline: DEADLINE };
  const { root, inputs } = ownNotes(keys, KINDS[kind].inputs);
  const total = VALUE * BigInt(inputs.length);
  switch (kind) {
    case "deposit-shield":
      return prepareDeposit({
        ...common,
        amount: VALUE,
        depositor: WETH,
        validAfter: 0,
        validBefore: DEADLINE,
      });
    case "spend":
    case "spend9":
      return prepareSpend({
        ...common,
        root,
        inputs,
        payment: { type: "transfer", to: keys.viewing.address, value: total / 2n },
      });
    case "private-swap":
      return prepareSwap({
        ...common,
        root,
        inputs,
        sharesIn: total / 2n,
        tokenOut: WETH,
        floor: 1n,
        path: { feeFirst: 500, middle: ZERO_ADDRESS, feeSecond: 0 },
      });
  }
}

/** Under no root; its path would only be looked at by a prover. */
export function nobodysNote(asset: Address, value: bigint, leafIndex = 0): SpendInput {
  const path = Array.from({ length: TREE_DEPTH }, () => Array.from({ length: 3 }, () => mustField(0n)));
  return { note: { ...newNote(asset, value), leafIndex }, path };
}

function ownNotes(keys: SpendingKey, count: number): { root: Field; inputs: SpendInput[] } {
  const tree = new NoteTree();
  for (let i = 0; i < STRANGERS; i++) tree.append(randomField());
  const notes = Array.from({ length: count }, (_, i) => ({
    ...newNote(USDC, VALUE),
    leafIndex: STRANGERS + i,
  }));
  for (const note of notes) tree.append(noteCommitment(keys.owner, note));
  const inputs = notes.map((note) => ({ note, path: tree.path(note.leafIndex, tree.leafCount) }));
  return { root: tree.root(), inputs };
}

function address(byte: string): Address {
  const found = asAddress(`0x${byte.repeat(20)}`);
  if (found === undefined) throw new Error("not an address");
  return found;
}
