/**
 * A note that this wallet owns and could not read, because its ciphertext was garbage: made spendable from its
 * opening, as `operator fees received` prints it. The opening is a claim until this key and the wallet's own tree
 * give the very leaf.
 */
import * as z from "../../api/zod.ts";
import { address, amount, count, fieldElement } from "../../api/values.ts";
import { asField } from "../../protocol/brands.ts";
import { asAddress } from "../../protocol/host/text.ts";
import type { FullViewingKey } from "../../notes/keys.ts";
import { noteCommitment, nullifierOf } from "../../notes/note.ts";
import { ClientError } from "../base/errors.ts";
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
  const { leaf_index: leafIndex, ...given } = readOpening(untrusted);
  const asset = asAddress(given.asset);
  const blinding = asField(BigInt(given.blinding));
  if (asset === undefined || blinding === undefined) throw new ClientError("NOTE_UNKNOWN", "not canonical");
  const note = { asset, value: BigInt(given.value), blinding };
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
    block: state.blocks.of(leafIndex) ?? 0,
    txHash: "",
  };
  state.addNote(owned);
  return owned;
}

/** Where the note would be. Throws NOTE_UNKNOWN. */
export function leafOfOpening(untrusted: unknown): number {
  return readOpening(untrusted).leaf_index;
}

function readOpening(untrusted: unknown): NoteOpening & { readonly leaf_index: number } {
  const parsed = opening.safeParse(untrusted);
  if (!parsed.success) throw new ClientError("NOTE_UNKNOWN", "not the opening of a note");
  const { leaf_index, ...given } = parsed.data;
  if (leaf_index === null) throw new ClientError("NOTE_UNKNOWN", "it is not executed yet");
  return { ...given, leaf_index };
}
