// The development KMS as its callers meet it, over HTTP: what the AWS client makes of it is in the courier's test.
import assert from "node:assert/strict";
import { constants, createPublicKey, publicEncrypt } from "node:crypto";
import { openEnvelope } from "../../../../../enclave/kms-envelope.ts";
import { makeRoot } from "../../../../../scripts/image/certificates.ts";
import {
  DEVELOPMENT_ACCOUNT,
  developmentKeyArn,
  developmentKmsKey,
} from "../../../../../scripts/image/development-keys.ts";
import type { Measurement, ProgramName } from "../../../../../scripts/image/measurement.ts";
import { startDevelopmentKms, type DevelopmentKms } from "../../../../../scripts/stand-ins/kms/server.ts";
import { DEVELOPMENT_ROLE } from "../../../../../scripts/stand-ins/kms/signature.ts";
import { kmsPolicy } from "../../../../../scripts/image/kms-policy.ts";
import { aRecipient, documentFor, MEASUREMENT, type Recipient } from "./documents.ts";
import { callKms, type Changes } from "./signed-request.ts";

const ALGORITHM = "RSAES_OAEP_SHA_256";
const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString("base64");
const SECRET = new TextEncoder().encode("what is sealed");

describe("scripts/stand-ins/kms/server", () => {
  let kms: DevelopmentKms;
  let nowMs: number | undefined;
  let recipient: Recipient;
  let sealed: Uint8Array;

  before(async () => {
    const policy = kmsPolicy({
      measurement: MEASUREMENT,
      account: DEVELOPMENT_ACCOUNT,
      hostRole: DEVELOPMENT_ROLE,
    });
    kms = await startDevelopmentKms({ policy, now: () => nowMs ?? Date.now() });
    recipient = aRecipient();
    const key = createPublicKey({ key: Buffer.from(developmentKmsKey().spki), type: "spki", format: "der" });
    const padding = { padding: constants.RSA_PKCS1_OAEP_PADDING, oaepHash: "sha256" };
    sealed = new Uint8Array(publicEncrypt({ key, ...padding }, SECRET));
  });
  after(() => kms.close());
  afterEach(() => {
    nowMs = undefined;
  });

  const decryption = (document: Uint8Array | undefined = documentFor(recipient), changes: object = {}) => ({
    KeyId: kms.keyId,
    CiphertextBlob: base64(sealed),
    EncryptionAlgorithm: ALGORITHM,
    Recipient: { AttestationDocument: base64(document), KeyEncryptionAlgorithm: ALGORITHM },
    ...changes,
  });

  async function refused(
    name: string,
    body: object,
    { operation = "Decrypt", ...changes }: Changes & { readonly operation?: string } = {},
  ): Promise<string> {
    const answer = await callKms(kms.url, operation, body, changes);
    assert.equal(answer.status, 400);
    assert.equal(answer.body["__type"], name, JSON.stringify(answer.body));
    assert.deepEqual(Object.keys(answer.body), ["__type", "message"]);
    return String(answer.body["message"]);
  }

  it("opens what is sealed for the enclave of its policy, in an envelope, and shows it to nobody else", async () => {
    const { status, body } = await callKms(kms.url, "Decrypt", decryption());
    assert.equal(status, 200);
    assert.deepEqual(Object.keys(body).sort(), ["CiphertextForRecipient", "EncryptionAlgorithm", "KeyId"]);
    assert.equal(body["KeyId"], kms.keyId);
    const envelope = new Uint8Array(Buffer.from(String(body["CiphertextForRecipient"]), "base64"));
    assert.deepEqual(openEnvelope(envelope, recipient.privateKey, recipient.spki, SECRET.length), SECRET);
    const stranger = aRecipient();
    assert.equal(openEnvelope(envelope, stranger.privateKey, stranger.spki, SECRET.length), undefined);
  });

  it("sends the content in either form that KMS has, in turn, and the enclave opens both", async () => {
    const found = new Set<number>();
    for (let i = 0; i < 2; i++) {
      const { body } = await callKms(kms.url, "Decrypt", decryption());
      const envelope = new Uint8Array(Buffer.from(String(body["CiphertextForRecipient"]), "base64"));
      assert.deepEqual(openEnvelope(envelope, recipient.privateKey, recipient.spki, SECRET.length), SECRET);
      // Behind the vector, which is the last octet string before it.
      const at = Buffer.from(envelope).lastIndexOf("060960864801650304012a0410", undefined, "hex");
      found.add(envelope[at + 13 + 16]!);
    }
    assert.deepEqual([...found].sort(), [0x80, 0xa0]);
  });

  for (const register of ["pcr0", "pcr1", "pcr2"] as const) {
    it(`denies an enclave whose ${register} is another`, async () => {
      const measurement = { ...MEASUREMENT, [register]: "dd".repeat(48) };
      const document = documentFor(recipient, { measurement });
      assert.match(await refused("AccessDeniedException", decryption(document)), /NoDecryptForAnother/);
    });
  }

  it("denies Decrypt without an attestation document", async () => {
    await refused("AccessDeniedException", decryption(undefined, { Recipient: undefined }));
  });

  it("denies an enclave in debug mode", async () => {
    const zero = "00".repeat(48);
    const document = documentFor(recipient, { measurement: { pcr0: zero, pcr1: zero, pcr2: zero } });
    assert.match(await refused("AccessDeniedException", decryption(document)), /DEBUG_MODE/);
  });

  it("refuses a document of another root, an old one, and one that was changed", async () => {
    const foreign = documentFor(recipient, { root: makeRoot(new Date()) });
    assert.match(await refused("ValidationException", decryption(foreign)), /ROOT_UNKNOWN/);

    const document = documentFor(recipient);
    const changed = Uint8Array.from(document);
    changed[document.length - 1]! ^= 1;
    assert.match(await refused("ValidationException", decryption(changed)), /SIGNATURE_INVALID/);

    nowMs = Date.now() + 6 * 60_000;
    assert.match(await refused("ValidationException", decryption(document), { nowMs }), /STALE/);
  });

  it("refuses a ciphertext of another key, another algorithm and another key id", async () => {
    const other = Uint8Array.from(sealed);
    other[0]! ^= 1;
    await refused("InvalidCiphertextException", decryption(undefined, { CiphertextBlob: base64(other) }));
    await refused("InvalidKeyUsageException", decryption(undefined, { EncryptionAlgorithm: undefined }));
    await refused("NotFoundException", decryption(undefined, { KeyId: kms.keyId.replace(/.$/, "9") }));
    await refused("ValidationException", decryption(undefined, { CiphertextBlob: "no base64!" }));
    await refused(
      "ValidationException",
      decryption(undefined, { CiphertextBlob: base64(new Uint8Array(6_145)) }),
    );
  });

  it("shows the public key and what the key is", async () => {
    const key = await callKms(kms.url, "GetPublicKey", { KeyId: kms.keyId });
    assert.equal(key.body["PublicKey"], base64(developmentKmsKey().spki));
    assert.equal(key.body["KeySpec"], "RSA_2048");
    const { body } = await callKms(kms.url, "DescribeKey", { KeyId: kms.keyId });
    const metadata = body["KeyMetadata"] as Record<string, unknown>;
    assert.equal(metadata["Arn"], kms.keyId);
    assert.equal(metadata["Origin"], "AWS_KMS");
    assert.equal(metadata["MultiRegion"], false);
  });

  it("denies to change the key or to use it otherwise, and does not know what KMS does not", async () => {
    for (const operation of ["PutKeyPolicy", "CreateGrant", "ReEncrypt", "Encrypt", "ScheduleKeyDeletion"])
      await refused("AccessDeniedException", { KeyId: kms.keyId }, { operation });
    await refused("UnknownOperationException", {}, { headers: { "x-amz-target": "OtherService.Decrypt" } });
  });

  it("follows a policy that its maker sets", async () => {
    const measurement = { ...MEASUREMENT, pcr0: "e0".repeat(48) };
    const terms = { account: DEVELOPMENT_ACCOUNT, hostRole: DEVELOPMENT_ROLE };
    kms.setPolicy(kmsPolicy({ ...terms, measurement }));
    await refused("AccessDeniedException", decryption());
    assert.equal(
      (await callKms(kms.url, "Decrypt", decryption(documentFor(recipient, { measurement })))).status,
      200,
    );
    kms.setPolicy(kmsPolicy({ ...terms, measurement: MEASUREMENT }));
    assert.equal((await callKms(kms.url, "Decrypt", decryption())).status, 200);
  });

  it("has a key for each program, each with its own policy, and opens nothing of one with the other", async () => {
    const OTHER = { ...MEASUREMENT, pcr0: "e0".repeat(48) };
    const terms = { account: DEVELOPMENT_ACCOUNT, hostRole: DEVELOPMENT_ROLE };
    const policies = [MEASUREMENT, OTHER].map((measurement) => kmsPolicy({ ...terms, measurement }));
    const both = await startDevelopmentKms({ policy: policies[0]!, secondPolicy: policies[1] });
    try {
      const { spki } = developmentKmsKey("second");
      const key = createPublicKey({ key: Buffer.from(spki), type: "spki", format: "der" });
      const padding = { padding: constants.RSA_PKCS1_OAEP_PADDING, oaepHash: "sha256" };
      const blobs = { first: sealed, second: new Uint8Array(publicEncrypt({ key, ...padding }, SECRET)) };
      const ask = async (program: ProgramName, measurement: Measurement, blob = blobs[program]) => {
        const { status, body } = await callKms(
          both.url,
          "Decrypt",
          decryption(documentFor(recipient, { measurement }), {
            KeyId: developmentKeyArn(program),
            CiphertextBlob: base64(blob),
          }),
        );
        return status === 200 ? body["KeyId"] : body["__type"];
      };
      assert.equal(await ask("first", MEASUREMENT), developmentKeyArn("first"));
      assert.equal(await ask("second", OTHER), developmentKeyArn("second"));
      assert.equal(await ask("first", OTHER), "AccessDeniedException");
      assert.equal(await ask("second", MEASUREMENT), "AccessDeniedException");
      assert.equal(await ask("second", OTHER, blobs.first), "InvalidCiphertextException");
      const shown = await callKms(both.url, "DescribeKey", { KeyId: developmentKeyArn("second") });
      assert.equal((shown.body["KeyMetadata"] as { Arn: string }).Arn, developmentKeyArn("second"));
    } finally {
      await both.close();
    }
    // The other has none for the second.
    await refused("NotFoundException", { KeyId: developmentKeyArn("second") }, { operation: "DescribeKey" });
  });

  describe("signatures", () => {
    const body = { KeyId: "alias/none" };
    // A good signature gets as far as the key.
    const asks = (name: string, changes: Changes): Promise<string> => refused(name, body, changes);

    it("takes the development credential's and nobody else's", async () => {
      await asks("NotFoundException", {});
      await asks("UnrecognizedClientException", { accessKeyId: "CLOISTERDEVELOPMENT1" });
      await asks("InvalidSignatureException", { secretAccessKey: "guessed" });
      await asks("MissingAuthenticationTokenException", { headers: { authorization: undefined } });
      await asks("UnrecognizedClientException", { headers: { authorization: "Bearer me" } });
    });

    it("covers body, operation, time and every header of AWS", async () => {
      await asks("InvalidSignatureException", { body: JSON.stringify({ KeyId: "alias/other" }) });
      await asks("InvalidSignatureException", { headers: { "x-amz-target": "TrentService.GetPublicKey" } });
      await asks("InvalidSignatureException", { headers: { "x-amz-security-token": "more" } });
      await asks("InvalidSignatureException", { headers: { "x-amz-content-sha256": "00".repeat(32) } });
      await asks("InvalidSignatureException", { nowMs: Date.now() - 6 * 60_000 });
      await asks("InvalidSignatureException", { nowMs: Date.now() + 6 * 60_000 });
    });
  });

  it("answers what is no request of KMS, and no JSON, with an error and lives on", async () => {
    assert.equal((await fetch(kms.url)).status, 400);
    assert.equal((await fetch(`${kms.url}/other`, { method: "POST", body: "{" })).status, 400);
    await refused("ValidationException", { KeyId: 5 });
    assert.equal((await callKms(kms.url, "Decrypt", decryption())).status, 200);
  });
});
