import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import {
  commitmentOf,
  newNote,
  noteCommitment,
  npkOf,
  nullifierOf,
  randomField,
} from "../../../../shared/notes/note.ts";
import { FIELD_ORDER, mustField, type Address } from "../../../../shared/protocol/brands.ts";
import { toHex, word } from "../../../../shared/protocol/bytes.ts";

const { notes } = JSON.parse(
  readFileSync(new URL("../../../support/vectors/notes.json", import.meta.url), "utf8"),
) as {
  notes: {
    owner: string;
    nullifierKey: string;
    asset: Address;
    value: string;
    blinding: string;
    leafIndex: number;
    npk: string;
    commitment: string;
    nullifier: string;
  }[];
};

describe("notes", () => {
  it("have the hashes of the fixed vectors", () => {
    for (const vector of notes) {
      const field = (hex: string) => mustField(BigInt(hex));
      const npk = npkOf(field(vector.owner), field(vector.blinding));
      const commitment = commitmentOf(npk, vector.asset, BigInt(vector.value));
      assert.equal(toHex(word(npk)), vector.npk);
      assert.equal(toHex(word(commitment)), vector.commitment);
      const { asset, blinding } = vector;
      const note = { asset, value: BigInt(vector.value), blinding: field(blinding) };
      assert.equal(noteCommitment(field(vector.owner), note), commitment);
      const nullifier = nullifierOf(field(vector.nullifierKey), commitment, vector.leafIndex);
      assert.equal(toHex(word(nullifier)), vector.nullifier);
    }
  });

  it("two equal notes at two places have two nullifiers", () => {
    const [a] = notes;
    const commitment = mustField(BigInt(a!.commitment));
    const key = mustField(BigInt(a!.nullifierKey));
    assert.notEqual(nullifierOf(key, commitment, 1), nullifierOf(key, commitment, 2));
  });

  it("take a fresh blinding each, below the field order", () => {
    const asset = notes[0]!.asset;
    assert.notEqual(newNote(asset, 1n).blinding, newNote(asset, 1n).blinding);
    for (let i = 0; i < 64; i++) assert.ok(randomField() < FIELD_ORDER);
  });
});
