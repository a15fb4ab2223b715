import assert from "node:assert/strict";
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
import { MAX_ENVELOPE_BYTES, openEnvelope, readEnvelope } from "../../../enclave/kms-envelope.ts";
import { sealEnvelope } from "../../../scripts/dev/kms/envelope.ts";
import { concatBytes } from "../../../shared/protocol/bytes.ts";
import { der, hex, sequence } from "../../support/crafted-attestation.ts";

const keyPair = (bits = 2048): { readonly privateKey: KeyObject; readonly spki: Uint8Array } => {
  const { privateKey } = generateKeyPairSync("rsa", { modulusLength: bits });
  return {
    privateKey,
    spki: new Uint8Array(createPublicKey(privateKey).export({ type: "spki", format: "der" })),
  };
};
const { privateKey, spki } = keyPair();
const open = (envelope: Uint8Array): Uint8Array | undefined => openEnvelope(envelope, privateKey, spki);
const SECRET = new TextEncoder().encode("sealed for one");

/** Definite or indefinite, as a part of an envelope may be. */
const indefinite = (tag: number, ...contents: readonly Uint8Array[]): Uint8Array =>
  concatBytes(Uint8Array.of(tag, 0x80), ...contents, Uint8Array.of(0, 0));

const SHA256 = "300d06096086480165030402010500";
const SHA1 = "300706052b0e03021a";
const oaep = (hash: string, mask: string): Uint8Array =>
  sequence(
    hex("06092a864886f70d010107"),
    sequence(der(0xa0, hex(hash)), der(0xa1, sequence(hex("06092a864886f70d010108"), hex(mask)))),
  );

