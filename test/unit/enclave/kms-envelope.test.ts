import assert from "node:assert/strict";
import { createPublicKey, randomBytes } from "node:crypto";
import { openEnvelope } from "../../../enclave/kms-envelope.ts";
import { CONTENT_FORMS, sealEnvelope } from "../../../scripts/stand-ins/kms/envelope.ts";
import { concatBytes } from "../../../shared/protocol/bytes.ts";
import { der } from "../../support/crafted-attestation.ts";
import { envelopeOf, RECIPIENT, rsaKey, SECRET, type Parts } from "../../support/crafted-envelope.ts";

const { privateKey, spki } = RECIPIENT;
const { length } = SECRET;
const open = (envelope: Uint8Array): Uint8Array | undefined =>
  openEnvelope(envelope, privateKey, spki, length);

describe("enclave/kms-envelope", () => {
  for (const form of CONTENT_FORMS) {
    it(`opens what the development KMS seals, content ${form}, of every size a secret has`, () => {
      for (const size of [0, 1, 15, 16, 17, 105, 190, 1024, 3000]) {
        const secret = new Uint8Array(randomBytes(size));
        const opened = openEnvelope(sealEnvelope(secret, spki, form), privateKey, spki, size);
        assert.deepEqual(opened, secret);
      }
      assert.throws(() => sealEnvelope(SECRET, Uint8Array.of(1), form));
    });
  }

  it("opens definite and indefinite lengths, and content in several chunks", () => {
    assert.deepEqual(open(envelopeOf()), SECRET);
    assert.deepEqual(open(envelopeOf({ container: der })), SECRET);
    const split = (encrypted: Uint8Array): Uint8Array =>
      der(0xa0, der(0x04, encrypted.slice(0, 5)), der(0x04), der(0x04, encrypted.slice(5)));
    assert.deepEqual(open(envelopeOf({ content: split })), SECRET);
  });

  it("opens for a key of another size", () => {
    const other = rsaKey(3072);
    assert.deepEqual(
      openEnvelope(sealEnvelope(SECRET, other.spki), other.privateKey, other.spki, length),
      SECRET,
    );
  });

  const refused: Record<string, () => Partial<Parts>> = {
    "what does not read as an envelope": () => ({ attributes: Uint8Array.of(0xa1, 0) }),
    "OAEP with SHA-1, not said": () => ({ oaepHash: "sha1" }),
    "an OAEP label": () => ({ oaepLabel: Buffer.from("label") }),
    "a content key of 16 bytes": () => ({ cipher: "aes-128-cbc", contentKey: new Uint8Array(16) }),
    "an encrypted key that is cut short": () => ({ encryptedKey: new Uint8Array(255) }),
    "an encrypted key of zeros": () => ({ encryptedKey: new Uint8Array(256) }),
    "content with wrong padding": () => ({ content: () => der(0xa0, der(0x04, new Uint8Array(16))) }),
    "content of more blocks": () => ({ content: (it) => der(0x80, it, it) }),
  };
  for (const [what, changes] of Object.entries(refused)) {
    it(`refuses ${what}`, () => {
      assert.deepEqual(open(envelopeOf()), SECRET);
      assert.equal(open(envelopeOf(changes())), undefined);
    });
  }

  // What a padding oracle asks for, a byte at a time: content that is good but for its length.
  it("refuses every other length, also where the padding is sound and the blocks are as many", () => {
    for (let size = 0; size < 40; size++) {
      const envelope = sealEnvelope(new Uint8Array(randomBytes(size)), spki);
      assert.equal(open(envelope) !== undefined, size === length, String(size));
    }
  });

  it("refuses another's key, a foreign envelope, and a key that is none", () => {
    const other = rsaKey();
    const envelope = sealEnvelope(SECRET, spki);
    assert.equal(openEnvelope(envelope, other.privateKey, spki, length), undefined);
    assert.equal(openEnvelope(envelope, other.privateKey, other.spki, length), undefined);
    assert.equal(open(sealEnvelope(SECRET, other.spki)), undefined);
    assert.equal(openEnvelope(envelope, createPublicKey(privateKey), spki, length), undefined);
  });

  it("refuses what goes on or is altered in its structure, and never throws", () => {
    const envelope = sealEnvelope(SECRET, spki);
    assert.equal(open(concatBytes(envelope, Uint8Array.of(0))), undefined);
    for (let at = 0; at < 35; at++) {
      const altered = envelope.slice();
      altered[at]! ^= 1;
      assert.equal(open(altered), undefined, `byte ${at}`);
    }
  });
});
