/**
 * A note that this wallet owns and could not read, because its ciphertext was garbage: made spendable from its
 * opening, as `operator fees received` prints it. The opening is a claim until this key and the wallet's own tree
 * give the very leaf.
 */
import * as z from "zod";
import { address, amount, count, fieldElement } from "../api/values.ts";
import { asAddress, asField } from "../protocol/brands.ts";
import type { FullViewingKey } from "../notes/keys.ts";
import { noteCommitment, nullifierOf } from "../notes/note.ts";
import { ClientError } from "./errors.ts";
import type { OwnedNote, WalletState } from "./state.ts";

const opening = z.object({
  leaf_index: count.nullable(),
  asset: address,
  value: amount,
  blinding: fieldElement,
});

/** `leaf_index` is null as long as the note's statement is not executed. More fields do no harm. */
export type NoteOpening = z.infer<typeof opening>;

/** The note, which is in `state` from now on. Throws NOTE_UNKNOWN. */
export function adoptNote(state: WalletState, keys: FullViewingKey, untrusted: unknown): OwnedNote {
  const parsed = opening.safeParse(untrusted);
  if (!parsed.success) throw new ClientError("NOTE_UNKNOWN", "not the opening of a note");
  const leafIndex = parsed.data.leaf_index;
  if (leafIndex === null) throw new ClientError("NOTE_UNKNOWN", "it is not executed yet");
  const asset = asAddress(parsed.data.asset);
  const blinding = asField(BigInt(parsed.data.blinding));
  if (asset === undefined || blinding === undefined) throw new ClientError("NOTE_UNKNOWN", "not canonical");
  const note = { asset, value: BigInt(parsed.data.value), blinding };
  const commitment = noteCommitment(keys.owner, note);
  if (state.tree.leaf(leafIndex) !== commitment || note.value === 0n)
    throw new ClientError("NOTE_UNKNOWN", "this key and this opening do not give that leaf");
  // What the stream told is better: it knows whether the note is spent.
  const known = state.notes.get(leafIndex);
  if (known !== undefined) return known;
  const owned: OwnedNote = {
    ...note,
    leafIndex,
    commitment,
    nullifier: nullifierOf(keys.nullifierKey, commitment, leafIndex),
    source: "spend",
    block: state.blocks.findLast(({ firstLeaf }) => firstLeaf <= leafIndex)?.block ?? 0,
    txHash: "",
  };
  state.addNote(owned);
  return owned;
}