interface Parts {
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
function envelopeOf(changes: Partial<Parts> = {}): Uint8Array {
  const parts: Parts = {
    contentType: hex("06092a864886f70d010703"),
    version: hex("020102"),
    originator: new Uint8Array(0),
    recipientVersion: hex("020102"),
    keyId: der(0x80, createHash("sha256").update(spki).digest()),
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
      key: createPublicKey(privateKey),
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

describe("enclave/kms-envelope", () => {
  it("opens what the development KMS seals, of every size a secret has", () => {
    for (const length of [0, 1, 15, 16, 17, 105, 190, 1024, 3000]) {
      const secret = new Uint8Array(randomBytes(length));
      assert.deepEqual(open(sealEnvelope(secret, spki)), secret);
    }
    assert.throws(() => sealEnvelope(SECRET, Uint8Array.of(1)));
  });

  it("opens definite and indefinite lengths, and content in several chunks", () => {
    assert.deepEqual(open(envelopeOf()), SECRET);
    assert.deepEqual(open(envelopeOf({ container: der })), SECRET);
    const split = (encrypted: Uint8Array): Uint8Array =>
      der(0xa0, der(0x04, encrypted.slice(0, 5)), der(0x04), der(0x04, encrypted.slice(5)));
    assert.deepEqual(open(envelopeOf({ content: split })), SECRET);
  });

  it("opens for a key of another size", () => {
    const other = keyPair(3072);
    assert.deepEqual(openEnvelope(sealEnvelope(SECRET, other.spki), other.privateKey, other.spki), SECRET);
  });

  const refused: Record<string, () => Partial<Parts>> = {
    "another content type": () => ({ contentType: hex("06092a864886f70d010702") }),
    "another version": () => ({ version: hex("020100") }),
    "an originator": () => ({ originator: hex("a000") }),
    "a recipient of another version": () => ({ recipientVersion: hex("020100") }),
    "no recipient": () => ({ recipients: () => hex("3100") }),
    "two recipients": () => ({ recipients: (recipient) => der(0x31, recipient, recipient) }),
    "a recipient by issuer and serial number": () => ({ keyId: hex("30053000020101") }),
    "another recipient": () => ({ keyId: der(0x80, createHash("sha256").update(spki).update("x").digest()) }),
    "a recipient by SHA-1": () => ({ keyId: der(0x80, createHash("sha1").update(spki).digest()) }),
    "OAEP with SHA-1, said": () => ({ keyAlgorithm: oaep(SHA1, SHA1), oaepHash: "sha1" }),
    "OAEP with SHA-1, not said": () => ({ oaepHash: "sha1" }),
    "OAEP with SHA-256, called SHA-1": () => ({ keyAlgorithm: oaep(SHA1, SHA1) }),
    "a mask by SHA-1": () => ({ keyAlgorithm: oaep(SHA256, SHA1) }),
    "PKCS #1 version 1.5": () => ({ keyAlgorithm: hex("300d06092a864886f70d0101010500") }),
    "an OAEP label": () => ({ oaepLabel: Buffer.from("label") }),
    "a content key of 16 bytes": () => ({ cipher: "aes-128-cbc", contentKey: new Uint8Array(16) }),
    "AES-256 in another mode, said": () => ({ cipherId: hex("060960864801650304012e") }),
    "AES-128, said": () => ({
      cipher: "aes-128-cbc",
      cipherId: hex("0609608648016503040102"),
      contentKey: new Uint8Array(16),
    }),
    "a vector of 15 bytes": () => ({ iv: new Uint8Array(15) }),
    "a vector of 17 bytes": () => ({ iv: new Uint8Array(17) }),
    "no vector": () => ({ iv: new Uint8Array(0) }),
    "a cipher of the same name with parameters of another form": () => ({
      cipherId: hex("060960864801650304012a0400"),
    }),
    "another inner type": () => ({ innerType: hex("06092a864886f70d010702") }),
    "an encrypted key that is cut short": () => ({ encryptedKey: new Uint8Array(255) }),
    "an encrypted key of zeros": () => ({ encryptedKey: new Uint8Array(256) }),
    "content that is not there": () => ({ content: () => new Uint8Array(0) }),
    "content in another type": () => ({ content: (encrypted) => der(0xa0, der(0x0c, encrypted)) }),
    "content in no chunk": () => ({ content: () => der(0xa0) }),
    "content that is no whole block": () => ({ content: () => der(0xa0, der(0x04, new Uint8Array(15))) }),
    "content with wrong padding": () => ({ content: () => der(0xa0, der(0x04, new Uint8Array(64))) }),
    attributes: () => ({ attributes: hex("a100") }),
  };
  for (const [what, changes] of Object.entries(refused)) {
    it(`refuses ${what}`, () => {
      assert.deepEqual(open(envelopeOf()), SECRET);
      assert.equal(open(envelopeOf(changes())), undefined);
    });
  }

  it("refuses another's key, a foreign envelope, and a key that is none", () => {
    const other = keyPair();
    const envelope = sealEnvelope(SECRET, spki);
    assert.equal(openEnvelope(envelope, other.privateKey, spki), undefined);
    assert.equal(openEnvelope(envelope, other.privateKey, other.spki), undefined);
    assert.equal(open(sealEnvelope(SECRET, other.spki)), undefined);
    assert.equal(openEnvelope(envelope, createPublicKey(privateKey), spki), undefined);
  });

  it("refuses what is cut short, goes on, or is altered in its structure, and never throws", () => {
    const envelope = sealEnvelope(SECRET, spki);
    for (let length = 0; length < envelope.length; length++)
      assert.equal(readEnvelope(envelope.slice(0, length)), undefined);
    assert.equal(open(concatBytes(envelope, Uint8Array.of(0))), undefined);
    for (let at = 0; at < 35; at++) {
      const altered = envelope.slice();
      altered[at]! ^= 1;
      assert.equal(open(altered), undefined, `byte ${at}`);
    }
  });

  it("refuses what is too long before it reads it", () => {
    const room = MAX_ENVELOPE_BYTES - sealEnvelope(new Uint8Array(0), spki).length;
    const secret = new Uint8Array(room - 40);
    assert.deepEqual(open(sealEnvelope(secret, spki)), secret);
    const longer = sealEnvelope(new Uint8Array(room + 16), spki);
    assert.ok(longer.length > MAX_ENVELOPE_BYTES);
    assert.equal(open(longer), undefined);
  });
});
