// Notes as transactions carry them, and ciphertexts on their way through HTTP.
import type { ShieldedAddress } from "../../shared/notes/address.ts";
import { nobody, OutputSealer, type SealedOutput } from "../../shared/notes/encryption.ts";
import type { Note } from "../../shared/notes/note.ts";
import type { Address } from "../../shared/protocol/brands.ts";
import { mustFromHex, toHex } from "../../shared/protocol/bytes.ts";
import { CIPHERTEXT_BYTES, EPHEMERAL_KEY_BYTES, KINDS, type Kind } from "../../shared/protocol/statements.ts";
import type { Ciphertexts } from "../../shared/protocol/host/statements.ts";

export interface SealedNote {
  readonly note: Note;
  readonly sealed: SealedOutput;
  /** As an event of the stream says it. */
  readonly told: { readonly ephemeral_key: string; readonly output: number; readonly ciphertext: string };
}

/** At place `output`, behind outputs for nobody. */
export function sealNote(to: ShieldedAddress, asset: Address, value: bigint, output = 0): SealedNote {
  const sealer = new OutputSealer();
  for (let before = 0; before < output; before++) sealer.seal(nobody(), asset, 0n);
  const note = sealer.seal(to, asset, value);
  const { ephemeralKey } = sealer;
  const ciphertext = sealer.ciphertexts[output]!;
  return {
    note,
    sealed: { ephemeralKey, output, ciphertext },
    told: { ephemeral_key: toHex(ephemeralKey), output, ciphertext: toHex(ciphertext) },
  };
}

/** The part of a posted ext. */
export function readSealed(ext: {
  readonly ephemeral_key: string;
  readonly ciphertexts: readonly string[];
}): Ciphertexts {
  return { ephemeralKey: mustFromHex(ext.ephemeral_key), ciphertexts: ext.ciphertexts.map(mustFromHex) };
}

/** The inverse. */
export function writeSealed({ ephemeralKey, ciphertexts }: Ciphertexts) {
  return { ephemeral_key: toHex(ephemeralKey), ciphertexts: ciphertexts.map(toHex) };
}

/** Of the right length and worth nothing; every byte of ciphertext i is `first` + i. */
export function anySealed(kind: Kind, first = 0): Ciphertexts {
  return {
    ephemeralKey: new Uint8Array(EPHEMERAL_KEY_BYTES).fill(9),
    ciphertexts: Array.from({ length: KINDS[kind].leaves }, (_, i) =>
      new Uint8Array(CIPHERTEXT_BYTES).fill(first + i),
    ),
  };
}
