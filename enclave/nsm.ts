/**
 * The requests this program makes of the Nitro Security Module, and its answers, in the CBOR of
 * AWS's NSM API (unit variants are texts, struct variants are one-entry maps). An answer that is not
 * exactly what was asked for is undefined; the caller then goes without.
 */
import { decodeCbor, encodeCbor, entryOf } from "../shared/protocol/cbor.ts";
import type { AttestationRequest } from "./platform.ts";

/** The NSM gives at most 12 KiB (0x3000); with room to spare, still far below the cap of a reply frame. */
export const MAX_NSM_BYTES = 16_384;

export function encodeRandomRequest(): Uint8Array {
  return encodeCbor("GetRandom");
}

/**
 * The module decides how much it gives (256 bytes); fewer than `length` is no answer. No copy of what CBOR was read
 * into: who wipes the answer wipes all that anybody used.
 */
export function decodeRandomReply(reply: Uint8Array, length: number): Uint8Array | undefined {
  const random = entryOf(entryOf(decodeCbor(reply), "GetRandom"), "random");
  return random instanceof Uint8Array && random.length >= length ? random.subarray(0, length) : undefined;
}

export function encodeAttestationRequest({ userData, nonce, publicKey }: AttestationRequest): Uint8Array {
  const fields = new Map([
    ["user_data", userData],
    ["nonce", nonce ?? null],
    ["public_key", publicKey ?? null],
  ]);
  return encodeCbor(new Map([["Attestation", fields]]));
}

export function decodeAttestationReply(reply: Uint8Array): Uint8Array | undefined {
  const document = entryOf(entryOf(decodeCbor(reply), "Attestation"), "document");
  return document instanceof Uint8Array && document.length > 0 ? document : undefined;
}
