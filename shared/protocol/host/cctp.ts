/**
 * Messages of CCTP v2 and their attestations, byte for byte. A message is never a proof of money: anybody can have any
 * message attested, so who reads an amount here has read what somebody wrote, not what arrived.
 */
import { secp256k1 } from "@noble/curves/secp256k1.js";
import type { Address, Bytes32 } from "../brands.ts";
import { mustFromHex, bytesToUint, concatBytes, toAddress, toBytes32, uintToBytes, word } from "../bytes.ts";
import { keccak256, keccakHex } from "../hash.ts";

/** Of header and burn body alike. */
const VERSION = 1;
export const HEADER_BYTES = 148;
/** Without hook. */
export const BURN_BYTES = 228;
const SIGNATURE_BYTES = 65;

/** Finality that a sender may ask for: after a block or so, for a fee, or when nothing can undo the burn. */
export const FINALITY = { fast: 1_000, final: 2_000 } as const;

export interface CctpMessage {
  readonly sourceDomain: number;
  readonly destinationDomain: number;
  /** Zero as emitted; the attester gives it. */
  readonly nonce: Bytes32;
  readonly sender: Bytes32;
  readonly recipient: Bytes32;
  /** Zero: anyone may deliver. */
  readonly destinationCaller: Bytes32;
  readonly minFinalityThreshold: number;
  /** Zero as emitted. */
  readonly finalityThresholdExecuted: number;
  readonly body: Uint8Array;
}

/** The body of a message from one token messenger to another. */
export interface BurnBody {
  readonly burnToken: Bytes32;
  readonly mintRecipient: Bytes32;
  readonly amount: bigint;
  readonly messageSender: Bytes32;
  readonly maxFee: bigint;
  /** Zero as emitted. */
  readonly feeExecuted: bigint;
  /** Block of the destination from which on it must be attested again; zero: never. Zero as emitted. */
  readonly expirationBlock: bigint;
  readonly hookData: Uint8Array;
}

/** Undefined unless these are the bytes that `encodeMessage` writes for some message. */
export function parseMessage(untrusted: unknown): CctpMessage | undefined {
  if (!(untrusted instanceof Uint8Array) || untrusted.length < HEADER_BYTES) return undefined;
  const at = fieldsOf(untrusted);
  if (at.number(0) !== VERSION) return undefined;
  return {
    sourceDomain: at.number(4),
    destinationDomain: at.number(8),
    nonce: at.word(12),
    sender: at.word(44),
    recipient: at.word(76),
    destinationCaller: at.word(108),
    minFinalityThreshold: at.number(140),
    finalityThresholdExecuted: at.number(144),
    body: untrusted.slice(HEADER_BYTES),
  };
}

/** Throws when a number does not fit its field, which is a fault of ours. */
export function encodeMessage(message: CctpMessage): Uint8Array {
  return concatBytes(
    uint32(VERSION),
    uint32(message.sourceDomain),
    uint32(message.destinationDomain),
    mustFromHex(message.nonce),
    mustFromHex(message.sender),
    mustFromHex(message.recipient),
    mustFromHex(message.destinationCaller),
    uint32(message.minFinalityThreshold),
    uint32(message.finalityThresholdExecuted),
    message.body,
  );
}

/** Undefined unless these are the bytes that `encodeBurn` writes for some burn. Whoever may send a message can write such. */
export function parseBurn(untrusted: unknown): BurnBody | undefined {
  if (!(untrusted instanceof Uint8Array) || untrusted.length < BURN_BYTES) return undefined;
  const at = fieldsOf(untrusted);
  if (at.number(0) !== VERSION) return undefined;
  return {
    burnToken: at.word(4),
    mintRecipient: at.word(36),
    amount: at.uint(68),
    messageSender: at.word(100),
    maxFee: at.uint(132),
    feeExecuted: at.uint(164),
    expirationBlock: at.uint(196),
    hookData: untrusted.slice(BURN_BYTES),
  };
}

export function encodeBurn(burn: BurnBody): Uint8Array {
  return concatBytes(
    uint32(VERSION),
    mustFromHex(burn.burnToken),
    mustFromHex(burn.mintRecipient),
    word(burn.amount),
    mustFromHex(burn.messageSender),
    word(burn.maxFee),
    word(burn.feeExecuted),
    word(burn.expirationBlock),
    burn.hookData,
  );
}

/** What the attesters sign, without a prefix. */
export function messageHash(message: Uint8Array): Bytes32 {
  return keccakHex(message);
}

/** Single signatures r ‖ s ‖ v of an attestation; undefined when it is not whole ones, v 27 or 28 and s in the lower half. */
export function parseAttestation(untrusted: unknown): Uint8Array[] | undefined {
  if (!(untrusted instanceof Uint8Array) || untrusted.length === 0) return undefined;
  if (untrusted.length % SIGNATURE_BYTES !== 0) return undefined;
  const signatures = Array.from({ length: untrusted.length / SIGNATURE_BYTES }, (_, i) =>
    untrusted.slice(i * SIGNATURE_BYTES, (i + 1) * SIGNATURE_BYTES),
  );
  return signatures.every(isCanonical) ? signatures : undefined;
}

/** Who signed these bytes, in the order of the attestation; undefined unless their addresses rise, as the contract asks. */
export function attestersOf(message: Uint8Array, attestation: unknown): Address[] | undefined {
  const signatures = parseAttestation(attestation);
  if (signatures === undefined) return undefined;
  const digest = keccak256(message);
  const signers: Address[] = [];
  for (const signature of signatures) {
    const signer = recovered(digest, signature);
    // The same length of lower-case digits, so the text's order is the number's.
    if (signer === undefined || signer <= (signers.at(-1) ?? "")) return undefined;
    signers.push(signer);
  }
  return signers;
}

/** An address of an EVM chain as messages write it. */
export function addressToWord(address: Address): Bytes32 {
  return toBytes32(concatBytes(new Uint8Array(12), mustFromHex(address)));
}

/** Undefined for a word that is no such address: other blockchains use all 32 bytes. */
export function wordToAddress(text: Bytes32): Address | undefined {
  const bytes = mustFromHex(text);
  return bytes.subarray(0, 12).every((byte) => byte === 0) ? toAddress(bytes.subarray(12)) : undefined;
}

interface Fields {
  /** Of four bytes. */
  number(at: number): number;
  word(at: number): Bytes32;
  uint(at: number): bigint;
}

function fieldsOf(bytes: Uint8Array): Fields {
  return {
    number: (at) => Number(bytesToUint(bytes.subarray(at, at + 4))),
    word: (at) => toBytes32(bytes.subarray(at, at + 32)),
    uint: (at) => bytesToUint(bytes.subarray(at, at + 32)),
  };
}

function uint32(value: number): Uint8Array {
  return uintToBytes(BigInt(value), 4);
}

/** A second spelling of a signature would pass as a second attestation where attestations are compared by their bytes. */
function isCanonical(signature: Uint8Array): boolean {
  const s = bytesToUint(signature.subarray(32, 64));
  const v = signature[64];
  return (v === 27 || v === 28) && s > 0n && s <= secp256k1.Point.Fn.ORDER / 2n;
}

function recovered(digest: Uint8Array, signature: Uint8Array): Address | undefined {
  try {
    const parsed = secp256k1.Signature.fromBytes(signature.subarray(0, 64)).addRecoveryBit(
      signature[64]! - 27,
    );
    const key = parsed.recoverPublicKey(digest).toBytes(false);
    return toAddress(keccak256(key.subarray(1)).subarray(12));
  } catch {
    return undefined; // No point has that r.
  }
}
