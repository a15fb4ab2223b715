/**
 * What those who make and keep statements need and the enclave, which only reads them, does not: signals by
 * name and back, and the bytes of ext. Nothing here decides whether a statement is valid.
 */
import type { Field } from "../brands.ts";
import { addressBytes, concatBytes, uintToBytes, word } from "../bytes.ts";
import {
  canonicalSignals,
  CIPHERTEXT_BYTES,
  EPHEMERAL_KEY_BYTES,
  KINDS,
  nameSignals,
  type Ext,
  type Facts,
  type Kind,
  type SignalFault,
} from "../statements.ts";

/** `["context", "root", …, "nullifiers[0]", …]`, as the compiler's symbol file names them. */
export function signalNames(kind: Kind): string[] {
  return KINDS[kind].signals.flatMap(({ name, count }) =>
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
  return KINDS[kind].signals.flatMap(({ name }): readonly Field[] => {
    switch (name) {
      case "context":
        return [facts.context];
      case "root":
        return facts.root === undefined ? [] : [facts.root];
      case "asset":
        return [facts.asset];
      case "amountIn":
      case "amountOut":
        return [facts.amount];
      case "nullifiers":
        return facts.nullifiers;
      case "commitments":
        return facts.commitments;
    }
  });
}

/** What `decodeExt` reads. Throws when key or ciphertexts have another length or number; borders check that first. */
export function encodeExt(ext: Ext): Uint8Array {
  if (
    ext.ephemeralKey.length !== EPHEMERAL_KEY_BYTES ||
    ext.ciphertexts.length !== KINDS[ext.kind].leaves ||
    ext.ciphertexts.some((ciphertext) => ciphertext.length !== CIPHERTEXT_BYTES)
  ) {
    throw new RangeError("an ext carries an ephemeral key and one full ciphertext for each leaf");
  }
  return concatBytes(encodeTerms(ext), ext.ephemeralKey, ...ext.ciphertexts);
}

function encodeTerms(ext: Ext): Uint8Array {
  switch (ext.kind) {
    case "deposit-shield":
      return concatBytes(
        addressBytes(ext.depositor),
        uintToBytes(ext.validAfter, 8),
        uintToBytes(ext.validBefore, 8),
      );
    case "spend":
    case "spend9":
      return addressBytes(ext.recipient);
    case "private-swap":
      return concatBytes(
        addressBytes(ext.tokenOut),
        uintToBytes(ext.minAmountOut, 16),
        word(ext.npkOut),
        uintToBytes(BigInt(ext.path.feeFirst), 3),
        addressBytes(ext.path.middle),
        uintToBytes(BigInt(ext.path.feeSecond), 3),
      );
  }
}
