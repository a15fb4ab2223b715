/**
 * Opens what KMS answers to a request with an attestation document. The envelope has no sender, so whoever knows the
 * public key can make one: the caller must not believe what is inside. One answer to every fault, and the caller uses
 * a key once, so that nobody learns from how an envelope fails.
 */
import { constants, createDecipheriv, createHash, privateDecrypt, type KeyObject } from "node:crypto";
import { concatBytes, equalBytes } from "../shared/protocol/bytes.ts";
import { readEnvelope } from "../shared/protocol/kms-envelope.ts";

export function openEnvelope(
  envelope: Uint8Array,
  privateKey: KeyObject,
  publicKeySpki: Uint8Array,
): Uint8Array | undefined {
  const read = readEnvelope(envelope);
  if (typeof read === "string") return undefined;
  const recipient = createHash("sha256").update(publicKeySpki).digest();
  if (!equalBytes(read.recipient, recipient)) return undefined;
  try {
    // Node takes the same hash for the label and for MGF1.
    const oaep = { key: privateKey, padding: constants.RSA_PKCS1_OAEP_PADDING, oaepHash: "sha256" };
    const contentKey = privateDecrypt(oaep, read.encryptedKey);
    // A content key of another length throws, as wrong padding does.
    const cipher = createDecipheriv("aes-256-cbc", contentKey, read.iv);
    return concatBytes(cipher.update(read.content), cipher.final());
  } catch {
    return undefined;
  }
}
