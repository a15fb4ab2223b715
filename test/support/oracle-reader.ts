// SPEC.md as whoever is paid reads it, beside oracle.ts and with nothing of ours: keys from a seed, the address as text,
// the pool's log, and the notes that it tells to their owner.
import { hkdfSync } from "node:crypto";
import { bech32m } from "@scure/base";
import { concat, dataLength, dataSlice, getBytes, hexlify, keccak256, toUtf8Bytes } from "ethers";
import {
  commitmentOf,
  FIELD_ORDER,
  KINDS,
  npkOf,
  openedBy,
  outputKeysFrom,
  ownerOf,
  sharedSecretOf,
  viewingSecretOf,
  word,
  x25519KeyOf,
  type Said,
  type SpentNote,
} from "./oracle.ts";

// ---------------------------------------------------------------- keys and addresses (section 2)

export interface Keys {
  readonly spendingKey: bigint;
  readonly owner: bigint;
  readonly viewingSecret: string;
  readonly viewingKey: string;
}

export function keysOf(seed: string): Keys {
  const wide = new Uint8Array(hkdfSync("sha256", getBytes(seed), "", "cloister/spending-key/v1", 48));
  const spendingKey = BigInt(hexlify(wide)) % FIELD_ORDER;
  const viewingSecret = viewingSecretOf(spendingKey);
  return {
    ...{ spendingKey, owner: ownerOf(spendingKey) },
    ...{ viewingSecret, viewingKey: x25519KeyOf(viewingSecret) },
  };
}

export function addressOf({ owner, viewingKey }: Keys, prefix: string): string {
  const payload = getBytes(concat([Uint8Array.of(1), word(owner), viewingKey]));
  return bech32m.encode(prefix, bech32m.toWords(payload), false);
}

export function readAddress(text: string): { prefix: string; owner: bigint; viewingKey: string } {
  const { prefix, words } = bech32m.decode(text as `${string}1${string}`, false);
  const payload = hexlify(bech32m.fromWords(words));
  return { prefix, owner: BigInt(dataSlice(payload, 1, 33)), viewingKey: dataSlice(payload, 33, 65) };
}

// ---------------------------------------------------------------- what the pool says (section 8)

/** `Executed` by its lengths; undefined for another event. Throws for a length that the kind does not have. */
export function readExecutedLog(log: { topics: readonly string[]; data: string }): Said | undefined {
  if (log.topics[0] !== keccak256(toUtf8Bytes("Executed(bytes32)"))) return undefined;
  let at = 0;
  const take = (bytes: number): string => dataSlice(log.data, at, (at += bytes));
  const times = <T>(count: number, each: () => T): T[] => Array.from({ length: count }, each);
  const kindId = Number(take(1));
  const shape = Object.values(KINDS).find(({ id }) => id === kindId);
  if (shape === undefined) throw new Error(`no kind ${String(kindId)}`);
  const said = {
    ...{ statementHash: log.topics[1]!, kindId, firstLeafIndex: BigInt(take(8)), proofHash: take(32) },
    nullifiers: times(shape.inputs, () => BigInt(take(32))),
    commitments: times(shape.outputs, () => BigInt(take(32))),
    ephemeralKey: take(32),
    ciphertexts: times(shape.leaves, () => take(53)),
  };
  if (at === dataLength(log.data)) return said;
  const moved = { asset: take(20), amount: BigInt(take(16)) };
  const party = shape === KINDS["private-swap"] ? {} : { party: take(20) };
  if (at !== dataLength(log.data)) throw new Error("bytes too many");
  return { ...said, moved: { ...moved, ...party } };
}

/** The notes of one statement that are of these keys, each with the commitment that makes it believable. */
export function notesOf(keys: Keys, said: Said): (SpentNote & { readonly asset: string })[] {
  const shared = sharedSecretOf(keys.viewingSecret, said.ephemeralKey);
  return said.commitments.flatMap((leaf, output) => {
    const derived = outputKeysFrom(shared, said.ephemeralKey, keys.viewingKey, output);
    const found = openedBy(derived, said.ciphertexts[output]!);
    if (found === undefined) return [];
    const { asset, value } = found;
    const { blinding } = derived;
    if (commitmentOf(npkOf(keys.owner, blinding), BigInt(asset), value) !== leaf) return [];
    return [{ asset, value, blinding, leafIndex: BigInt(said.firstLeafIndex) + BigInt(output), leaf }];
  });
}
