// The attester's two keys, in its own folder and nowhere else. Their addresses are known before it runs, as the
// contracts have to name them.
import type { Address } from "../../../../shared/protocol/brands.ts";
import { concatBytes, mustFromHex } from "../../../../shared/protocol/bytes.ts";
import { messageHash } from "../../../../shared/protocol/host/cctp.ts";
import { openKey } from "../key-file.ts";

export const THRESHOLD = 2;

export interface AttesterKeys {
  /** In rising order. */
  readonly addresses: readonly Address[];
  /** Uncompressed, as the API shows them. */
  readonly publicKeys: readonly string[];
  /** Both signatures, in the order of the addresses. */
  readonly attest: (message: Uint8Array) => Uint8Array;
}

/** Makes those that are missing. */
export async function openKeys(folder: string): Promise<AttesterKeys> {
  const names = Array.from({ length: THRESHOLD }, (_, i) => `attester-${String(i + 1)}`);
  const opened = await Promise.all(names.map((name) => openKey(folder, name)));
  const sorted = opened.toSorted((a, b) => (a.address < b.address ? -1 : 1));
  return {
    addresses: sorted.map(({ address }) => address),
    publicKeys: sorted.map(({ key }) => key.publicKey),
    attest: (message) => {
      const hash = messageHash(message);
      return concatBytes(...sorted.map(({ key }) => mustFromHex(key.sign(hash).serialized)));
    },
  };
}
