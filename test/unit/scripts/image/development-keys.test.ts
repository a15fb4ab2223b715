import assert from "node:assert/strict";
import {
  constants,
  createHash,
  createPublicKey,
  privateDecrypt,
  publicEncrypt,
  X509Certificate,
} from "node:crypto";
import { developmentKmsKey, developmentRoot } from "../../../../scripts/image/development-keys.ts";
import { PROGRAM_NAMES } from "../../../../scripts/image/measurement.ts";

describe("scripts/image/development-keys", () => {
  const sha256 = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex");

  // Everybody's measurement of a development image rests on these.
  it("derives the same keys, one for each program, and the same root on every machine", () => {
    assert.deepEqual(
      PROGRAM_NAMES.map((program) => sha256(developmentKmsKey(program).spki)),
      [
        "c8cc383abdc6644d3668368bda3c0982c62b3141887430960907f6b52fcbff3b",
        "1cbe533cb1d0e148b50c44b0f3280fbeba7e8ad01ce635db8f222f3307342df5",
      ],
    );
    assert.equal(developmentKmsKey(), developmentKmsKey("first"));
    assert.equal(
      sha256(developmentRoot().certificate),
      "abd6a69ed65d39c4b84e382f560a7bae9c04da23e80b666fe849ffcee8bc5c06",
    );
  });

  it("gives an RSA-2048 key that opens what is sealed to it", () => {
    const { privateKey, spki } = developmentKmsKey();
    const key = createPublicKey({ key: Buffer.from(spki), type: "spki", format: "der" });
    assert.equal(key.asymmetricKeyDetails?.modulusLength, 2048);
    assert.equal(key.asymmetricKeyDetails.publicExponent, 65_537n);
    const oaep = { padding: constants.RSA_PKCS1_OAEP_PADDING, oaepHash: "sha256" };
    const sealed = publicEncrypt({ key, ...oaep }, Buffer.from("words"));
    assert.equal(privateDecrypt({ key: privateKey, ...oaep }, sealed).toString(), "words");
  });

  it("gives a self-signed P-384 root with its own key, good from 2026 to 2046", () => {
    const { certificate, privateKey } = developmentRoot();
    const read = new X509Certificate(certificate);
    assert.ok(read.verify(read.publicKey));
    assert.ok(read.checkIssued(read));
    assert.ok(read.checkPrivateKey(privateKey));
    assert.equal(read.ca, true);
    assert.equal(read.publicKey.asymmetricKeyDetails?.namedCurve, "secp384r1");
    assert.equal(Date.parse(read.validFrom), Date.parse("2026-01-01T00:00:00Z"));
    assert.equal(Date.parse(read.validTo), Date.parse("2046-01-01T00:00:00Z"));
    assert.match(read.subject, /not for production/);
  });
});
