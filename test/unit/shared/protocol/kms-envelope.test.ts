import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { CONTENT_FORMS, sealEnvelope } from "../../../../scripts/stand-ins/kms/envelope.ts";
import { concatBytes } from "../../../../shared/protocol/bytes.ts";
import {
  MAX_ENVELOPE_BYTES,
  readEnvelope,
  type Envelope,
  type EnvelopeFault,
} from "../../../../shared/protocol/kms-envelope.ts";
import { der, hex } from "../../../support/crafted-attestation.ts";
import {
  envelopeOf,
  indefinite,
  oaep,
  RECIPIENT,
  SECRET,
  SHA1,
  SHA256,
  type Parts,
} from "../../../support/crafted-envelope.ts";

const { spki } = RECIPIENT;
const accepted = (envelope: Uint8Array): Envelope => {
  const read = readEnvelope(envelope);
  assert.ok(typeof read !== "string", JSON.stringify(read));
  return read;
};
const hash = (name: string): Uint8Array => createHash(name).update(spki).digest();

describe("shared/protocol/kms-envelope", () => {
  it("reads recipient, key, vector and content in either form of the content", () => {
    for (const form of CONTENT_FORMS) {
      const read = accepted(sealEnvelope(SECRET, spki, form));
      assert.deepEqual(read.recipient, new Uint8Array(hash("sha256")));
      assert.deepEqual([read.encryptedKey.length, read.iv.length, read.content.length], [256, 16, 16]);
    }
  });

  const BLOCKS = new Uint8Array(48).map((_, i) => i);
  const forms: Record<string, Uint8Array> = {
    "primitive, as long as it is": der(0x80, BLOCKS),
    "one octet string in a constructed part of definite length": der(0xa0, der(0x04, BLOCKS)),
    "one octet string in a constructed part of indefinite length": indefinite(0xa0, der(0x04, BLOCKS)),
    "several octet strings, an empty one among them": der(
      0xa0,
      der(0x04, BLOCKS.slice(0, 5)),
      der(0x04),
      der(0x04, BLOCKS.slice(5)),
    ),
  };
  for (const [what, content] of Object.entries(forms)) {
    it(`takes content that is ${what}`, () => {
      for (const container of [der, indefinite]) {
        assert.deepEqual(accepted(envelopeOf({ content: () => content, container })).content, BLOCKS);
      }
    });
  }

  const refused: Record<string, readonly [EnvelopeFault, Partial<Parts>]> = {
    "another content type": ["ALGORITHM", { contentType: hex("06092a864886f70d010702") }],
    "another version": ["ALGORITHM", { version: hex("020100") }],
    "an originator": ["STRUCTURE", { originator: hex("a000") }],
    "a recipient of another version": ["ALGORITHM", { recipientVersion: hex("020100") }],
    "no recipient": ["STRUCTURE", { recipients: () => hex("3100") }],
    "two recipients": ["STRUCTURE", { recipients: (recipient) => der(0x31, recipient, recipient) }],
    "a recipient by issuer and serial number": ["STRUCTURE", { keyId: hex("30053000020101") }],
    "OAEP with SHA-1": ["ALGORITHM", { keyAlgorithm: oaep(SHA1, SHA1) }],
    "a mask by SHA-1": ["ALGORITHM", { keyAlgorithm: oaep(SHA256, SHA1) }],
    "PKCS #1 version 1.5": ["ALGORITHM", { keyAlgorithm: hex("300d06092a864886f70d0101010500") }],
    "AES-256 in another mode": ["ALGORITHM", { cipherId: hex("060960864801650304012e") }],
    "AES-128": ["ALGORITHM", { cipherId: hex("0609608648016503040102") }],
    "a vector of 15 bytes": ["BLOCKS", { iv: new Uint8Array(15) }],
    "a vector of 17 bytes": ["BLOCKS", { iv: new Uint8Array(17) }],
    "no vector": ["BLOCKS", { iv: new Uint8Array(0) }],
    "parameters of a cipher in another form": ["STRUCTURE", { cipherId: hex("060960864801650304012a0400") }],
    "another inner type": ["ALGORITHM", { innerType: hex("06092a864886f70d010702") }],
    "content that is not there": ["STRUCTURE", { content: () => new Uint8Array(0) }],
    "content under an explicit tag's other number": ["STRUCTURE", { content: (it) => der(0x81, it) }],
    "content with a universal tag": ["STRUCTURE", { content: (it) => der(0x04, it) }],
    "content in both forms": ["STRUCTURE", { content: (it) => concatBytes(der(0x80, it), der(0x80, it)) }],
    "primitive content of indefinite length": ["NOT_BER", { content: (it) => indefinite(0x80, it) }],
    "chunks of another type": ["STRUCTURE", { content: (it) => der(0xa0, der(0x0c, it)) }],
    "chunks in a chunk": ["STRUCTURE", { content: (it) => der(0xa0, der(0x24, der(0x04, it))) }],
    "a chunk that is implicit too": ["STRUCTURE", { content: (it) => der(0xa0, der(0x80, it)) }],
    "content in no chunk": ["BLOCKS", { content: () => der(0xa0) }],
    "primitive content of no byte": ["BLOCKS", { content: () => der(0x80) }],
    "content that is no whole block": ["BLOCKS", { content: () => der(0xa0, der(0x04, new Uint8Array(15))) }],
    attributes: ["STRUCTURE", { attributes: hex("a100") }],
  };
  for (const [what, [fault, changes]] of Object.entries(refused)) {
    it(`${fault}: ${what}`, () => assert.equal(readEnvelope(envelopeOf(changes)), fault));
  }

  it("leaves to its caller for whom the envelope is", () => {
    assert.deepEqual(accepted(envelopeOf({ keyId: der(0x80, hash("sha1")) })).recipient.length, 20);
  });

  it("NOT_BER: what is cut short or goes on", () => {
    for (const form of CONTENT_FORMS) {
      const envelope = sealEnvelope(SECRET, spki, form);
      for (let length = 0; length < envelope.length; length++)
        assert.equal(readEnvelope(envelope.slice(0, length)), "NOT_BER");
      assert.equal(readEnvelope(concatBytes(envelope, Uint8Array.of(0))), "NOT_BER");
    }
  });

  it("TOO_LONG: what is too long, before it is read", () => {
    const room = MAX_ENVELOPE_BYTES - sealEnvelope(new Uint8Array(0), spki).length;
    assert.ok(accepted(sealEnvelope(new Uint8Array(room - 40), spki)));
    assert.equal(readEnvelope(sealEnvelope(new Uint8Array(room + 16), spki)), "TOO_LONG");
  });
});
