/** Notes: what a private balance is made of, and the three hashes that speak about one. Trusts its caller for ranges. */
import { randomBytes } from "@noble/hashes/utils.js";
import { FIELD_ORDER, mustField, type Address, type Field } from "../protocol/brands.ts";
import { addressToField } from "../protocol/host/text.ts";
import { bytesToUint } from "../protocol/bytes.ts";
import { poseidon2, poseidon3 } from "../protocol/host/poseidon.ts";

export interface Note {
  readonly asset: Address;
  /** Smallest units, below 2^128. */
  readonly value: bigint;
  /** Another one for every note, and nobody can foretell it: who knows it and the owner recognises the note. */
  readonly blinding: Field;
}

/** The note's public key: hides its owner, so a stranger can complete a commitment with a value. */
export function npkOf(owner: Field, blinding: Field): Field {
  return poseidon2(owner, blinding);
}

/** What the tree holds. */
export function commitmentOf(npk: Field, asset: Address, value: bigint): Field {
  return poseidon3(npk, addressToField(asset), value);
}

export function noteCommitment(owner: Field, note: Note): Field {
  return commitmentOf(npkOf(owner, note.blinding), note.asset, note.value);
}

/** What a spent note leaves behind. The place in the tree is inside, so two equal notes have two nullifiers. */
export function nullifierOf(nullifierKey: Field, commitment: Field, leafIndex: number): Field {
  return poseidon3(nullifierKey, commitment, BigInt(leafIndex));
}

/** Uniform below the field order: 384 random bits, so the bias of the reduction is below 2^-129. */
export function randomField(): Field {
  return mustField(bytesToUint(randomBytes(48)) % FIELD_ORDER);
}

export function newNote(asset: Address, value: bigint): Note {
  return { asset, value, blinding: randomField() };
}
