/**
 * Opens what KMS answers to a request with an attestation document. The envelope has no sender, so whoever knows the
 * public key can make one: the caller must not believe what is inside. One answer to every fault, and the caller uses
 * a key once, so that nobody learns from how an envelope fails.
 *
 * Using a key once is not enough: KMS releases the same plaintext as often as the host asks, and a block of CBC can be
 * put in another's place. Whoever could tell wrong padding from a wrong key, by an answer or by its time, would read
 * the key byte by byte (Vaudenay 2002). So the length is given, and with it all of the padding: it is compared as one,
 * in constant time, and none of its bytes can be asked for alone.
 */
import { createDecipheriv, createHash, type KeyObject } from "node:crypto";
import { equalBytes } from "../shared/protocol/bytes.ts";
import { BLOCK_BYTES, readEnvelope } from "../shared/protocol/kms-envelope.ts";
import { openRsa } from "./release.ts";

/** Exactly `length` bytes, the one copy that is left here: the caller wipes it. */
export function openEnvelope(
  envelope: Uint8Array,
  privateKey: KeyObject,
  publicKeySpki: Uint8Array,
  length: number,
): Uint8Array | undefined {
  const read = readEnvelope(envelope);
  if (typeof read === "string") return undefined;
  const recipient = createHash("sha256").update(publicKeySpki).digest();
  if (!equalBytes(read.recipient, recipient)) return undefined;
  const padding = BLOCK_BYTES - (length % BLOCK_BYTES);
  const contentKey = openRsa(privateKey, read.encryptedKey);
  if (contentKey === undefined) return undefined;
  try {
    // A content key of another length throws.
    const cipher = createDecipheriv("aes-256-cbc", contentKey, read.iv).setAutoPadding(false);
    // Whole blocks, none held back for its padding: this is all of it. After `final` OpenSSL wipes its own key.
    const { buffer, byteOffset, byteLength } = cipher.update(read.content);
    cipher.final();
    const padded = new Uint8Array(buffer, byteOffset, byteLength);
    // RFC 5652 6.3
    if (equalBytes(padded.subarray(length), new Uint8Array(padding).fill(padding)))
      return padded.subarray(0, length);
    padded.fill(0);
    return undefined;
  } catch {
    return undefined;
  } finally {
    contentKey.fill(0);
  }
}
