/**
 * What those who make and keep statements need and the enclave, which only reads them, does not: signals by
 * name and back, and the bytes of ext. Nothing here decides whether a statement is valid.
 */
import type { Field } from "../brands.ts";
import type { Codec } from "../layouts.ts";
import {
  canonicalSignals,
  EXTS,
  KINDS,
  nameSignals,
  type Ext,
  type Facts,
  type Kind,
  type SignalFault,
  type SignalName,
} from "../statements.ts";

/** What carries the notes of a statement to their owners. */
export type Ciphertexts = Pick<Ext, "ephemeralKey" | "ciphertexts">;

/** `["context", "root", …, "nullifiers[0]", …]`, as the compiler's symbol file names them. */
export function signalNames(kind: Kind): string[] {
  return Object.entries(KINDS[kind].signals).flatMap(([name, count]) =>
    count === 1 ? [name] : Array.from({ length: count }, (_, i) => `${name}[${String(i)}]`),
  );
}

/** Names the signals after checking their exact number and that each is canonical. */
export function readSignals(kind: Kind, untrusted: readonly bigint[]): Facts | SignalFault {
  const signals = canonicalSignals(kind, untrusted);
  return typeof signals === "string" ? signals : nameSignals(kind, signals);
}

/** Facts back to signals, in circuit order. */
export function writeSignals(kind: Kind, facts: Facts): Field[] {
  const { context, root, asset, amount, nullifiers, commitments } = facts;
  const values: Readonly<Record<SignalName, readonly Field[]>> = {
    ...{ context: [context], root: root === undefined ? [] : [root], asset: [asset] },
    ...{ amountIn: [amount], amountOut: [amount], nullifiers, commitments },
  };
  return signalOrder(kind).flatMap((name) => values[name]);
}

/** Names in circuit order, each once. */
export function signalOrder(kind: Kind): readonly SignalName[] {
  return Object.keys(KINDS[kind].signals) as SignalName[];
}

/** What `decodeExt` reads. Throws when key or ciphertexts have another length or number; borders check that first. */
export function encodeExt(ext: Ext): Uint8Array {
  return (EXTS[ext.kind] as Codec<Ext>).write(ext);
}
