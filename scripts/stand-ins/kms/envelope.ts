/**
 * Seals for one recipient as KMS does when a request carries an attestation document: CMS EnvelopedData
 * in BER, with the indefinite lengths that KMS sends, and the content in either of its forms. Development only.
 */
import {
  constants,
  createCipheriv,
  createHash,
  createPublicKey,
  publicEncrypt,
  randomBytes,
} from "node:crypto";

/** Of the encrypted content: octet strings in a constructed [0], or a primitive [0]. AWS's own SDK has a vector of each. */
export const CONTENT_FORMS = ["constructed", "primitive"] as const;
export type ContentForm = (typeof CONTENT_FORMS)[number];

/** `recipientSpki` is DER of an RSA key, as the document's `public_key` has it; throws for another. */
export function sealEnvelope(
  plaintext: Uint8Array,
  recipientSpki: Uint8Array,
  form: ContentForm = "constructed",
): Uint8Array {
  const key = createPublicKey({ key: Buffer.from(recipientSpki), format: "der", type: "spki" });
  const contentKey = randomBytes(32);
  const iv = randomBytes(16);
  const cipher = createCipheriv("aes-256-cbc", contentKey, iv);
  const content = Buffer.concat([cipher.update(plaintext), cipher.final()]);
  const oaep = { key, padding: constants.RSA_PKCS1_OAEP_PADDING, oaepHash: "sha256" };

  // RFC 5652 6.1 and 6.2.1. Which parts are of indefinite length is KMS's habit.
  const recipient = element(
    SEQUENCE,
    VERSION_2,
    element(IMPLICIT_0, createHash("sha256").update(recipientSpki).digest()),
    RSAES_OAEP_SHA256,
    element(OCTET_STRING, publicEncrypt(oaep, contentKey)),
  );
  const encryptedContent = indefinite(
    SEQUENCE,
    objectId("2a864886f70d010701"), // data
    element(SEQUENCE, objectId("60864801650304012a"), element(OCTET_STRING, iv)), // AES-256-CBC
    form === "primitive"
      ? element(IMPLICIT_0, content)
      : indefinite(CONTEXT_0, ...chunks(content).map((chunk) => element(OCTET_STRING, chunk))),
  );
  return new Uint8Array(
    indefinite(
      SEQUENCE,
      objectId("2a864886f70d010703"), // enveloped data
      indefinite(CONTEXT_0, indefinite(SEQUENCE, VERSION_2, element(SET, recipient), encryptedContent)),
    ),
  );
}

/** Of content; the vectors from KMS are shorter than one chunk. */
const CHUNK_BYTES = 1024;

function chunks(content: Buffer): Buffer[] {
  return Array.from({ length: Math.ceil(content.length / CHUNK_BYTES) }, (_, i) =>
    content.subarray(i * CHUNK_BYTES, (i + 1) * CHUNK_BYTES),
  );
}

const OCTET_STRING = 0x04;
const SEQUENCE = 0x30;
const SET = 0x31;
const CONTEXT_0 = 0xa0;
const IMPLICIT_0 = 0x80;

function element(tag: number, ...contents: readonly Uint8Array[]): Buffer {
  const body = Buffer.concat(contents);
  const { length } = body;
  const size =
    length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Uint8Array.of(tag, ...size), body]);
}

function indefinite(tag: number, ...contents: readonly Uint8Array[]): Buffer {
  return Buffer.concat([Uint8Array.of(tag, 0x80), ...contents, Uint8Array.of(0, 0)]);
}

function objectId(hex: string): Buffer {
  return element(0x06, Buffer.from(hex, "hex"));
}

const VERSION_2 = element(0x02, Uint8Array.of(2));
const SHA256 = element(SEQUENCE, objectId("608648016503040201"), element(0x05));
const RSAES_OAEP_SHA256 = element(
  SEQUENCE,
  objectId("2a864886f70d010107"),
  element(
    SEQUENCE,
    element(CONTEXT_0, SHA256),
    element(0xa1, element(SEQUENCE, objectId("2a864886f70d010108"), SHA256)), // MGF1
  ),
);
