/**
 * Opens what KMS answers to a request with an attestation document: CMS EnvelopedData (RFC 5652) in
 * BER, one recipient, RSAES-OAEP with SHA-256, AES-256-CBC. The envelope has no sender, so whoever
 * knows the public key can make one: the caller must not believe what is inside. One answer to every
 * fault, and the caller uses a key once, so that nobody learns from how an envelope fails.
 */
import { constants, createDecipheriv, createHash, privateDecrypt, type KeyObject } from "node:crypto";
import { childrenOf, readAsn1, TAG } from "../shared/protocol/asn1.ts";
import { concatBytes, equalBytes, toHex } from "../shared/protocol/bytes.ts";

/** KMS opens at most 4 KiB for a symmetric key; ours, RSA-2048, carries 190 bytes. */
export const MAX_ENVELOPE_BYTES = 4096;

export function openEnvelope(
  envelope: Uint8Array,
  privateKey: KeyObject,
  publicKeySpki: Uint8Array,
): Uint8Array | undefined {
  const read = readEnvelope(envelope);
  if (read === undefined) return undefined;
  const recipient = createHash("sha256").update(publicKeySpki).digest();
  if (!equalBytes(read.recipient, recipient)) return undefined;
  try {
    // Node takes the same hash for the label and for MGF1.
    const oaep = { key: privateKey, padding: constants.RSA_PKCS1_OAEP_PADDING, oaepHash: "sha256" };
    const contentKey = privateDecrypt(oaep, read.encryptedKey);
    // A content key or a vector of another length throws, as wrong padding does.
    const cipher = createDecipheriv("aes-256-cbc", contentKey, read.iv);
    return concatBytes(cipher.update(read.content), cipher.final());
  } catch {
    return undefined;
  }
}

export interface Envelope {
  /** SHA-256 of the recipient's SPKI DER, which KMS puts as subject key identifier. */
  readonly recipient: Uint8Array;
  readonly encryptedKey: Uint8Array;
  readonly iv: Uint8Array;
  readonly content: Uint8Array;
}

/** RFC 5652 6.1 and 6.2.1, without originator, attributes or a second recipient. Algorithms are compared whole, as KMS spells them. */
export function readEnvelope(bytes: Uint8Array): Envelope | undefined {
  if (bytes.length > MAX_ENVELOPE_BYTES) return undefined;
  const info = childrenOf(readAsn1(bytes, "BER"), TAG.sequence, TAG.objectId, CONTEXT_0);
  const [wrapped] = childrenOf(info?.[1], CONTEXT_0, TAG.sequence) ?? [];
  const data = childrenOf(wrapped, TAG.sequence, TAG.integer, TAG.set, TAG.sequence);
  const [only] = childrenOf(data?.[1], TAG.set, TAG.sequence) ?? [];
  const recipient = childrenOf(only, TAG.sequence, TAG.integer, KEY_ID, TAG.sequence, TAG.octetString);
  const encrypted = childrenOf(data?.[2], TAG.sequence, TAG.objectId, TAG.sequence, CONTEXT_0);
  const cipher = childrenOf(encrypted?.[1], TAG.sequence, TAG.objectId, TAG.octetString);
  if (!info || !data || !recipient || !encrypted || !cipher) return undefined;
  const agreed = [
    [info[0], ENVELOPED_DATA],
    [data[0], VERSION_2],
    [recipient[0], VERSION_2],
    [recipient[2], RSAES_OAEP_SHA256],
    [encrypted[0], DATA],
    [cipher[0], AES_256_CBC],
  ] as const;
  const chunks = encrypted[2].children;
  if (!agreed.every(([{ whole }, hex]) => toHex(whole) === hex)) return undefined;
  if (!chunks.every(({ tag }) => tag === TAG.octetString)) return undefined;
  const content = concatBytes(...chunks.map(({ body }) => body));
  return { recipient: recipient[1].body, encryptedKey: recipient[3].body, iv: cipher[1].body, content };
}

/** Implicit, of an octet string. */
const KEY_ID = 0x80;
/** Around the value of a content type; and implicit, around the chunks of encrypted content. */
const CONTEXT_0 = 0xa0;

const VERSION_2 = "0x020102";
const ENVELOPED_DATA = "0x06092a864886f70d010703";
const DATA = "0x06092a864886f70d010701";
const AES_256_CBC = "0x060960864801650304012a";
/** RFC 8017 A.2.1: rsaesOaep; hash [0] SHA-256; mask [1] MGF1 with SHA-256; the label left out. */
const SHA256 = "300d06096086480165030402010500";
const RSAES_OAEP_SHA256 = `0x303c06092a864886f70d010107302fa00f${SHA256}a11c301a06092a864886f70d010108${SHA256}`;
