import assert from "node:assert/strict";
import { pairText, parsePair, type SignerPair } from "../../../../../proxy/api/enclave-link/signer-pair.ts";

const pair: SignerPair = {
  signer: `0x${"5a".repeat(20)}` as SignerPair["signer"],
  sealedKey: new Uint8Array(256).fill(7),
  birthCertificate: Uint8Array.of(1, 2, 3),
  kmsKeyId: "arn:aws:kms:eu-central-1:123456789012:key/1234abcd-12ab-34cd-56ef-1234567890ab",
  configurationHash: `0x${"0c".repeat(32)}` as SignerPair["configurationHash"],
};

describe("enclave-link/signer-pair", () => {
  it("is written and read, in this form", () => {
    assert.deepEqual(parsePair(pairText(pair)), pair);
    assert.deepEqual(Object.keys(JSON.parse(pairText(pair)) as object), [
      ...["signer", "sealedKey", "birthCertificate", "kmsKeyId", "configurationHash"],
    ]);
  });

  it("is refused with a field that is missing, unknown or of another form", () => {
    const written = JSON.parse(pairText(pair)) as Record<string, unknown>;
    for (const change of [
      { signer: "0x12" },
      { signer: undefined },
      { sealedKey: "not base64!" },
      { birthCertificate: 7 },
      // Replies name a key by its ARN; an alias could be turned to another key.
      { kmsKeyId: "alias/cloister" },
      { configurationHash: `0x${"0c".repeat(31)}` },
      { comment: "more" },
    ]) {
      assert.throws(() => parsePair(JSON.stringify({ ...written, ...change })), JSON.stringify(change));
    }
    assert.throws(() => parsePair("no JSON"));
  });
});
