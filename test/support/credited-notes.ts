/** Notes that a pool's credits give to a wallet, opened as its owner opens them. */
import { openOutput } from "../../shared/notes/encryption.ts";
import type { SpendingKey } from "../../shared/notes/keys.ts";
import { completeNote } from "../../shared/notes/measured-note.ts";
import type { Note } from "../../shared/notes/note.ts";
import type { Money } from "./money.ts";

export async function creditedNotes(on: Money, { viewing }: SpendingKey): Promise<Note[]> {
  return (await on.events()).flatMap((event): Note[] => {
    if (event.kind !== "credited") return [];
    const { npk, asset, value, commitment, ephemeralKey, ciphertext } = event;
    const opened = openOutput(viewing, { ephemeralKey, output: 0, ciphertext });
    const note = opened && completeNote(viewing.owner, opened.blinding, { npk, asset, value }, commitment);
    return note === undefined ? [] : [note];
  });
}
