// A note whose ciphertext nobody could read, made spendable from its opening.
import assert from "node:assert/strict";
import { adoptNote, type NoteOpening } from "../../../../../shared/client/state/adopting.ts";
import { WalletState } from "../../../../../shared/client/state/state.ts";
import { SpendingKey } from "../../../../../shared/notes/keys.ts";
import { newNote, noteCommitment, nullifierOf, randomField } from "../../../../../shared/notes/note.ts";
import type { Address } from "../../../../../shared/protocol/brands.ts";
import { asAddress } from "../../../../../shared/protocol/host/text.ts";
import { toHex, word } from "../../../../../shared/protocol/bytes.ts";
import { storedAndOpened } from "../../../../support/stored-state.ts";

const USDC = asAddress(`0x${"11".repeat(20)}`) as Address;
const keys = SpendingKey.fromSeed(new Uint8Array(32).fill(1));
const stranger = SpendingKey.fromSeed(new Uint8Array(32).fill(2));
const note = newNote(USDC, 1_234n);

function tree(): WalletState {
  const state = new WalletState();
  state.addLeaf(randomField(), 5);
  state.addLeaf(noteCommitment(keys.owner, note), 7);
  state.addLeaf(noteCommitment(keys.owner, { ...note, value: 0n }), 9);
  return state;
}
const opening = (change: Partial<NoteOpening> = {}): NoteOpening => ({
  leaf_index: 1,
  asset: USDC,
  value: "1234",
  blinding: toHex(word(note.blinding)),
  ...change,
});

describe("an opened note", () => {
  it("becomes the wallet's own, and stays it in the storage", async () => {
    const state = tree();
    // As printed by the operator's tool, with more than is needed.
    const adopted = adoptNote(state, keys.viewing, { ...opening(), ticket: null, npk: "0x00" });
    const commitment = noteCommitment(keys.owner, note);
    assert.deepEqual(adopted, {
      ...note,
      leafIndex: 1,
      commitment,
      nullifier: nullifierOf(keys.viewing.nullifierKey, commitment, 1),
      source: "spend",
      block: 7,
      txHash: "",
    });
    assert.deepEqual([...state.notes.values()], [adopted]);
    assert.equal(state.noteOf(adopted.nullifier), adopted);
    const home = { chainId: 1n, pool: USDC };
    const again = await storedAndOpened(state, home, keys.storageKey());
    assert.deepEqual([...again.notes.values()], [adopted]);
  });

  it("is not taken twice: what the stream said of it stands", () => {
    const state = tree();
    const first = adoptNote(state, keys.viewing, opening());
    const spent = { ...first, spent: { block: 8, txHash: "0x01" } };
    state.notes.set(1, spent);
    assert.equal(adoptNote(state, keys.viewing, opening()), spent);
    assert.equal(state.notes.size, 1);
  });

  const refused: readonly [string, unknown][] = [
    ["another value", opening({ value: "1235" })],
    ["another asset", opening({ asset: `0x${"22".repeat(20)}` })],
    ["another blinding", opening({ blinding: toHex(word(note.blinding ^ 1n)) })],
    ["another leaf", opening({ leaf_index: 0 })],
    ["a leaf that is not there", opening({ leaf_index: 3 })],
    ["a statement not executed yet", opening({ leaf_index: null })],
    ["nothing of value", opening({ leaf_index: 2, value: "0" })],
    ["no opening", { leaf_index: "1" }],
    ["nothing at all", undefined],
  ];
  for (const [what, untrusted] of refused) {
    it(`is refused with ${what}`, () => {
      const state = tree();
      assert.throws(() => adoptNote(state, keys.viewing, untrusted), { code: "NOTE_UNKNOWN" });
      assert.equal(state.notes.size, 0);
    });
  }

  it("is refused when it is somebody else's", () => {
    assert.throws(() => adoptNote(tree(), stranger.viewing, opening()), { code: "NOTE_UNKNOWN" });
  });
});
