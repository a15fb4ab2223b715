// Envelopes for a key of this process, in which every part can be made wrong.
import {
  constants,
  createCipheriv,
  createHash,
  createPublicKey,
  generateKeyPairSync,
  publicEncrypt,
  randomBytes,
  type KeyObject,
} from "node:crypto";
import { concatBytes } from "../../shared/protocol/bytes.ts";
import { der, hex, sequence } from "./crafted-attestation.ts";

export interface RsaKey {
  readonly privateKey: KeyObject;
  readonly spki: Uint8Array;
}

export function rsaKey(bits = 2048): RsaKey {
  const { privateKey } = generateKeyPairSync("rsa", { modulusLength: bits });
  const spki = createPublicKey(privateKey).export({ type: "spki", format: "der" });
  return { privateKey, spki: new Uint8Array(spki) };
}

/** To whom they are. */
export const RECIPIENT = rsaKey();
export const SECRET = new TextEncoder().encode("sealed for one");

/** Definite or indefinite, as a part of an envelope may be. */
export const indefinite = (tag: number, ...contents: readonly Uint8Array[]): Uint8Array =>
  concatBytes(Uint8Array.of(tag, 0x80), ...contents, Uint8Array.of(0, 0));

export const SHA256 = "300d06096086480165030402010500";
export const SHA1 = "300706052b0e03021a";
export const oaep = (hash: string, mask: string): Uint8Array =>
  sequence(
    hex("06092a864886f70d010107"),
    sequence(der(0xa0, hex(hash)), der(0xa1, sequence(hex("06092a864886f70d010108"), hex(mask)))),
  );

export interface Parts {
  readonly contentType: Uint8Array;
  readonly version: Uint8Array;
  readonly originator: Uint8Array;
  readonly recipientVersion: Uint8Array;
  readonly keyId: Uint8Array;
  readonly keyAlgorithm: Uint8Array;
  readonly oaepHash: "sha256" | "sha1";
  readonly oaepLabel?: Buffer;
  readonly contentKey: Uint8Array;
  readonly encryptedKey?: Uint8Array;
  readonly recipients: (recipient: Uint8Array) => Uint8Array;
  readonly innerType: Uint8Array;
  readonly cipher: string;
  readonly cipherId: Uint8Array;
  /** As the envelope says; the content is encrypted under its first 16 bytes, zeros where they are missing. */
  readonly iv: Uint8Array;
  readonly content: (encrypted: Uint8Array) => Uint8Array;
  readonly attributes: Uint8Array;
  readonly container: (tag: number, ...contents: readonly Uint8Array[]) => Uint8Array;
}

/** An envelope in which every part can be made wrong. */
export function envelopeOf(changes: Partial<Parts> = {}): Uint8Array {
  const parts: Parts = {
    contentType: hex("06092a864886f70d010703"),
    version: hex("020102"),
    originator: new Uint8Array(0),
    recipientVersion: hex("020102"),
    keyId: der(0x80, createHash("sha256").update(RECIPIENT.spki).digest()),
    keyAlgorithm: oaep(SHA256, SHA256),
    oaepHash: "sha256",
    contentKey: new Uint8Array(randomBytes(32)),
    recipients: (recipient) => der(0x31, recipient),
    innerType: hex("06092a864886f70d010701"),
    cipher: "aes-256-cbc",
    cipherId: hex("060960864801650304012a"),
    iv: new Uint8Array(randomBytes(16)),
    content: (encrypted) => indefinite(0xa0, der(0x04, encrypted)),
    attributes: new Uint8Array(0),
    container: indefinite,
    ...changes,
  };
  const vector = concatBytes(parts.iv, new Uint8Array(16)).slice(0, 16);
  const cipher = createCipheriv(parts.cipher, parts.contentKey, vector);
  const encrypted = concatBytes(cipher.update(SECRET), cipher.final());
  const wrapped = publicEncrypt(
    {
      key: createPublicKey(RECIPIENT.privateKey),
      padding: constants.RSA_PKCS1_OAEP_PADDING,
      oaepHash: parts.oaepHash,
      ...(parts.oaepLabel === undefined ? {} : { oaepLabel: parts.oaepLabel }),
    },
    parts.contentKey,
  );
  const recipient = sequence(
    parts.recipientVersion,
    parts.keyId,
    parts.keyAlgorithm,
    der(0x04, parts.encryptedKey ?? new Uint8Array(wrapped)),
  );
  const { container } = parts;
  const content = container(
    0x30,
    parts.innerType,
    sequence(parts.cipherId, der(0x04, parts.iv)),
    parts.content(encrypted),
  );
  const data = container(
    0x30,
    parts.version,
    parts.originator,
    parts.recipients(recipient),
    content,
    parts.attributes,
  );
  return container(0x30, parts.contentType, container(0xa0, data));
}
