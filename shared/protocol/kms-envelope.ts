/**
 * Reads what KMS answers to a request with an attestation document: CMS EnvelopedData (RFC 5652) in BER, one
 * recipient, RSAES-OAEP with SHA-256, AES-256-CBC. Opens nothing and needs no key, so host and enclave judge an
 * envelope alike. Input is untrusted, and an envelope has no sender.
 */
import { childrenOf, readAsn1, TAG, type Element } from "./asn1.ts";
import { concatBytes, toHex } from "./bytes.ts";

/** KMS opens at most 4 KiB for a symmetric key; ours, RSA-2048, carries 190 bytes. */
export const MAX_ENVELOPE_BYTES = 4096;
/** Of AES: the vector is one block, the content whole blocks. */
export const BLOCK_BYTES = 16;

export type Envelope = Readonly<Extract<ReturnType<typeof readEnvelope>, object>>;
/** Too long to be looked at; no BER; of another structure; by other algorithms; vector or content of no whole block. */
export type EnvelopeFault = Extract<ReturnType<typeof readEnvelope>, string>;

/** RFC 5652 6.1 and 6.2.1, without originator, attributes or a second recipient. Algorithms are compared whole, as KMS spells them. */
export function readEnvelope(bytes: Uint8Array) {
  if (bytes.length > MAX_ENVELOPE_BYTES) return "TOO_LONG";
  const whole = readAsn1(bytes, "BER");
  if (whole === undefined) return "NOT_BER";
  const info = childrenOf(whole, TAG.sequence, TAG.objectId, CONTEXT_0);
  const [wrapped] = childrenOf(info?.[1], CONTEXT_0, TAG.sequence) ?? [];
  const data = childrenOf(wrapped, TAG.sequence, TAG.integer, TAG.set, TAG.sequence);
  const [only] = childrenOf(data?.[1], TAG.set, TAG.sequence) ?? [];
  const recipient = childrenOf(only, TAG.sequence, TAG.integer, IMPLICIT_0, TAG.sequence, TAG.octetString);
  const encrypted =
    childrenOf(data?.[2], TAG.sequence, TAG.objectId, TAG.sequence, IMPLICIT_0) ??
    childrenOf(data?.[2], TAG.sequence, TAG.objectId, TAG.sequence, CONTEXT_0);
  const cipher = childrenOf(encrypted?.[1], TAG.sequence, TAG.objectId, TAG.octetString);
  const content = encrypted && octetsOf(encrypted[2]);
  if (!info || !data || !recipient || !encrypted || !cipher || !content) return "STRUCTURE";
  const agreed = [
    [info[0], ENVELOPED_DATA],
    [data[0], VERSION_2],
    [recipient[0], VERSION_2],
    [recipient[2], RSAES_OAEP_SHA256],
    [encrypted[0], DATA],
    [cipher[0], AES_256_CBC],
  ] as const;
  if (!agreed.every(([element, hex]) => toHex(element.whole) === hex)) return "ALGORITHM";
  const iv = cipher[1].body;
  if (iv.length !== BLOCK_BYTES || content.length === 0 || content.length % BLOCK_BYTES !== 0)
    return "BLOCKS";
  /** `recipient`: SHA-256 of its SPKI DER, which KMS puts as subject key identifier. One block of vector, one or more of content. */
  return { recipient: recipient[1].body, encryptedKey: recipient[3].body, iv, content };
}

/**
 * The content is `[0] IMPLICIT OCTET STRING`, and in BER an octet string has two forms (X.690 8.7), of which KMS sends
 * both: primitive, the bytes themselves; or constructed, octet strings one behind the other. Those are primitive
 * here: that they may be constructed in turn nobody uses.
 */
function octetsOf({ tag, body, children }: Element): Uint8Array | undefined {
  if (tag === IMPLICIT_0) return body;
  if (!children.every((chunk) => chunk.tag === TAG.octetString)) return undefined;
  return concatBytes(...children.map((chunk) => chunk.body));
}

/** Implicit and primitive: of an octet string. */
const IMPLICIT_0 = 0x80;
/** Around the value of a content type; or implicit and constructed, around the chunks of encrypted content. */
const CONTEXT_0 = 0xa0;

const VERSION_2 = "0x020102";
const ENVELOPED_DATA = "0x06092a864886f70d010703";
const DATA = "0x06092a864886f70d010701";
const AES_256_CBC = "0x060960864801650304012a";
/** RFC 8017 A.2.1: rsaesOaep; hash [0] SHA-256; mask [1] MGF1 with SHA-256; the label left out. */
const SHA256 = "300d06096086480165030402010500";
const RSAES_OAEP_SHA256 = `0x303c06092a864886f70d010107302fa00f${SHA256}a11c301a06092a864886f70d010108${SHA256}`;
